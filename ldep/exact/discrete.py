"""The nearest point in L2 with integer features and categories: branch on them until the relaxed answer is allowed."""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np

from ldep.exact.domain import Choice
from ldep.exact.least_distance import nearest_l2

# Difference from a whole number of steps that is rounding.
WHOLE = 1e-7


def nearest_discrete_l2(row, G: np.ndarray, h: np.ndarray, cutoff: float) -> np.ndarray | None:
    """The same with integer features and categories: branch on them until the relaxed answer is allowed."""
    order = count()
    relaxed = nearest_l2(G, h, row.low, row.high)
    heap = []
    if relaxed is not None:
        heap.append((np.linalg.norm(relaxed), next(order), row.low, row.high, relaxed))
    while heap:
        length, _, low, high, u = heapq.heappop(heap)
        if length >= cutoff:
            return None
        boxes = _children(row, low, high, u)
        if not boxes:
            return u
        for child_low, child_high in boxes:
            if (child_low > child_high).any():
                continue
            answer = nearest_l2(G, h, child_low, child_high)
            if answer is not None:
                heapq.heappush(heap, (np.linalg.norm(answer), next(order), child_low, child_high, answer))
    return None


def _children(row, low: np.ndarray, high: np.ndarray, u: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Smaller boxes that together contain every allowed point; none if u is allowed."""
    domain, place = row.domain, {column: k for k, column in enumerate(row.free)}
    for choice in domain.choices:
        movable = [k for k, column in enumerate(choice.columns) if column in place]
        if not movable:
            continue
        at = np.array([place[choice.columns[k]] for k in movable])
        if (high[at] - low[at] <= 1e-12).all():
            continue
        boxes = []
        for values in allowed_rows(row, choice):
            step = (values[movable] - row.x[choice.columns[movable]]) / domain.scale[choice.columns[movable]]
            if (step < low[at] - WHOLE).any() or (step > high[at] + WHOLE).any():
                continue
            child_low, child_high = low.copy(), high.copy()
            child_low[at] = child_high[at] = step
            boxes.append((child_low, child_high))
        return boxes or [(np.full_like(low, 1.0), np.full_like(low, -1.0))]
    for column in np.flatnonzero((domain.steps > 0) & ~domain.frozen):
        k = place[column]
        unit = domain.steps[column] / domain.scale[column]
        multiple = u[k] / unit
        if abs(multiple - np.rint(multiple)) <= WHOLE:
            continue
        below_high, above_low = high.copy(), low.copy()
        below_high[k] = min(high[k], np.floor(multiple) * unit)
        above_low[k] = max(low[k], np.ceil(multiple) * unit)
        return [(low, below_high), (above_low, high)]
    return []


def allowed_rows(row, choice: Choice) -> np.ndarray:
    """The rows of a choice's table that agree with the frozen columns of the row."""
    frozen = row.domain.frozen[choice.columns]
    table = choice.table
    same = np.isclose(table[:, frozen], row.x[choice.columns[frozen]], rtol=1e-6, atol=1e-6).all(axis=1)
    return table[same]
