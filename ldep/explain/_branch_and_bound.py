"""The nearest row whose weighted votes reach a threshold: branch and bound with a proof.

A node of the search restricts the options of some members, and the box of the rows. The concave bounds of the votes
make it a convex problem: the nearest u at which their weighted sum reaches the threshold. It is solved by cutting
planes, each a projection onto a few half-spaces, and every one of these projections is already a lower bound. A node is
closed when its lower bound reaches the best row found. Otherwise it is branched: on an integer feature or a choice that
has no allowed value, else by halving a box of few coordinates, or on the member whose bound is farthest from its vote.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count

import numpy as np

from ldep.explain._domain import NORMS
from ldep.explain._least_distance import (
    Box,
    Cap,
    Deadline,
    Where,
    fixed_at,
    halves,
    is_allowed,
    rounded_box,
    shrunk,
    smaller_boxes,
)
from ldep.explain._projection import Outcome, Row
from ldep.explain._relaxation import Bounds, Options, Rises, Votes

# A node is closed when it cannot improve the best distance by more than this share.
PRECISION = 1e-6
# Shortfall of votes that counts as none.
REACHED = 1e-9
CUTS_PER_NODE = 60
# Growth of the ball while no row of the class is known, and how often it grows.
GROWTH = 2.0
GROWTHS = 40
# Share of the time that must be left for the proof when single choices are tried.
PART_OF_TIME = 0.7
# Random directions in which the first row of the class is looked for.
DIRECTIONS = 64


@dataclass(frozen=True)
class Answer:
    """The last point of the cutting planes, the bounds of the votes there, the cuts, and whether they were enough."""

    u: np.ndarray
    votes: np.ndarray
    G: np.ndarray
    h: np.ndarray
    reached: bool


class Descent:
    """The best row so far, and how a nearer one is found without a proof."""

    def __init__(self, row: Row, votes: Votes, weights: np.ndarray, threshold: float, time_limit: float):
        self.row, self.votes, self.weights, self.threshold = row, votes, weights, threshold
        self.all_votes = votes
        self.deadline = Deadline.after(time_limit)
        self.euclidean = row.domain.norm == "l2"
        self.order = count()  # of the nodes of a search
        self.best: np.ndarray | None = None
        self.distance = np.inf

    def whole(self) -> Box:
        """The box of all allowed rows."""
        return self.row.low, self.row.high

    def late(self) -> bool:
        return self.deadline.left <= 0

    def allowed_now(self) -> bool:
        """Whether the row itself is allowed."""
        return bool((self.row.low <= 0).all() and (self.row.high >= 0).all())

    def first_radius(self) -> float:
        """A radius within which no row of the class can be."""
        gap = self.threshold - self.value(np.zeros((1, len(self.row.low))))[0]
        steepest = float(self.weights @ self.all_votes.members.P_to_Q.max(axis=(1, 2)))
        return gap / steepest if steepest > 0 else np.inf

    def largest_radius(self) -> float:
        """A radius that contains the whole domain: finite if all features have bounds."""
        return self.length(np.maximum(np.abs(self.row.low), np.abs(self.row.high)))

    def value(self, points: np.ndarray) -> np.ndarray:
        """The weighted sum of the votes at each of some points."""
        options = self.all_votes.all_options()
        return np.array([self.weights @ np.clip(self.all_votes.at(u, options)[1], -1.0, 1.0) for u in points])

    def length(self, u: np.ndarray) -> float:
        return float(np.linalg.norm(u, ord=NORMS[self.row.domain.norm]))

    def offer(self, u: np.ndarray) -> bool:
        """Keep u if it is the nearest so far. Its votes are known to reach the threshold."""
        length = self.length(u)
        if length >= self.distance:
            return False
        self.best, self.distance = self.row.point(u), length
        return True

    def descend(self, u: np.ndarray, lowest: bool = False, box: Box | None = None) -> None:
        """Find a near row: fix the pieces that are the largest at u, solve the convex problem that remains, repeat."""
        box = self.whole() if box is None else box
        for _ in range(20):
            scores, lead = self.all_votes.at(u, self.all_votes.all_options())
            fixed = self.all_votes.fixed(scores.argmax(axis=1), (lead < -1.0) & lowest)
            answer = self.solve(fixed, box, *self.no_cuts(), limit=200)
            if answer is not None and answer.reached and not is_allowed(self.row, answer.u):
                box = rounded_box(self.row, box, answer.u)
                answer = self.solve(fixed, box, *self.no_cuts(), limit=200)
            if answer is None or not answer.reached:
                return
            improved = self.offer(answer.u)
            if lowest and not improved:
                return
            u, lowest = answer.u, True

    def descend_with_one_choice(self) -> None:
        """Start with the choices as they are, then with each of their other values, for some part of the time."""
        origin = np.zeros(len(self.row.low))
        unchanged = rounded_box(self.row, self.whole(), origin)
        self.descend(origin, box=unchanged)
        allowed = PART_OF_TIME * self.deadline.left
        for at, values in self.row.choices:
            for value in values[np.abs(values).max(axis=1) > 0]:
                if self.deadline.left < allowed:
                    return
                box = fixed_at(unchanged, at, value)
                self.descend(np.clip(origin, *box), box=box)

    def descend_from_samples(self) -> None:
        """Start from points of the class among some around the row."""
        n = len(self.row.low)
        rng = np.random.default_rng(0)
        directions = np.vstack([np.eye(n), -np.eye(n), rng.normal(size=(DIRECTIONS, n))])
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        if np.isinf(self.first_radius()):
            return
        for radius in self.first_radius() * GROWTH ** np.arange(GROWTHS):
            points = np.clip(radius * directions, self.row.low, self.row.high)
            values = self.value(points)
            if values.max() >= self.threshold:
                self.descend(points[values.argmax()], lowest=True)
            if self.best is not None or self.late():
                return

    def no_cuts(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((0, len(self.row.low))), np.zeros(0)

    def solve(
        self, bounds: Bounds, box: Box, G: np.ndarray, h: np.ndarray, limit: int = CUTS_PER_NODE
    ) -> Answer | None:
        """The nearest u of a box whose bounds reach the threshold, by cutting planes; None if the best is nearer."""
        u = self.row.nearest_in_box(G, h, box) if len(h) else self.start(box)
        for _ in range(limit):
            if u is None or self.length(u) >= self.distance * (1.0 - PRECISION):
                return None
            votes, gradient = bounds.at(u, self.weights)
            total = float(self.weights @ votes)
            if total >= self.threshold - REACHED:
                return Answer(u, votes, G, h, True)
            G = np.vstack([G, gradient])
            h = np.append(h, self.threshold - total + gradient @ u)
            u = self.row.nearest_in_box(G, h, box)
            if self.late():
                break
            if u is not None and len(h) > 2 * len(u) + 20:
                active = G @ u - h <= 1e-7 * (1.0 + np.abs(h))
                active[-5:] = True
                G, h = G[active], h[active]
        if u is None or self.length(u) >= self.distance * (1.0 - PRECISION):
            return None
        return Answer(u, bounds.at(u, self.weights)[0], G, h, False)

    def start(self, box: Box) -> np.ndarray | None:
        """The point of a box that is nearest to the row."""
        return None if (box[0] > box[1]).any() else np.clip(0.0, *box)


# The bounds of a node are computed again where better rows can be, if that has shrunk to this share of its size.
SHRINK = 0.8
# Where the search gives up if no row of the class is known.
FARTHEST = 1e9
# A box of few coordinates that are not narrow is halved, unless one member has this share of what the bounds exceed.
MOST_HALVED = 8
NARROW = 1e-6
DECISIVE = 0.3


@dataclass
class Node:
    """What is left to the members, a box and half-spaces that contain all better rows, and the relaxed answer."""

    options: Options
    box: Box
    G: np.ndarray
    h: np.ndarray
    u: np.ndarray
    lower: float = 0.0
    slack: np.ndarray | None = None


class RowSearch(Descent):
    """The search for one row, with a proof."""

    def run(self) -> Outcome:
        origin = np.zeros(len(self.row.low))
        if self.value(origin[None])[0] >= self.threshold and self.allowed_now():
            return Outcome(self.row.x.copy(), 0.0, 0.0)
        if self.row.domain.discrete:
            self.descend_with_one_choice()
        self.descend(origin)
        if self.best is None:
            self.descend_from_samples()
        if self.best is not None:
            return self.outcome(self.within(self.distance))
        radius, lower = self.first_radius(), 0.0
        while np.isfinite(radius) and lower < self.largest_radius():
            lower = max(lower, self.within(radius))
            if self.best is not None or self.late() or radius > FARTHEST:
                return self.outcome(lower)
            radius *= GROWTH
        return Outcome(None, np.inf, np.inf)

    def outcome(self, lower: float) -> Outcome:
        lower = max(lower, self.first_radius())
        if self.best is None:
            return Outcome(None, np.inf, lower)
        return Outcome(self.best, self.distance, min(lower, self.distance))

    def within(self, radius: float) -> float:
        """Search the ball; return a proven lower bound of the distance of every row of the class."""
        if self.best is None:
            self.distance = radius
        G, h = self.no_cuts()
        origin = np.zeros(G.shape[1])
        self.votes = self.all_votes
        heap: list[tuple[float, int, Node]] = []
        root = Node(self.votes.all_options(), self.whole(), G, h, origin)
        rises = self.rises(root)
        options = None if rises is None else self.votes.tighten(root.options, rises)
        if options is not None:
            self.votes, root.options = self.votes.without_dead(options)
            self.push(heap, root)
        lower = np.inf
        while heap:
            lower, _, node = heapq.heappop(heap)
            if lower >= self.distance * (1.0 - PRECISION) or self.late():
                break
            self.branch(heap, node)
            lower = np.inf
        closed = self.distance * (1.0 - PRECISION) if self.best is not None else radius
        if self.best is None:
            self.distance = np.inf
        return min(lower, closed)

    def cap(self, u: np.ndarray) -> Cap:
        """Where all better rows of a node are whose relaxation has the answer u."""
        length = self.length(u)
        if not self.euclidean or length == 0:
            return Cap(self.distance, np.zeros(len(u)))
        return Cap(self.distance * (1.0 + 1e-9), u / length, length * (1.0 - 1e-9))

    def rises(self, node: Node) -> Rises | None:
        """How much differences of pieces can rise where better rows of a node are; None if these are nowhere."""
        cap = self.cap(node.u)
        if not self.votes.members.boxed:
            return self.votes.members.rises(Where(cap))
        box = self.shrunk_box(node)
        return None if (box[0] > box[1]).any() else self.votes.members.rises(Where(cap, box))

    def shrunk_box(self, node: Node) -> Box:
        """A box that contains all better rows of a node."""
        low, high = self.cap(node.u).box()
        return shrunk((np.maximum(low, node.box[0]), np.minimum(high, node.box[1])), node.G, node.h)

    def push(self, heap, node: Node) -> None:
        """Solve the relaxation of a node, again in smaller caps as long as that helps; keep it if it is not closed."""
        while True:
            cap, rises = self.cap(node.u), self.rises(node)
            options = None if rises is None else self.votes.tighten(node.options, rises)
            if rises is None or options is None:
                return
            answer = self.solve(self.votes.bounds(options, rises), node.box, node.G, node.h)
            if answer is None:
                return
            node.options, node.u, node.G, node.h = options, answer.u, answer.G, answer.h
            node.lower = max(node.lower, self.length(answer.u))
            votes = self.votes.clipped(self.votes.at(node.u, options)[1], options)
            node.slack = self.weights * (answer.votes - votes)
            allowed = is_allowed(self.row, node.u)
            if allowed and self.value(node.u[None])[0] >= self.threshold - REACHED:
                self.offer(node.u)
                if answer.reached:
                    return
            if self.cap(node.u).squared_rim > SHRINK * cap.squared_rim:
                break
        heapq.heappush(heap, (node.lower, next(self.order), node))

    def branch(self, heap, node: Node) -> None:
        if not is_allowed(self.row, node.u):
            for box in smaller_boxes(self.row, node.box, node.u):
                self.push(heap, Node(node.options, box, node.G, node.h, node.u, node.lower))
            return
        if node.slack is None or node.slack.max() <= REACHED:
            # All bounds are exact: the cutting planes were stopped early, and go on.
            self.push(heap, node)
            return
        if self.votes.members.boxed and node.slack.max() < DECISIVE * node.slack.sum():
            low, high = self.shrunk_box(node)
            if (high - low > NARROW).sum() <= MOST_HALVED:
                k = int((high - low).argmax())
                for box in halves(self.row, node.box, k, float(low[k] + high[k]) / 2.0):
                    self.push(heap, Node(node.options, box, node.G, node.h, node.u, node.lower))
                return
        for options, G, h in self.split(node, int(node.slack.argmax())):
            rows = np.vstack([node.G, G]), np.append(node.h, h)
            self.push(heap, Node(options, node.box, *rows, node.u, node.lower))

    def split(self, node: Node, k: int) -> list[tuple[Options, np.ndarray, np.ndarray]]:
        """Two sets of options that together are those of the node, with half-spaces to which each can be confined."""
        options, p, q = node.options, self.votes.p[k], self.votes.q[k]
        P, Q = self.votes.members.P[k], self.votes.members.Q[k]
        pieces, others = np.flatnonzero(options.pieces[k]), np.flatnonzero(options.others[k])
        scores, lead = self.votes.at(node.u, options)
        if options.lowest[k] and (lead[k] <= -1.0 or len(pieces) == 1):
            below, above = self.no_cuts(), self.no_cuts()
            if len(others) == 1:
                below = Q[others] - P[pieces], 1.0 + p[pieces] - q[others]
            if len(pieces) == 1:
                above = P[pieces] - Q[others], -1.0 - p[pieces] + q[others]
            return [(options.with_member(k, pieces=False), *below), (options.with_member(k, lowest=False), *above)]
        second, first = scores[k].argsort()[-2:]
        side, offset = (P[first] - P[second])[None], np.array([p[second] - p[first]])
        numbers = np.arange(len(p))
        return [
            (options.with_member(k, pieces=options.pieces[k] & (numbers != second)), side, offset),
            (options.with_member(k, pieces=options.pieces[k] & (numbers != first)), -side, -offset),
        ]
