"""The shortest vector that satisfies linear inequalities.

The dual of this least-distance problem is a nonnegative least-squares problem [1]_.

.. [1] C. L. Lawson and R. J. Hanson, "Solving least squares problems", 1974, chapter 23 (problem LDP).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

# A constraint, normalised to slope 1, holds if it is violated by at most this share of the distance.
FEASIBLE = 1e-9
# The dual of an infeasible problem has this residual or less: its answer would be longer than 1 / EMPTY.
EMPTY = 1e-9


def nearest_l2(G: np.ndarray, h: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """The shortest u with G u >= h and low <= u <= high, or None."""
    fixed = high - low <= 1e-12
    if fixed.any():
        return _with_fixed(G, h, low, high, fixed)
    size = np.sqrt(np.einsum("ij,ij->i", G, G))
    if (size == 0).any():
        if (h[size == 0] > 0).any():
            return None
        G, h, size = G[size > 0], h[size > 0], size[size > 0]
    G, h = G / size[:, None], h / size
    sides = np.concatenate([low, -high])
    # Bounds are added when they are violated: few of them ever are.
    added = sides > 0
    identity = np.eye(len(low))
    for _ in range(len(sides) + 1):
        rows = np.flatnonzero(added)
        signs = np.where(rows < len(low), 1.0, -1.0)
        answer = shortest(np.vstack([G, signs[:, None] * identity[rows % len(low)]]), np.concatenate([h, sides[rows]]))
        if answer is None:
            return None
        u = answer
        violated = sides > np.concatenate([u, -u]) + FEASIBLE * max(1e-3, np.abs(u).max())
        if not (violated & ~added).any():
            return u
        added |= violated
    return u


def _with_fixed(G, h, low, high, fixed: np.ndarray) -> np.ndarray | None:
    """The same, where the bounds of some coordinates are equal."""
    u = np.where(fixed, low, 0.0)
    if fixed.all():
        return u if (G @ u >= h - FEASIBLE * (1.0 + np.abs(h))).all() else None
    rest = nearest_l2(G[:, ~fixed], h - G @ u, low[~fixed], high[~fixed])
    if rest is None:
        return None
    u[~fixed] = rest
    return u


def shortest(G: np.ndarray, h: np.ndarray) -> np.ndarray | None:
    """The shortest u with G u >= h, for rows of length 1; None if there is none."""
    n = G.shape[1]
    farthest = h.max(initial=0.0)
    if farthest <= 0:
        return np.zeros(n)
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
    return u
