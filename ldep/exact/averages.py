"""The nearest row of a class under an average of models: branch and bound with a proof.

A node of the search restricts the options of some members. The concave bounds of the votes make it a convex problem:
the nearest u at which their weighted sum reaches the threshold. It is solved by cutting planes, each a projection onto
a few half-spaces, and every one of these projections is already a lower bound. A node is closed when its lower bound
reaches the best row found. Otherwise the member whose bound is farthest from its vote is branched on.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from ldep.exact.domain import Domain
from ldep.exact.models import Average
from ldep.exact.nearest import Outcome
from ldep.exact.projection import Row
from ldep.exact.relaxation import (
    Bound,
    Cap,
    Member,
    Options,
    all_options,
    bound,
    lowest_vote,
    tighten,
    vote_of_piece,
)

# A node is closed when it cannot improve the best distance by more than this share.
PRECISION = 1e-6
# Sum of votes that counts as reached.
REACHED = 1e-9
CUTS_PER_NODE = 60
# The bounds of a node are computed again where better rows can be, if that has shrunk to this share of its size.
SHRINK = 0.8
# A member's bound is computed again if its slack is at least this share of the largest.
STALE = 0.05
# Growth of the ball while no row of the class is known, how often it grows, and where the search gives up.
GROWTH = 2.0
GROWTHS = 40
FARTHEST = 1e9
# Random directions in which the first row of the class is looked for.
DIRECTIONS = 64


class AverageSearch:
    """Finds the nearest row of the target class under an average of models of two classes.

    Parameters
    ----------
    model : Average
        The average.
    target : int
        0 or 1, the number of the class.
    domain : Domain
        The allowed rows.
    time_limit : float
        Seconds per row.
    """

    def __init__(self, model: Average, target: int, domain: Domain, time_limit: float):
        self.model, self.domain, self.time_limit = model, domain, time_limit
        self.weights = model.weights
        self.threshold = model.threshold if target == 1 else -model.threshold
        self.free = np.flatnonzero(~domain.frozen)
        scale = domain.scale[self.free]
        order = {"l2": 2, "l1": np.inf, "linf": 1}[domain.norm]

        def norm(slopes: np.ndarray) -> np.ndarray:
            return np.linalg.norm(slopes, ord=order, axis=-1)

        clip = 1.0 if model.clipped else np.inf
        self.members = [
            Member.of(
                member.slopes[target][:, self.free] * scale, member.slopes[1 - target][:, self.free] * scale, clip, norm
            )
            for member in model.members
        ]
        self.target = target

    def nearest(self, X: np.ndarray) -> list[Outcome]:
        """The nearest row for each row of X: proven, or the best that was found in time."""
        return [_RowSearch(self, x).run() for x in X]

    def inside(self, x: np.ndarray, z: np.ndarray, margin: float) -> np.ndarray | None:
        """The nearest row whose votes exceed the threshold by the margin, with the pieces that are active at z."""
        search = _RowSearch(self, x, margin)
        search.descend((z - x)[self.free] / self.domain.scale[self.free], lowest=self.model.clipped)
        return search.best


@dataclass
class _Node:
    options: list[Options]
    G: np.ndarray
    h: np.ndarray
    u: np.ndarray
    lower: float
    slack: np.ndarray
    bounds: list[Bound] = field(default_factory=list)


class _Stack:
    """The bounds of all members as padded arrays, so that one product evaluates them."""

    def __init__(self, bounds: list[Bound], weights: np.ndarray):
        n = bounds[0].A.shape[1]
        K = len(bounds)
        width_a, width_b = max(len(b.a) for b in bounds), max(len(b.b) for b in bounds)
        self.A, self.a = np.zeros((K, width_a, n)), np.full((K, width_a), np.inf)
        self.B, self.b = np.zeros((K, width_b, n)), np.full((K, width_b), -np.inf)
        for k, part in enumerate(bounds):
            self.A[k, : len(part.a)], self.a[k, : len(part.a)] = part.A, part.a
            self.B[k, : len(part.b)], self.b[k, : len(part.b)] = part.B, part.b
        self.cap = np.array([part.cap for part in bounds])
        self.factor = np.array([part.factor for part in bounds])
        self.shift = np.array([part.shift for part in bounds])
        self.weights, self.every = weights, np.arange(K)

    def __call__(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of the votes at u, and a supergradient of their weighted sum."""
        upper, lower = self.A @ u + self.a, self.B @ u + self.b
        i, j = upper.argmin(axis=1), lower.argmax(axis=1)
        y = upper[self.every, i] - lower[self.every, j]
        slope = self.weights * self.factor * (y < self.cap)
        gradient = slope @ (self.A[self.every, i] - self.B[self.every, j])
        return self.factor * np.minimum(y, self.cap) + self.shift, gradient


class _RowSearch:
    """The search for one row."""

    def __init__(self, search: AverageSearch, x: np.ndarray, margin: float = 0.0):
        self.search, self.deadline = search, time.perf_counter() + search.time_limit
        self.row = Row.of(x, search.domain)
        self.threshold = search.threshold + margin
        self.p, self.q = [], []
        for member in search.model.members:
            scores = member.scores(x[None])
            self.p.append(scores[search.target][0])
            self.q.append(scores[1 - search.target][0])
        self.order = count()
        self.best: np.ndarray | None = None
        self.distance = np.inf
        self.clip = search.members[0].clip
        self.euclidean = search.domain.norm == "l2"

    def run(self) -> Outcome:
        origin = np.zeros(len(self.row.low))
        if self.value(origin) >= self.threshold and self.allowed_now():
            return Outcome(self.row.x.copy(), 0.0, 0.0)
        self.descend(origin)
        if self.best is None:
            self.descend_from_samples()
        if self.best is not None:
            return self.outcome(self.within(self.distance))
        radius, lower = self.first_radius(), 0.0
        while np.isfinite(radius) and lower < self.largest_radius():
            lower = max(lower, self.within(radius))
            if self.best is not None or time.perf_counter() > self.deadline or radius > FARTHEST:
                return self.outcome(lower)
            radius *= GROWTH
        return Outcome(None, np.inf, np.inf)

    def outcome(self, lower: float) -> Outcome:
        if self.best is None:
            return Outcome(None, np.inf, lower)
        return Outcome(self.best, self.distance, min(lower, self.distance))

    def allowed_now(self) -> bool:
        return bool((self.row.low <= 0).all() and (self.row.high >= 0).all())

    def first_radius(self) -> float:
        """A radius within which no row of the class can be."""
        gap = self.threshold - self.value(np.zeros(len(self.row.low)))
        steepest = sum(weight * member.P_to_Q.max() for weight, member in zip(self.search.weights, self.search.members))
        return gap / steepest if steepest > 0 else np.inf

    def largest_radius(self) -> float:
        """A radius that contains the whole domain: finite if all features have bounds."""
        return self.length(np.maximum(np.abs(self.row.low), np.abs(self.row.high)))

    def votes(self, u: np.ndarray) -> np.ndarray:
        """The votes at u, or at each row of u."""
        y = [
            (u @ member.P.T + p).max(axis=-1) - (u @ member.Q.T + q).max(axis=-1)
            for member, p, q in zip(self.search.members, self.p, self.q)
        ]
        return np.clip(y, -self.clip, self.clip)

    def value(self, u: np.ndarray):
        return self.search.weights @ self.votes(u)

    def length(self, u: np.ndarray) -> float:
        return float(np.linalg.norm(u, ord={"l2": 2, "l1": 1, "linf": np.inf}[self.search.domain.norm]))

    def offer(self, u: np.ndarray) -> bool:
        """Keep u if it is the nearest so far. Its votes are known to reach the threshold."""
        length = self.length(u)
        if length >= self.distance:
            return False
        self.best, self.distance = self.row.point(u), length
        return True

    def descend(self, u: np.ndarray, lowest: bool = False) -> None:
        """Find a near row: fix the pieces that are the largest at u, solve the convex problem that remains, repeat."""
        for _ in range(20):
            bounds = []
            for member, p, q in zip(self.search.members, self.p, self.q):
                scores = member.P @ u + p
                below = lowest and scores.max() - (member.Q @ u + q).max() < -self.clip
                piece, others = int(scores.argmax()), np.arange(len(q))
                bounds.append(lowest_vote(member) if below else vote_of_piece(member, piece, others, p, q))
            answer = self.solve(_Stack(bounds, self.search.weights), *self.no_cuts(), limit=200)
            if answer is None or not answer.reached:
                return
            improved = self.offer(answer.u)
            if lowest and not improved:
                return
            u, lowest = answer.u, np.isfinite(self.clip)

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
                self.descend(points[values.argmax()], lowest=np.isfinite(self.clip))
            if self.best is not None or time.perf_counter() > self.deadline:
                return

    def no_cuts(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((0, len(self.row.low))), np.zeros(0)

    def solve(self, stack: _Stack, G: np.ndarray, h: np.ndarray, limit: int = CUTS_PER_NODE) -> _Answer | None:
        """The nearest u whose bounds reach the threshold, by cutting planes; None if none is nearer than the best."""
        u = self.row.nearest(G, h, self.distance) if len(h) else self.start()
        for _ in range(limit):
            if u is None or self.length(u) >= self.distance * (1.0 - PRECISION):
                return None
            votes, gradient = stack(u)
            total = float(self.search.weights @ votes)
            if total >= self.threshold - REACHED:
                return _Answer(u, votes, G, h, True)
            G = np.vstack([G, gradient])
            h = np.append(h, self.threshold - total + gradient @ u)
            u = self.row.nearest(G, h, self.distance)
            if time.perf_counter() > self.deadline:
                break
            if u is not None and len(h) > 2 * len(u) + 20:
                active = G @ u - h <= 1e-7 * (1.0 + np.abs(h))
                active[-5:] = True
                G, h = G[active], h[active]
        if u is None or self.length(u) >= self.distance * (1.0 - PRECISION):
            return None
        return _Answer(u, stack(u)[0], G, h, False)

    def start(self) -> np.ndarray | None:
        if self.allowed_now():
            return np.zeros(len(self.row.low))
        return self.row.nearest(np.zeros((1, len(self.row.low))), np.array([-1.0]))

    def within(self, radius: float) -> float:
        """Search the ball; return a proven lower bound of the distance of every row of the class."""
        if self.best is None:
            self.distance = radius
        heap: list[tuple[float, int, _Node]] = []
        G, h = self.no_cuts()
        origin = np.zeros(G.shape[1])
        options = [all_options(member) for member in self.search.members]
        self.push(heap, _Node(options, G, h, origin, 0.0, np.zeros(len(options))))
        lower = np.inf
        while heap:
            lower, _, node = heapq.heappop(heap)
            if lower >= self.distance * (1.0 - PRECISION) or time.perf_counter() > self.deadline:
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

    def push(self, heap, node: _Node) -> None:
        """Solve the relaxation of a node, again in smaller balls as long as that helps; keep it if it is not closed."""
        while True:
            cap = self.cap(node.u)
            bounds: list[Bound] = []
            options = []
            for k, (member, option) in enumerate(zip(self.search.members, node.options)):
                if node.bounds and (option.decided or node.slack[k] < STALE * node.slack.max()):
                    options.append(option)
                    bounds.append(node.bounds[k])
                    continue
                option = tighten(member, option, self.p[k], self.q[k], cap)
                part = bound(member, option, self.p[k], self.q[k], cap)
                if part is None:
                    return
                options.append(option)
                bounds.append(part)
            node.options, node.bounds = options, bounds
            answer = self.solve(_Stack(bounds, self.search.weights), node.G, node.h)
            if answer is None:
                return
            node.u, node.G, node.h = answer.u, answer.G, answer.h
            node.slack = self.slack(node, answer.votes)
            node.lower = max(node.lower, self.length(answer.u))
            if self.value(answer.u) >= self.threshold - REACHED:
                self.offer(answer.u)
                if answer.reached:
                    return
            after = self.cap(node.u)
            if after.radius**2 - after.height**2 > SHRINK * (cap.radius**2 - cap.height**2):
                break
        heapq.heappush(heap, (node.lower, next(self.order), node))

    def branch(self, heap, node: _Node) -> None:
        k, children = self.split(node)
        for options, G, h in children:
            chosen, bounds, slack = list(node.options), list(node.bounds), node.slack.copy()
            chosen[k] = options
            if options.decided:
                bounds[k] = self.exact_vote(k, options)
            rows = np.vstack([node.G, G]), np.append(node.h, h)
            self.push(heap, _Node(chosen, *rows, node.u, node.lower, slack, bounds))

    def exact_vote(self, k: int, options: Options) -> Bound:
        """The vote of a member whose options are decided."""
        member = self.search.members[k]
        if not len(options.pieces):
            return lowest_vote(member)
        return vote_of_piece(member, options.pieces[0], options.others, self.p[k], self.q[k])

    def split(self, node: _Node) -> tuple[int, list[tuple[Options, np.ndarray, np.ndarray]]]:
        """The member whose bound is farthest from its vote, and two sets of options that together are its options.

        Each comes with half-spaces to which it can be confined.
        """
        k = int(node.slack.argmax())
        member, options, p, q = self.search.members[k], node.options[k], self.p[k], self.q[k]
        pieces, others, lowest = options.pieces, options.others, options.lowest
        scores = member.P[pieces] @ node.u + p[pieces]
        order = scores.argsort()
        lead = scores[order[-1]] - (member.Q[others] @ node.u + q[others]).max()
        if lowest and (lead <= -self.clip or len(pieces) == 1):
            below, above = self.no_cuts(), self.no_cuts()
            if len(others) == 1:
                below = member.Q[others] - member.P[pieces], self.clip + p[pieces] - q[others]
            if len(pieces) == 1:
                above = member.P[pieces] - member.Q[others], -self.clip - p[pieces] + q[others]
            return k, [(Options(pieces[:0], others, True), *below), (Options(pieces, others, False), *above)]
        first, second = pieces[order[-1]], pieces[order[-2]]
        side, offset = (member.P[first] - member.P[second])[None], np.array([p[second] - p[first]])
        return k, [
            (Options(pieces[pieces != second], others, lowest), side, offset),
            (Options(pieces[pieces != first], others, lowest), -side, -offset),
        ]

    def slack(self, node: _Node, bounds: np.ndarray) -> np.ndarray:
        """How far the bound of each member at the node's answer is above its vote, weighted."""
        votes = np.full(len(node.options), -self.clip)
        for k, (member, options) in enumerate(zip(self.search.members, node.options)):
            pieces, others = options.pieces, options.others
            if len(pieces):
                largest = (member.P[pieces] @ node.u + self.p[k][pieces]).max()
                lead = largest - (member.Q[others] @ node.u + self.q[k][others]).max()
                votes[k] = np.clip(lead, -self.clip if options.lowest else -np.inf, self.clip)
        return self.search.weights * (bounds - votes)


@dataclass(frozen=True)
class _Answer:
    u: np.ndarray
    votes: np.ndarray
    G: np.ndarray
    h: np.ndarray
    reached: bool
