"""Branch and bound for the largest value of an objective, and the tree that proves the bound."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldep._utils import single_thread
from ldep.explain import Deadline
from ldep.prove._arrays import Arrays, Box
from ldep.prove._relaxation import Relaxation, Relaxed
from ldep.prove.verify import Problem, proven_bound

# Random rows from which the search for a large value starts, and those of them that are improved.
STARTS, IMPROVED = 500, 5
# Steps of an improvement: programs with the pieces that are active.
STEPS = 5
# What a bound may differ from the value at its point to count as reached, in shares of the range of the objective.
REACHED = 1e-9
# Shares of a choice and distances from a grid below this are rounding errors.
WHOLE = 1e-6
# What rounding of the multipliers may add to a bound, in shares of the range of the objective.
ROOM = 1e-9
# A range is not split below this share of what it was.
NARROWEST = 1e-9


@dataclass
class Node:
    """A part, its place in the tree, and the best proof of its bound."""

    box: Box
    place: int
    bound: float
    relaxed: Relaxed


@dataclass
class Search:
    """The search for the largest value of the objective of a claim.

    Attributes
    ----------
    best : float
        The largest value that was found, at the row `x`.
    bound : float
        No value is larger.
    tree : list of dict
        The proof of the bound, as certificates have it.
    limit : float
        What the margin is in units of the objective.
    """

    problem: Problem
    claim: dict[str, Any]
    deadline: Deadline
    starts: np.ndarray | None = None
    n_starts: int = STARTS
    best: float = -np.inf
    x: np.ndarray | None = None
    bound: float = np.inf
    tree: list[dict[str, Any]] = field(default_factory=list)
    parts: int = 0
    limit: float = 0.0

    def __post_init__(self) -> None:
        self.arrays = Arrays(self.problem, self.problem.objective(self.claim["conditions"]))
        self.whole = self.arrays.box(self.problem, self.claim["ranges"])
        self.order = itertools.count()
        self.proofs: dict[int, Relaxed] = {}

    def largest(self, tolerance: float) -> None:
        """Find the largest value, up to a tolerance in shares of the range of the objective."""
        self._run(None, tolerance)

    def decide(self, margin: float) -> None:
        """Decide whether some value is above the margin, which is a share of the range of the objective."""
        self._run(margin, 0.0)

    @property
    def above(self) -> bool:
        """Whether a row was found whose value is above the margin."""
        return self.best > self.limit

    @property
    def excluded(self) -> bool:
        """Whether it is proven that no value is above the margin."""
        return self.bound <= self.limit

    def _run(self, margin: float | None, tolerance: float) -> None:
        self.limit = 0.0
        if self.whole.empty:
            self.bound, self.tree = -np.inf, [{"split": None, "below": {}, "above": {}, "rows": {}, "bridges": {}}]
            return
        with single_thread():
            self.relaxation = Relaxation(self.arrays, self.whole)
            self.unit = self.relaxation.unit
            limit = None if margin is None else margin * self.unit
            self.limit = margin * self.unit if margin is not None else np.inf
            self._begin()
            if limit is None or self.best <= limit:
                self._branch(limit, tolerance * self.unit)

    def _begin(self) -> None:
        """Look for a large value from random rows, from given ones and from the middle."""
        rng = np.random.default_rng(0)
        low, high = self.whole.low, self.whole.high
        X = low + (high - low) * rng.random((self.n_starts, self.arrays.n))
        for column, grid in enumerate(self.arrays.grids):
            if grid is not None:
                X[:, column] = grid[0] + grid[1] * np.rint((X[:, column] - grid[0]) / grid[1])
        for (places, table), allowed in zip(self.arrays.choices, self.whole.choices):
            X[:, places] = table[rng.choice(np.array(allowed), self.n_starts)]
        if self.starts is not None:
            X = np.vstack([X, self.starts])
        values = self.arrays.at(X)
        for x in X[np.argsort(-values, kind="stable")[: max(1, IMPROVED * self.n_starts // STARTS)]]:
            for _ in range(STEPS):
                before = self.best
                self._offer(x)
                box = self._active(x)
                relaxed = self.relaxation.relaxed(box, -np.inf)
                if relaxed is None or not np.isfinite(relaxed.bound):
                    break
                x = relaxed.x
                self._offer(x)
                if self.best <= before + REACHED * self.unit:
                    break

    def _active(self, x: np.ndarray) -> Box:
        """The part in which the pieces that are active at a row are the largest."""
        values = self.arrays.values(x[None])[0]
        return Box(
            self.whole.low,
            self.whole.high,
            tuple((int((pieces @ values).argmax()),) for pieces in self.arrays.pieces),
            self.whole.choices,
        )

    def _offer(self, x: np.ndarray) -> None:
        """Keep a row if it is allowed, after rounding, and the best so far."""
        z = np.clip(x, self.whole.low, self.whole.high)
        for column, grid in enumerate(self.arrays.grids):
            if grid is not None and column in self.arrays.free:
                z[column] = grid[0] + grid[1] * np.rint((z[column] - grid[0]) / grid[1])
        for places, table in self.arrays.choices:
            z[places] = table[np.abs(table - z[places]).sum(axis=1).argmin()]
        if (self.arrays.rows @ z > self.arrays.at_most).any() or not self._in_ball(z):
            z = self._inward(z)
            if z is None:
                return
        value = float(self.arrays.at(z[None])[0])
        if value > self.best:
            self.best, self.x = value, z

    def _in_ball(self, z: np.ndarray) -> bool:
        if self.arrays.ball is None:
            return True
        center, scale, radius, norm = self.arrays.ball
        orders = {"l1": 1, "l2": 2, "linf": np.inf}
        return bool(np.linalg.norm((z - center) / scale, ord=orders[norm]) <= radius)

    def _inward(self, z: np.ndarray) -> np.ndarray | None:
        """Move a row that is outside by a rounding error towards the best one, which is inside."""
        if self.x is None or self.arrays.choices or any(grid is not None for grid in self.arrays.grids):
            return None
        for share in (1e-9, 1e-6):
            moved = z + share * (self.x - z)
            if (self.arrays.rows @ moved <= self.arrays.at_most).all() and self._in_ball(moved):
                return moved
        return None

    def _branch(self, limit: float | None, tolerance: float) -> None:
        heap: list[tuple[float, int, Node]] = []
        self.tree = [{}]
        root = self._node(self.whole, 0, None, -self.unit)
        if root is not None:
            heapq.heappush(heap, (-root.bound, next(self.order), root))
        done = -np.inf
        while heap:
            aim = self._aim(limit, tolerance)
            if limit is not None and self.best > limit:
                break
            if -heap[0][0] <= aim or self.deadline.left <= 0:
                break
            _, _, node = heapq.heappop(heap)
            children = self._split(node)
            if children is None:  # nothing is left to split: the bound is that of rounding
                done = max(done, node.bound)
                continue
            for number, box in children:
                child = self._node(box, number, node, aim)
                if child is not None:
                    heapq.heappush(heap, (-child.bound, next(self.order), child))
        self.bound = max([done, self.best, *(-entry[0] for entry in heap)])
        self._prune()

    def _prune(self) -> None:
        """Keep of the tree what the bound needs: a part whose own proof suffices was split in vain."""
        kept: list[dict[str, Any]] = [{}]
        waiting = [(0, 0)]
        while waiting:
            place, new = waiting.pop()
            own, entry = self.proofs.get(place), self.tree[place]
            if entry["split"] is None or (own is not None and own.bound <= self.bound):
                kept[new] = entry if own is None else own.leaf
                continue
            children = list(range(len(kept), len(kept) + len(entry["children"])))
            kept.extend({} for _ in children)
            kept[new] = {**entry, "children": children}
            waiting += zip(entry["children"], children)
        self.tree = kept

    def _aim(self, limit: float | None, tolerance: float) -> float:
        """Parts with a bound of at most this are finished."""
        least = self.best + tolerance if limit is None else limit
        return least - ROOM * self.unit

    def _node(self, box: Box, place: int, parent: Node | None, aim: float) -> Node | None:
        """Bound a part; None if it is empty."""
        self.parts += 1
        if box.empty:
            self.tree[place] = {"split": None, "below": {}, "above": {}, "rows": {}, "bridges": {}, "ball": {}}
            return None
        relaxed = self.relaxation.relaxed(box, aim)
        if relaxed is None:
            # The program failed: this part keeps the bound of its parent until it is split.
            if parent is None:
                raise ArithmeticError("HiGHS did not solve the linear program of a proof")
            relaxed = parent.relaxed
        self.proofs[place] = relaxed
        self.tree[place] = relaxed.leaf
        if not np.isfinite(relaxed.bound):
            return None
        bound = relaxed.bound if parent is None else min(relaxed.bound, parent.bound)
        self._offer(relaxed.x)
        return Node(box, place, bound, relaxed)

    def _split(self, node: Node) -> list[tuple[int, Box]] | None:
        arrays, relaxed = self.arrays, node.relaxed
        off = self._off_grid(node)
        if off is not None:
            return off
        if relaxed.excess.max(initial=0.0) > REACHED * self.unit:
            return self._by_piece(node, int(relaxed.excess.argmax()))
        open_maxima = [g for g, allowed in enumerate(node.box.pieces) if len(allowed) > 1]
        if open_maxima and node.bound > float(arrays.at(relaxed.x[None])[0]) + REACHED * self.unit:
            return self._by_piece(node, open_maxima[0])
        return None

    def _off_grid(self, node: Node) -> list[tuple[int, Box]] | None:
        """Split a choice whose rows are mixed, or the range of an input that is between two points of its grid."""
        box, x = node.box, node.relaxed.x
        mixed = [(float(1.0 - shares.max()), c) for c, shares in enumerate(node.relaxed.shares)]
        most = max(mixed, default=(0.0, 0))
        if most[0] > WHOLE and len(box.choices[most[1]]) == len(node.relaxed.shares[most[1]]):
            c = most[1]
            groups = [(row,) for row in box.choices[c]]
            return self._children(
                node, {"split": "choice", "choice": c}, groups, [box.with_choice(c, group) for group in groups]
            )
        worst, column = 0.0, -1
        for place, grid in enumerate(self.arrays.grids):
            if grid is None or place not in self.arrays.free:
                continue
            steps = (x[place] - grid[0]) / grid[1]
            if abs(steps - np.rint(steps)) > max(worst, WHOLE):
                worst, column = abs(steps - np.rint(steps)), place
        if column < 0:
            return None
        grid = self.arrays.grids[column]
        assert grid is not None
        step = np.floor((x[column] - grid[0]) / grid[1])
        at = grid[0] + grid[1] * (step + 0.5)
        high, low = box.high.copy(), box.low.copy()
        high[column], low[column] = grid[0] + grid[1] * step, grid[0] + grid[1] * (step + 1)
        boxes = [Box(box.low, high, box.pieces, box.choices), Box(low, box.high, box.pieces, box.choices)]
        return self._children(node, {"split": "input", "input": column, "at": float(at)}, None, boxes)

    def _by_piece(self, node: Node, g: int) -> list[tuple[int, Box]]:
        """Split by which piece of a maximum is the largest. Pieces that are smaller everywhere are left out."""
        box, pieces = node.box, self.arrays.pieces[g]
        lowest, highest = self.arrays.limits(box)
        values = self.arrays.values(node.relaxed.x[None])[0] @ pieces.T
        best = int(values.argmax())
        above, kept = {}, []
        for p in box.pieces[g]:
            difference = self.arrays.largest((pieces[p] - pieces[best])[None], box, lowest, highest)[0]
            if p != best and difference < -ROOM * self.relaxation.maxima[g]:
                above[str(p)] = best
            else:
                kept.append(p)
        groups = [(p,) for p in kept]
        boxes = [box.with_pieces(g, group) for group in groups]
        return self._children(node, {"split": "maximum", "maximum": g, "above": above}, groups, boxes)

    def _children(self, node: Node, split: dict[str, Any], groups, boxes: list[Box]) -> list[tuple[int, Box]]:
        first = len(self.tree)
        children = list(range(first, first + len(boxes)))
        self.tree.extend({} for _ in boxes)
        entry = {**split, "children": children}
        if groups is not None:
            entry["groups"] = [list(group) for group in groups]
        self.tree[node.place] = entry
        return list(zip(children, boxes))

    def exact_bound(self):
        """The bound that the tree proves in exact arithmetic; None if no row is allowed.

        If the linear programs were less exact than they said, it is larger than `bound`, and replaces it.
        """
        exact = proven_bound(self.problem, {**self.claim, "tree": self.tree})
        if exact is not None:
            self.bound = max(self.bound, float(exact))
        return exact
