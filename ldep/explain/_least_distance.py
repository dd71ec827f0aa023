"""The nearest point in L2 with linear inequalities, and in any norm where features have to be branched on.

Integer features, choices and the number of columns that change are branched on: a branch is a smaller box.

The dual of the least-distance problem without discrete features is a nonnegative least-squares problem [1]_.

.. [1] C. L. Lawson and R. J. Hanson, "Solving least squares problems", 1974, chapter 23 (problem LDP).
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls


class OutOfTime(Exception):
    """A projection was stopped by the time limit, so that nothing is known about it."""


@dataclass(frozen=True)
class Deadline:
    """The time at which a search stops, as `time.perf_counter` counts it."""

    at: float = np.inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.at - time.perf_counter()

    def check(self) -> None:
        """Raise OutOfTime if the time is over."""
        if self.left <= 0:
            raise OutOfTime


class Box(NamedTuple):
    """The points between two others. `levers` are the numbers of columns that count as changed, whether they do or not.

    Where these are as many as may change, the box leaves no room to the other columns.
    """

    low: np.ndarray
    high: np.ndarray
    levers: frozenset[int] = frozenset()

    @property
    def empty(self) -> bool:
        return bool((self.low > self.high).any())


# How often the coordinates of a box are shrunk, and what rounding may cost.
PASSES = 2
ROUNDING = 1e-9


@dataclass(frozen=True)
class Cap:
    """The part of the ball |v| <= radius with v . axis >= height, where axis has length 1, or is 0 for the whole ball.

    In L2, let u be the projection of 0 onto a convex set. All v in the set have v . u >= |u|^2, so that those nearer
    than the radius are in the cap with the axis u / |u| and the height |u|. It shrinks as the lower bound |u| rises.
    """

    radius: float
    axis: np.ndarray
    height: float = 0.0

    @property
    def squared_rim(self) -> float:
        """The square of the radius of the disc that cuts the cap off."""
        return max(self.radius**2 - self.height**2, 0.0)

    def rise(self, norm: np.ndarray, along: np.ndarray) -> np.ndarray:
        """The largest value in the cap of linear functions with these dual norms and these slopes along the axis."""
        across = np.sqrt(np.maximum(norm**2 - along**2, 0.0))
        rim = along * self.height + across * np.sqrt(self.squared_rim)
        return np.where(along * self.radius >= self.height * norm, self.radius * norm, rim)

    def box(self) -> Box:
        """The smallest box that contains the cap."""
        one = np.ones(len(self.axis))
        return Box(-self.rise(one, -self.axis), self.rise(one, self.axis))


@dataclass(frozen=True)
class Where:
    """Where better rows can be: in a cap, and in a box if there is one. `rise` takes slopes only for the box."""

    cap: Cap
    box: Box | None = None

    def rise(self, slopes: np.ndarray | None, norm: np.ndarray, along: np.ndarray) -> np.ndarray:
        """A bound of linear functions with these slopes, dual norms, and slopes along the axis of the cap."""
        in_cap = self.cap.rise(norm, along)
        if self.box is None or slopes is None:
            return in_cap
        low, high, _ = self.box
        return np.minimum(in_cap, slopes @ ((low + high) / 2.0) + np.abs(slopes) @ ((high - low) / 2.0))


def shrunk(box: Box, G: np.ndarray, h: np.ndarray) -> Box:
    """A smaller box that contains all points of the box with G u >= h: what each row leaves to each coordinate."""
    low, high, levers = box
    for _ in range(PASSES):
        most = np.maximum(G * low, G * high)
        others = most.sum(axis=1)[:, None] - most
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = (h[:, None] - others) / G
        low = np.maximum(low, np.where(G > 0, limit, -np.inf).max(axis=0, initial=-np.inf))
        high = np.minimum(high, np.where(G < 0, limit, np.inf).min(axis=0, initial=np.inf))
    slack = ROUNDING * (1.0 + np.abs(low) + np.abs(high))
    return Box(low - slack, high + slack, levers)


# A constraint, normalised to slope 1, holds if it is violated by at most this share of the distance.
FEASIBLE = 1e-9
# The dual of an infeasible problem has this residual or less: its answer would be longer than 1 / EMPTY.
EMPTY = 1e-9


class Projection(NamedTuple):
    """The shortest u, and multipliers of the inequalities: without its bounds, u is half of their weighted sum."""

    u: np.ndarray
    multipliers: np.ndarray


def nearest_l2(G: np.ndarray, h: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """The shortest u with G u >= h and low <= u <= high, or None."""
    projection = projected(G, h, low, high)
    return None if projection is None else projection.u


def projected(G: np.ndarray, h: np.ndarray, low: np.ndarray, high: np.ndarray) -> Projection | None:
    """The same with its multipliers."""
    fixed = high - low <= 1e-12
    if fixed.any():
        return _with_fixed(G, h, low, high, fixed)
    size = np.sqrt(np.einsum("ij,ij->i", G, G))
    kept = size > 0
    if not kept.all():
        if (h[~kept] > 0).any():
            return None
        G, h = G[kept], h[kept]
    G, h = G / size[kept, None], h / size[kept]
    multipliers = np.zeros(len(size))
    sides = np.concatenate([low, -high])
    # Bounds are added when they are violated: few of them ever are.
    added = sides > 0
    identity = np.eye(len(low))
    while True:
        rows = np.flatnonzero(added)
        signs = np.where(rows < len(low), 1.0, -1.0)
        answer = shortest(np.vstack([G, signs[:, None] * identity[rows % len(low)]]), np.concatenate([h, sides[rows]]))
        if answer is None:
            return None
        u = answer.u
        violated = sides > np.concatenate([u, -u]) + FEASIBLE * np.abs(u).max(initial=0.0)
        if not (violated & ~added).any():
            multipliers[kept] = answer.multipliers[: len(h)] / size[kept]
            return Projection(u, multipliers)
        added |= violated


def _with_fixed(G, h, low, high, fixed: np.ndarray) -> Projection | None:
    """The same, where the bounds of some coordinates are equal."""
    u = np.where(fixed, low, 0.0)
    if fixed.all():
        none = Projection(u, np.zeros(len(h)))
        return none if (G @ u >= h - FEASIBLE * (1.0 + np.abs(h))).all() else None
    rest = projected(G[:, ~fixed], h - G @ u, low[~fixed], high[~fixed])
    if rest is None:
        return None
    u[~fixed] = rest.u
    return Projection(u, rest.multipliers)


def shortest(G: np.ndarray, h: np.ndarray) -> Projection | None:
    """The shortest u with G u >= h, for rows of length 1; None if there is none."""
    n = G.shape[1]
    farthest = h.max(initial=0.0)
    if farthest <= 0:
        return Projection(np.zeros(n), np.zeros(len(h)))
    # In units of the farthest half-space the answer has a length of at least 1.
    unit = h / farthest
    target = np.zeros(n + 1)
    target[n] = 1.0
    try:
        multipliers, residual = nnls(np.vstack([G.T, unit]), target)
    except RuntimeError:
        # Nearly dependent rows can make the active set cycle. A tiny perturbation separates them.
        noise = 1e-10 * np.random.default_rng(0).normal(size=G.shape)
        multipliers, residual = nnls(np.vstack([(G + noise).T, unit]), target)
    if residual <= EMPTY:
        return None
    last = 1.0 - unit @ multipliers
    if last <= 0:
        return None
    u = farthest * (G.T @ multipliers) / last
    violation = (h - G @ u).max()
    if violation > FEASIBLE * max(farthest, np.abs(u).max()):
        active = multipliers > 0
        u = np.linalg.lstsq(G[active], h[active], rcond=None)[0]
        if (h - G @ u).max() > 1e-6 * max(farthest, np.abs(u).max()):
            return None
    return Projection(u, 2.0 * farthest / last * multipliers)


# Difference from a whole number of steps, or from a category, that is rounding.
WHOLE = 1e-7


def nearest_discrete(row, G: np.ndarray, h: np.ndarray, cutoff: float, deadline: Deadline) -> np.ndarray | None:
    """The nearest allowed u with G u >= h: branch until the relaxed answer is allowed."""
    order = count()
    heap: list[tuple[float, int, Box, np.ndarray]] = []

    def push(box: Box) -> None:
        relaxed = row.relaxed(G, h, box)
        if relaxed is not None and relaxed.lower < cutoff:
            heapq.heappush(heap, (relaxed.lower, next(order), box, relaxed.u))

    push(row.box)
    while heap:
        length, _, box, u = heapq.heappop(heap)
        if length >= cutoff:
            return None
        if is_allowed(row, u):
            return u
        deadline.check()
        for smaller in smaller_boxes(row, box, u):
            push(smaller)
    return None


def is_allowed(row, u: np.ndarray) -> bool:
    """Whether the discrete features have allowed values at u, and no more columns change than may."""
    return _farthest_choice(row, u) is None and _fractional_step(row, u) is None and not _has_too_many(row, u)


def smaller_boxes(row, box: Box, u: np.ndarray) -> list[Box]:
    """Smaller boxes without u, which is not allowed, that together contain every allowed point of the box."""
    if _has_too_many(row, u):
        return _with_fewer_changes(row, box, u)
    choice = _farthest_choice(row, u)
    if choice is not None:
        return _values_of_choice(row, box, choice)
    stepped = _fractional_step(row, u)
    if stepped is None:
        return []
    k, unit = row.stepped[stepped]
    return _parts(box, k, np.floor(u[k] / unit) * unit, np.ceil(u[k] / unit) * unit)


def halves(row, box: Box, k: int, middle: float) -> list[Box]:
    """Parts of the box that divide its coordinate k near the middle and contain every allowed point of the box."""
    for choice, (at, _) in enumerate(row.choices):
        if k in at:
            return _values_of_choice(row, box, choice)
    unit = dict(row.stepped).get(k)
    if unit is None:
        return _parts(box, k, middle, middle)
    below = np.floor(middle / unit) * unit
    return _parts(box, k, below, below + unit)


def _values_of_choice(row, box: Box, choice: int) -> list[Box]:
    """One part of the box for each value that it leaves to a choice."""
    at, values = row.choices[choice]
    possible = ((values >= box.low[at] - WHOLE) & (values <= box.high[at] + WHOLE)).all(axis=1)
    return [fixed_at(box, at, value) for value in values[possible]]


def _parts(box: Box, k: int, below: float, above: float) -> list[Box]:
    """The parts of the box whose coordinate k is at most `below` or at least `above`, without empty ones."""
    low, high = box.low.copy(), box.high.copy()
    low[k], high[k] = max(low[k], above), min(high[k], below)
    parts = Box(box.low, high, box.levers), Box(low, box.high, box.levers)
    return [part for part in parts if part.low[k] <= part.high[k]]


def _sizes_of_changes(row, u: np.ndarray) -> np.ndarray:
    return np.array([np.abs(u[at]).max() for at in row.columns])


def _has_too_many(row, u: np.ndarray) -> bool:
    """Whether more columns change at u than may."""
    return row.max_changes is not None and int((_sizes_of_changes(row, u) > 0).sum()) > row.max_changes


def _with_fewer_changes(row, box: Box, u: np.ndarray) -> list[Box]:
    """The first column that changes most stays as it is; or it counts as changed, and the second one stays; and so on.

    The last part has all the levers that there may be, and every other column stays as it is.
    """
    order = [c for c in np.argsort(-_sizes_of_changes(row, u), kind="stable").tolist() if c not in box.levers]
    places = row.max_changes - len(box.levers)
    parts = [unchanged(row, box._replace(levers=box.levers | set(order[:i])), [order[i]]) for i in range(places)]
    parts.append(unchanged(row, box._replace(levers=box.levers | set(order[:places])), order[places:]))
    return [part for part in parts if not part.empty]


def unchanged(row, box: Box, columns) -> Box:
    """The part of a box in which these columns stay as they are."""
    low, high = box.low.copy(), box.high.copy()
    for column in columns:
        at = row.columns[column]
        low[at], high[at] = np.maximum(low[at], 0.0), np.minimum(high[at], 0.0)
    return Box(low, high, box.levers)


def rounded_box(row, box: Box, u: np.ndarray) -> Box:
    """The part of a box in which each discrete feature has one allowed value, near u, and not too many columns change.

    A choice that changes at all at u changes in it: less than a whole change is usually not enough.
    """
    if _has_too_many(row, u):
        order = np.argsort(-_sizes_of_changes(row, u), kind="stable").tolist()
        box = unchanged(row, box, order[row.max_changes :])
        u = np.clip(u, np.minimum(box.low, box.high), box.high)
    for at, values in row.choices:
        distance = np.abs(values - u[at]).max(axis=1)
        if np.abs(u[at]).max() > WHOLE and len(values) > 1:
            distance[np.abs(values).max(axis=1) <= WHOLE] = np.inf
        box = fixed_at(box, at, values[distance.argmin()])
    for k, unit in row.stepped:
        away = np.ceil(np.abs(u[k] / unit) - WHOLE) * np.sign(u[k]) * unit
        box = fixed_at(box, np.array([k]), np.array([np.clip(away, row.low[k], row.high[k])]))
    return box


def fixed_at(box: Box, at: np.ndarray, values: np.ndarray) -> Box:
    low, high = box.low.copy(), box.high.copy()
    low[at] = high[at] = values
    return Box(low, high, box.levers)


def _farthest_choice(row, u: np.ndarray) -> int | None:
    """The choice whose coordinates are farthest from all of its values; None if all have one."""
    distances = [np.abs(values - u[at]).max(axis=1).min(initial=np.inf) for at, values in row.choices]
    if not distances or max(distances) <= WHOLE:
        return None
    return int(np.argmax(distances))


def _fractional_step(row, u: np.ndarray) -> int | None:
    """The first integer feature that does not change by a whole number of steps."""
    for number, (k, unit) in enumerate(row.stepped):
        if abs(u[k] / unit - np.rint(u[k] / unit)) > WHOLE:
            return number
    return None
