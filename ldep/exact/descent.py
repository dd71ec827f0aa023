"""Near rows whose weighted votes reach a threshold, found by descent, and the cutting planes that each step solves.

With one piece of each member fixed, the nearest row is a convex problem. It is solved by cutting planes, each a
projection onto a few half-spaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from ldep.exact.deadline import Deadline
from ldep.exact.discrete import is_allowed, rounded_box
from ldep.exact.projection import Row
from ldep.exact.relaxation import Bounds, Votes
from ldep.exact.where import Box

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
    """The best row so far, and how a nearer one is found without a proof.

    Parameters
    ----------
    row : Row
        The row with its domain.
    votes : Votes
        The votes around it.
    weights : ndarray of shape (n_members,)
        Their weights.
    threshold : float
        What their weighted sum has to reach.
    time_limit : float
        Seconds.
    """

    def __init__(self, row: Row, votes: Votes, weights: np.ndarray, threshold: float, time_limit: float):
        self.row, self.votes, self.weights, self.threshold = row, votes, weights, threshold
        self.all_votes, self.clip = votes, votes.members.clip
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
        return np.array(
            [self.weights @ np.clip(self.all_votes.at(u, options)[1], -self.clip, self.clip) for u in points]
        )

    def length(self, u: np.ndarray) -> float:
        return float(np.linalg.norm(u, ord={"l2": 2, "l1": 1, "linf": np.inf}[self.row.domain.norm]))

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
            fixed = self.all_votes.fixed(scores.argmax(axis=1), (lead < -self.clip) & lowest)
            answer = self.solve(fixed, box, *self.no_cuts(), limit=200)
            if answer is not None and answer.reached and not is_allowed(self.row, answer.u):
                box = rounded_box(self.row, box, answer.u)
                answer = self.solve(fixed, box, *self.no_cuts(), limit=200)
            if answer is None or not answer.reached:
                return
            improved = self.offer(answer.u)
            if lowest and not improved:
                return
            u, lowest = answer.u, bool(np.isfinite(self.clip))

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
                box = unchanged[0].copy(), unchanged[1].copy()
                box[0][at] = box[1][at] = value
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
                self.descend(points[values.argmax()], lowest=bool(np.isfinite(self.clip)))
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
