"""The nearest row of a class under signed sums of maxima and votes of them: branch and bound with a proof.

A node of the search restricts the options of some maxima and votes, and the box of the rows. The concave bounds of the
votes make it a convex problem: the nearest u at which their sums reach what the class requires against each rival. It
is solved by cutting planes, each a projection onto a few half-spaces, and every one of these projections is already a
lower bound. A node is closed when its lower bound reaches the best row found. Otherwise it is branched: on an integer
feature or a choice that has no allowed value, else by halving a box of few coordinates, or on what makes the bound of
one vote exceed the vote most: a maximum with several pieces, or the lower limit of the vote.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count

import numpy as np

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
from ldep.explain._projection import Outcome, Relaxed, Row
from ldep.explain._relaxation import Bounds, Options, Point, Rises, Votes

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
    """The last point of the cutting planes, a bound of the distance, the bounds of the votes there, the cuts, and
    whether they were enough."""

    u: np.ndarray
    lower: float
    point: Point
    G: np.ndarray
    h: np.ndarray
    reached: bool


class Descent:
    """The best row so far, and how a nearer one is found without a proof."""

    def __init__(self, row: Row, votes: Votes, steepness: np.ndarray, deadline: Deadline):
        self.row, self.all_votes, self.steepness, self.deadline = row, votes, steepness, deadline
        self.votes = votes  # of the pieces that count where better rows can be
        self.euclidean = row.domain.norm == "l2"
        self.order = count()  # of the nodes of a search
        self.best: np.ndarray | None = None
        self.distance = np.inf

    def whole(self) -> Box:
        """The box of all allowed rows."""
        return self.row.box

    def late(self) -> bool:
        return self.deadline.left <= 0

    def allowed_now(self) -> bool:
        """Whether the row itself is allowed."""
        return bool((self.row.low <= 0).all() and (self.row.high >= 0).all() and (self.row.h <= 0).all())

    def first_radius(self) -> float:
        """A radius within which no row of the class can be."""
        missing = self.all_votes.shortfalls(np.zeros(len(self.row.low)))
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.where(missing > 0, missing / self.steepness, 0.0).max())

    def largest_radius(self) -> float:
        """A radius that contains the whole domain: finite if all features have bounds."""
        return self.length(np.maximum(np.abs(self.row.low), np.abs(self.row.high)))

    def wins(self, u: np.ndarray) -> bool:
        """Whether the target class wins at u."""
        return bool(self.all_votes.shortfalls(u).max() <= REACHED)

    def length(self, u: np.ndarray) -> float:
        return self.row.length(u)

    def offer(self, u: np.ndarray) -> bool:
        """Keep u if it is the nearest so far. The class is known to win there."""
        length = self.length(u)
        if length >= self.distance:
            return False
        self.best, self.distance = self.row.point(u), length
        return True

    def descend(self, u: np.ndarray, lowest: bool = False, box: Box | None = None) -> None:
        """Find a near row: fix the pieces that are the largest at u, solve the convex problem that remains, repeat."""
        box = self.whole() if box is None else box
        for _ in range(20):
            values, votes = self.votes.at(u, self.votes.all_options())
            low = votes < self.votes.contest.limit
            if not lowest:
                # The votes for the target must be able to rise.
                low[:, self.votes.contest.target] = False
            fixed = self.votes.fixed(values.argmax(axis=2), low)
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
                self.descend(np.clip(origin, box.low, box.high), box=box)

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
            missing = [self.all_votes.shortfalls(u).max() for u in points]
            if min(missing) <= 0:
                self.descend(points[int(np.argmin(missing))], lowest=True)
            if self.best is not None or self.late():
                return

    def no_cuts(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((0, len(self.row.low))), np.zeros(0)

    def solve(
        self, bounds: Bounds, box: Box, G: np.ndarray, h: np.ndarray, limit: int = CUTS_PER_NODE
    ) -> Answer | None:
        """The nearest u of a box at which the bounds are enough, by cutting planes; None if the best is nearer."""
        relaxed = self.row.relaxed(G, h, box) if len(h) or len(self.row.h) else self.start(box)
        for _ in range(limit):
            if relaxed is None or relaxed.lower >= self.distance * (1.0 - PRECISION):
                return None
            u = relaxed.u
            point = bounds.at(u)
            violated = np.flatnonzero(point.shortfall > REACHED)
            if not len(violated):
                return Answer(u, relaxed.lower, point, G, h, True)
            gradients = point.cuts(violated)
            G = np.vstack([G, gradients])
            h = np.append(h, point.shortfall[violated] + gradients @ u)
            relaxed = self.row.relaxed(G, h, box)
            if self.late():
                break
            if relaxed is not None and len(h) > 2 * len(u) + 20:
                u = relaxed.u
                active = G @ u - h <= 1e-7 * (1.0 + np.abs(h))
                active[-5:] = True
                G, h = G[active], h[active]
        if relaxed is None or relaxed.lower >= self.distance * (1.0 - PRECISION):
            return None
        return Answer(relaxed.u, relaxed.lower, bounds.at(relaxed.u), G, h, False)

    def start(self, box: Box) -> Relaxed | None:
        """The point of a box that is nearest to the row."""
        if box.empty:
            return None
        u = np.clip(0.0, box.low, box.high)
        return Relaxed(u, self.length(u))


# The bounds of a node are computed again where better rows can be, if that has shrunk to this share of its size. Its
# arrays are made narrower if this share of the pieces is left.
SHRINK = 0.8
# Where the search gives up if no row of the class is known.
FARTHEST = 1e9
# Share of the time of the short search, and the radii of the balls that follow, as shares of the best distance.
SHORT = 0.1
SHARES = (0.2, 0.35, 0.5, 0.65, 0.8, 1.0)
# A box of few coordinates that are not narrow is halved, unless one vote has this share of what the bounds exceed.
MOST_HALVED = 8
NARROW = 1e-6
DECISIVE = 0.3
# What a lead counts of which the vote does not depend here, but may depend elsewhere in the node.
TIE = 1e-6


@dataclass
class Node:
    """The options left, a box and half-spaces that contain all better rows, and the relaxed answer.

    `votes` are those of the pieces that are left. `excess` is what the bound of each vote adds to the condition that
    the relaxed answer fails most.
    """

    votes: Votes
    options: Options
    box: Box
    G: np.ndarray
    h: np.ndarray
    u: np.ndarray
    lower: float = 0.0
    bounds: Bounds | None = None
    excess: np.ndarray | None = None


class RowSearch(Descent):
    """The search for one row, with a proof."""

    def approach(self) -> None:
        """Find near rows, without a proof that they are the nearest."""
        origin = np.zeros(len(self.row.low))
        if self.all_votes.shortfalls(origin).max() <= 0 and self.allowed_now():
            self.best, self.distance = self.row.x.copy(), 0.0
            return
        if self.row.domain.discrete:
            self.descend_with_one_choice()
        self.descend(origin)
        if self.best is None:
            self.descend_from_samples()

    def prove(self, cutoff: float = np.inf) -> Outcome:
        """The nearest row, with a bound; none if it is not nearer than the cutoff, and then the bound says so."""
        if self.distance == 0:
            return Outcome(self.best, 0.0, 0.0)
        if len(self.row.h) and self.row.relaxed(*self.no_cuts(), self.whole()) is None:
            return Outcome(None, np.inf, np.inf)
        if self.distance >= cutoff:
            self.best, self.distance = None, cutoff
        if np.isfinite(self.distance):
            return self.outcome(self.to_the_best())
        radius, lower = self.first_radius(), 0.0
        while np.isfinite(radius) and lower < self.largest_radius():
            lower = max(lower, self.within(radius))
            if self.best is not None or self.late() or radius > FARTHEST:
                return self.outcome(lower)
            radius *= GROWTH
        return Outcome(None, np.inf, np.inf)

    def reaches(self, radius: float) -> bool | None:
        """Whether the class wins somewhere in the ball, up to the precision; None if that was not decided in time."""
        if self.first_radius() > radius:
            return False
        larger = radius * (1.0 + 2.0 * PRECISION)
        lower = self.within(larger)
        if self.best is not None:
            return True
        return False if lower >= radius else None

    def to_the_best(self) -> float:
        """Search the ball up to the best row; return a proven lower bound.

        If a short search is not enough, balls that grow are searched one after the other: a smaller one is closed much
        sooner, and the nearest row is often nearer than the best that was found without a search.
        """
        deadline = self.deadline
        self.deadline = Deadline.after(SHORT * deadline.left)
        lower = self.within(self.distance)
        self.deadline = deadline
        best, distance = self.best, self.distance
        for share in SHARES:
            if lower >= share * distance * (1.0 - PRECISION) or self.late():
                continue
            self.best = best if share == 1.0 else None
            lower = max(lower, self.within(share * distance))
            if self.best is not None:
                return lower
        self.best, self.distance = best, distance
        return lower

    def outcome(self, lower: float) -> Outcome:
        lower = max(lower, self.first_radius())
        if self.best is None:
            return Outcome(None, np.inf, lower)
        return Outcome(self.best, self.distance, min(lower, self.distance))

    def within(self, radius: float) -> float:
        """Search the ball; return a proven lower bound of the distance of every row of the class."""
        self.distance = radius
        G, h = self.no_cuts()
        self.votes = self.all_votes
        heap: list[tuple[float, int, Node]] = []
        root = Node(self.votes, self.votes.all_options(), self.whole(), G, h, np.zeros(G.shape[1]))
        relaxed = self.relaxed(root)
        if relaxed is not None:
            root.votes, root.options = self.votes.without_dead(relaxed[0])
            self.votes = root.votes
            self.push(heap, root)
        lower = np.inf
        branched = 0
        while heap:
            lower, _, node = heapq.heappop(heap)
            if lower >= self.distance * (1.0 - PRECISION) or self.late():
                break
            if branched & (branched - 1) == 0:  # at the first node, and then at fewer and fewer
                self.descend(node.u, lowest=True)
            branched += 1
            self.branch(heap, node)
            lower = np.inf
        closed = self.distance * (1.0 - PRECISION) if self.best is not None else radius
        self.votes = self.all_votes
        return min(lower, closed)

    def relaxed(self, node: Node) -> tuple[Options, Bounds] | None:
        """The options and bounds of a node where its better rows can be; None if there are none."""
        rises = self.rises(node)
        return None if rises is None else node.votes.relax(node.options, rises)

    def cap(self, u: np.ndarray) -> Cap:
        """Where all better rows of a node are whose relaxation has the answer u."""
        length = self.length(u)
        if not self.euclidean or length == 0:
            return Cap(self.distance, np.zeros(len(u)))
        return Cap(self.distance * (1.0 + 1e-9), u / length, length * (1.0 - 1e-9))

    def rises(self, node: Node) -> Rises | None:
        """How much differences of pieces can rise where better rows of a node are; None if these are nowhere."""
        cap = self.cap(node.u)
        if node.votes.pieces.differences is None:
            return node.votes.pieces.rises(Where(cap))
        box = self.shrunk_box(node)
        return None if box.empty else node.votes.pieces.rises(Where(cap, box))

    def shrunk_box(self, node: Node) -> Box:
        """A box that contains all better rows of a node."""
        low, high, _ = self.cap(node.u).box()
        box = Box(np.maximum(low, node.box.low), np.minimum(high, node.box.high), node.box.levers)
        return shrunk(box, *self.row.limited(node.G, node.h))

    def push(self, heap, node: Node) -> None:
        """Solve the relaxation of a node, again in smaller caps as long as that helps; keep it if it is not closed."""
        while True:
            cap, relaxed = self.cap(node.u), self.relaxed(node)
            if relaxed is None:
                return
            node.options, node.bounds = relaxed
            answer = self.solve(node.bounds, node.box, node.G, node.h)
            if answer is None:
                return
            node.u, node.G, node.h = answer.u, answer.G, answer.h
            node.lower = max(node.lower, answer.lower)
            node.excess = self.excess(node, answer.point)
            if is_allowed(self.row, node.u) and self.wins(node.u):
                self.offer(node.u)
                if answer.reached:
                    return
            if self.cap(node.u).squared_rim > SHRINK * cap.squared_rim:
                break
        if node.options.pieces.sum(axis=2).max() <= SHRINK * node.options.pieces.shape[2]:
            node.votes, node.options = node.votes.without_dead(node.options)
        heapq.heappush(heap, (node.lower, next(self.order), node))

    def excess(self, node: Node, point: Point) -> np.ndarray:
        """What the bound of each vote adds to the condition of a rival that the relaxed answer fails most."""
        contest = node.votes.contest
        votes = node.votes.limited(node.votes.at(node.u, node.options)[1], node.options)
        worst = int((contest.required - contest.sums(votes)).argmax())
        return contest.importance(votes)[worst] * (point.votes - votes)

    def branch(self, heap, node: Node) -> None:
        assert node.excess is not None
        if not is_allowed(self.row, node.u):
            for box in smaller_boxes(self.row, node.box, node.u):
                self.push(heap, Node(node.votes, node.options, box, node.G, node.h, node.u, node.lower))
            return
        if node.excess.max() <= REACHED:
            # All bounds are exact: the cutting planes were stopped early, and go on.
            self.push(heap, node)
            return
        if node.votes.pieces.differences is not None and node.excess.max() < DECISIVE * node.excess.sum():
            low, high, _ = self.shrunk_box(node)
            if (high - low > NARROW).sum() <= MOST_HALVED:
                k = int((high - low).argmax())
                for box in halves(self.row, node.box, k, float(low[k] + high[k]) / 2.0):
                    self.push(heap, Node(node.votes, node.options, box, node.G, node.h, node.u, node.lower))
                return
        member, vote = np.unravel_index(int(node.excess.argmax()), node.excess.shape)
        for options, G, h in self.split(node, int(member), int(vote)):
            rows = np.vstack([node.G, G]), np.append(node.h, h)
            self.push(heap, Node(node.votes, options, node.box, *rows, node.u, node.lower))

    def split(self, node: Node, member: int, vote: int) -> list[tuple[Options, np.ndarray, np.ndarray]]:
        """Two sets of options that together are those of the node, with half-spaces to which each can be confined."""
        options, contest = node.options, node.votes.contest
        assert node.bounds is not None
        values, votes = node.votes.at(node.u, options)
        bounds = (node.bounds.A[member] @ node.u + node.bounds.a[member]).min(axis=1)
        above = bounds - values[member, contest.convex].max(axis=1)
        above[options.pieces[member, contest.convex].sum(axis=1) == 1] = 0.0
        slopes = contest.unlimited(node.votes.leads(values))[1][member, vote] + TIE
        by_maximum = slopes @ (contest.plus[member, vote] * above)
        undecided = options.lowest[member, vote] and options.above[member, vote]
        if undecided and (votes[member, vote] <= contest.limit or by_maximum.max() <= 0):
            return [(options.with_vote((member, vote), lowest), *self.no_cuts()) for lowest in (True, False)]
        maximum = int(contest.convex[by_maximum.argmax()])
        scores, slopes = values[member, maximum], node.votes.pieces.slopes[member, maximum]
        second, first = scores.argsort()[-2:]
        at_row = node.votes.values[member, maximum]
        side, offset = (slopes[first] - slopes[second])[None], np.array([at_row[second] - at_row[first]])
        numbers = np.arange(len(scores))
        place = (member, maximum)
        return [
            (options.with_pieces(place, options.pieces[place] & (numbers != second)), side, offset),
            (options.with_pieces(place, options.pieces[place] & (numbers != first)), -side, -offset),
        ]
