"""A box at an answer in which every row flips: "any charge of at most 40 will do".

The answer lies on the border of its class. From there on, its numbers may go on in the direction in which they changed,
as long as a search proves that the box has no row of a class that is avoided. All columns first move on together, as
far as the distance of the nearest such row allows, and then one after the other.
"""

from __future__ import annotations

import numpy as np

from ldep.explain._counterfactual import Question, radii
from ldep.explain._domain import Domain
from ldep.explain._least_distance import Deadline
from ldep.explain._regions import has_regions

# Where one column moves on alone, the others count so little that their whole ranges are shorter than this share of it.
ALONE = 1e-3
# What one column must add to count, as a share of the widest other column.
LITTLE = 1e-2
# Share of the way that is given up: a box that touches the border takes the search long to prove.
SAFE = 1e-3
# How far beyond the answer the box begins, in shares of its changes: sums count as reached a little before they are.
BEGINNINGS = (1e-6, 1e-4)


def box_of_answer(
    question: Question, x: np.ndarray, z: np.ndarray, avoided: np.ndarray, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of a box at the answer z for the row x, without any row of the classes that are avoided.

    Only numbers that changed have room.
    """
    numeric = np.flatnonzero((z != x) & question.domain.continuous)
    stepped = (z != x) & (question.domain.steps > 0) & ~question.domain.frozen
    free = np.union1d(numeric, np.flatnonzero(stepped)).astype(int)
    growth = _Growth(question, x, z, free, avoided, deadline)
    beginnings = (0.0, *BEGINNINGS) if has_regions(question.model) else BEGINNINGS
    for share in beginnings if len(free) else ():
        start = z.copy()
        start[numeric] += share * (z - x)[numeric]
        ends = growth.from_start(growth.clipped(start))
        if ends is not None:
            return ends
    return z.copy(), z.copy()


class _Growth:
    """How far the free numbers of an answer go on in their directions."""

    def __init__(self, question: Question, x, z: np.ndarray, free: np.ndarray, avoided: np.ndarray, deadline: Deadline):
        self.avoided = avoided
        self.question = question._replace(margin=0.0, probability=None)
        self.domain, self.free, self.deadline = question.domain, free, deadline
        self.ways, self.sizes = np.sign(z - x), np.abs(z - x) / question.domain.scale
        outer = np.where(self.ways > 0, np.maximum(self.domain.upper, z), np.minimum(self.domain.lower, z))
        self.outer = z.copy()
        self.outer[free] = outer[free]

    def clipped(self, z: np.ndarray) -> np.ndarray:
        """The point, but not beyond the bounds."""
        return np.where(self.ways > 0, np.minimum(z, self.outer), np.where(self.ways < 0, np.maximum(z, self.outer), z))

    def from_start(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The ends of the box that begins there; None if no column has room that is proven."""
        together = self.reach(start, self.outer, self.domain.scale, len(self.free) + 1)
        ends = start.copy()
        if together > 0:
            # A box in a ball of this radius.
            length = together / np.sqrt(len(self.free)) * self.domain.scale[self.free]
            ends[self.free] += self.ways[self.free] * length
            ends = self.clipped(ends)
        order = self.free[np.argsort(-self.sizes[self.free], kind="stable")]
        for place, column in enumerate(order.tolist()):
            ends[column] = self.alone(start, ends, column, len(order) - place)
        proven = self.reach(start, ends, self.domain.scale, 1) / np.sqrt(len(self.free))
        if np.isfinite(proven):
            nearer = self.clipped(start + self.ways * proven * self.domain.scale)
            ends = np.where(self.ways > 0, np.minimum(ends, nearer), np.maximum(ends, nearer))
        steps = self.domain.steps
        for column in np.flatnonzero((steps > 0) & np.isfinite(ends)).tolist():
            ends[column] = start[column] + np.trunc((ends[column] - start[column]) / steps[column]) * steps[column]
        if (ends == start).all():
            return None
        return np.minimum(start, ends), np.maximum(start, ends)

    def alone(self, start: np.ndarray, ends: np.ndarray, column: int, searches_left: int) -> float:
        """Where one column may end if the others keep their ends."""
        widths, scale = np.abs(ends - start), self.domain.scale[column]
        others = np.delete(widths, column)
        if ends[column] == self.outer[column] or not np.isfinite(others).all():
            return float(ends[column])
        known = max(widths[column] / scale, LITTLE * np.max(others / np.delete(self.domain.scale, column), initial=0.0))
        known = known if known > 0 else self.sizes[column]
        scales = np.where(widths > 0, widths, 1.0) / (ALONE * known / np.sqrt(len(widths)))
        scales[column] = scale
        wider = ends.copy()
        wider[column] = self.outer[column]
        length = self.reach(start, wider, scales, searches_left)
        if length <= known:
            return float(ends[column])
        length = np.sqrt(length**2 - (ALONE * known) ** 2) if np.isfinite(length) else length
        ends = start.copy()
        ends[column] += self.ways[column] * length * scale
        return float(self.clipped(ends)[column])

    def reach(self, start: np.ndarray, ends: np.ndarray, scale: np.ndarray, searches_left: int) -> float:
        """Up to which distance no row between two others has a class that is avoided, or violates a constraint."""
        frozen = start == ends
        if frozen.all():
            return 0.0
        low, high = np.minimum(start, ends), np.maximum(start, ends)
        plain = Domain("l2", scale, frozen, low, high, np.zeros(len(start)), names=self.domain.names)
        seconds = max(self.deadline.left / searches_left, 1e-3)
        question = self.question._replace(domain=plain, time_limit=seconds)
        radius = float(radii(question, start[None], self.avoided[None])[0])
        return min(radius * (1.0 - SAFE), self.allowed(start, ends, scale))

    def allowed(self, start: np.ndarray, ends: np.ndarray, scale: np.ndarray) -> float:
        """Up to which distance all rows between two others satisfy the linear constraints."""
        linear = self.domain.linear
        if linear is None:
            return np.inf
        moving = start != ends
        way = np.where(moving, np.sign(ends - start), 0.0)
        rise = np.maximum(linear.matrix * way, 0.0)[:, moving]
        room = np.maximum(linear.limits - linear.matrix @ start, 0.0)
        crossed = rise @ np.abs(ends - start)[moving] > room
        slopes = np.linalg.norm(rise[crossed] * scale[moving], axis=1)
        return float((room[crossed] / slopes).min(initial=np.inf))
