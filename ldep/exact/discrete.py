"""Integer features and categories: the boxes into which they are branched, and the nearest point in L2."""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np

from ldep.exact.deadline import Deadline
from ldep.exact.least_distance import nearest_l2
from ldep.exact.where import Box

# Difference from a whole number of steps, or from a category, that is rounding.
WHOLE = 1e-7


def nearest_discrete_l2(row, G: np.ndarray, h: np.ndarray, cutoff: float, deadline: Deadline) -> np.ndarray | None:
    """The nearest allowed u with G u >= h: branch on the discrete features until the relaxed answer is allowed."""
    order = count()
    relaxed = nearest_l2(G, h, row.low, row.high)
    heap = []
    if relaxed is not None:
        heap.append((np.linalg.norm(relaxed), next(order), (row.low, row.high), relaxed))
    while heap:
        length, _, box, u = heapq.heappop(heap)
        if length >= cutoff:
            return None
        if is_allowed(row, u):
            return u
        deadline.check()
        for low, high in smaller_boxes(row, box, u):
            answer = nearest_l2(G, h, low, high)
            if answer is not None:
                heapq.heappush(heap, (np.linalg.norm(answer), next(order), (low, high), answer))
    return None


def is_allowed(row, u: np.ndarray) -> bool:
    """Whether the discrete features have allowed values at u."""
    return _farthest_choice(row, u) is None and _fractional_step(row, u) is None


def smaller_boxes(row, box: Box, u: np.ndarray) -> list[Box]:
    """Smaller boxes without u, which is not allowed, that together contain every allowed point of the box."""
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
    possible = ((values >= box[0][at] - WHOLE) & (values <= box[1][at] + WHOLE)).all(axis=1)
    return [_with_fixed(box, at, value) for value in values[possible]]


def _parts(box: Box, k: int, below: float, above: float) -> list[Box]:
    """The parts of the box whose coordinate k is at most `below` or at least `above`, without empty ones."""
    low, high = box[0].copy(), box[1].copy()
    low[k], high[k] = max(low[k], above), min(high[k], below)
    return [(left, right) for left, right in ((box[0], high), (low, box[1])) if left[k] <= right[k]]


def rounded_box(row, box: Box, u: np.ndarray) -> Box:
    """The part of a box in which each discrete feature has one allowed value, near u.

    A choice that changes at all at u changes in it: less than a whole change is usually not enough.
    """
    for at, values in row.choices:
        distance = np.abs(values - u[at]).max(axis=1)
        if np.abs(u[at]).max() > WHOLE and len(values) > 1:
            distance[np.abs(values).max(axis=1) <= WHOLE] = np.inf
        box = _with_fixed(box, at, values[distance.argmin()])
    for k, unit in row.stepped:
        away = np.ceil(np.abs(u[k] / unit) - WHOLE) * np.sign(u[k]) * unit
        box = _with_fixed(box, np.array([k]), np.array([np.clip(away, row.low[k], row.high[k])]))
    return box


def _with_fixed(box: Box, at: np.ndarray, values: np.ndarray) -> Box:
    low, high = box[0].copy(), box[1].copy()
    low[at] = high[at] = values
    return low, high


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
