"""Which pieces and conditions are never needed, decided by linear programs.

Nothing is dropped on the word of rounding: a piece goes only if it is below the others by more than the solver's
tolerance, or is equal to one of them bit for bit.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

# Tolerance of HiGHS for constraints, with some room.
TOLERANCE = 1e-6


def needed_pieces(slopes: np.ndarray, offsets: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Mask of the pieces that the maximum of slopes . x + offsets needs in the box low <= x <= high.

    A piece is dropped if another one is equal to it, or if it is nowhere the largest. Pieces are dropped one after the
    other, each compared with those that are left, so that the maximum stays the same function in the box.
    """
    table = np.column_stack([slopes, offsets])
    needed = np.zeros(len(table), dtype=bool)
    needed[np.unique(table, axis=0, return_index=True)[1]] = True
    for piece in np.flatnonzero(needed):
        others = needed.copy()
        others[piece] = False
        if others.any():
            A, b = slopes[piece] - slopes[others], offsets[piece] - offsets[others]
            needed[piece] = largest_slack(A, b, low, high) > -TOLERANCE
    return needed


def needed_conditions(A: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """Mask of the conditions A x + b >= 0 that the others do not imply in the box; None if they exclude each other."""
    if largest_slack(A, b, low, high) < -TOLERANCE:
        return None
    needed = np.zeros(len(b), dtype=bool)
    needed[np.unique(np.column_stack([A, b]), axis=0, return_index=True)[1]] = True
    for condition in np.flatnonzero(needed):
        others = needed.copy()
        others[condition] = False
        needed[condition] = _smallest(A[condition], b[condition], A[others], b[others], low, high) < TOLERANCE
    return needed


def largest_slack(A: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """The largest t <= 1 for which some x in the box has A x + b >= t |A| in every row."""
    size = np.maximum(np.linalg.norm(A, axis=1), 1e-12 * (1.0 + np.abs(b)))
    A, b = A / size[:, None], b / size
    n = A.shape[1]
    rows = LinearConstraint(np.column_stack([A, -np.ones(len(A))]), -b, np.inf)
    cost = np.append(np.zeros(n), -1.0)
    done = milp(cost, constraints=rows, bounds=Bounds(np.append(low, -np.inf), np.append(high, 1.0)))
    return float(done.x[-1]) if done.x is not None else 1.0


def _smallest(a, offset: float, A, b, low, high) -> float:
    """The smallest value of a . x + offset, in units of |a|, where A x + b >= 0 in the box, but at least -1."""
    size = max(float(np.linalg.norm(a)), 1e-300)
    n = len(a)
    rows = [LinearConstraint(np.append(-a / size, 1.0)[None], offset / size, np.inf)]
    if len(A):
        norms = np.maximum(np.linalg.norm(A, axis=1), 1e-300)
        rows.append(LinearConstraint(np.column_stack([A / norms[:, None], np.zeros(len(A))]), -b / norms, np.inf))
    cost = np.append(np.zeros(n), 1.0)
    done = milp(cost, constraints=rows, bounds=Bounds(np.append(low, -1.0), np.append(high, np.inf)))
    return float(done.x[-1]) if done.x is not None else -1.0
