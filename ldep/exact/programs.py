"""The nearest point in L1 or Linf: a linear program, with integer variables where the domain has discrete features."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ldep.exact.deadline import Deadline, OutOfTime

STOPPED = 1  # the status of scipy for a program that was stopped by its time limit


def nearest_by_program(row, G: np.ndarray, h: np.ndarray, deadline: Deadline) -> np.ndarray | None:
    """The nearest u in L1 or Linf: a linear program, with integer variables where the row has discrete features.

    Variables: the rises p and the falls q with u = p - q; for Linf their common bound t; one integer per stepped
    feature; one binary per row of a choice's table.
    """
    low, high = row.low, row.high
    n, domain = len(low), row.domain
    size = np.linalg.norm(G, axis=1)
    if (h[size == 0] > 0).any():
        return None
    G, h = G[size > 0] / size[size > 0, None], h[size > 0] / size[size > 0]
    # The program is solved in units of the farthest half-space: HiGHS has absolute tolerances.
    unit = max(h.max(initial=0.0), 1e-300)
    if row.choices or row.stepped or np.isfinite(low).any() or np.isfinite(high).any():
        unit = 1.0
    h, low, high = h / unit, low / unit, high / unit
    lower = np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)])
    upper = np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)])
    cost = np.ones(2 * n)
    constraints = [(sparse.csr_array(np.hstack([G, -G])), h, np.full(len(h), np.inf))]
    integrality = np.zeros(2 * n)
    if domain.norm == "linf":
        identity = sparse.eye_array(n)
        block = sparse.hstack([-identity, -identity, np.ones((n, 1))])
        constraints[0] = (_widen(constraints[0][0], 1), h, constraints[0][2])
        constraints.append((block, np.zeros(n), np.full(n, np.inf)))
        lower, upper = np.append(lower, 0.0), np.append(upper, np.inf)
        cost, integrality = np.append(np.zeros(2 * n), 1.0), np.append(integrality, 0)
    blocks = _discrete_blocks(row)
    for matrix, left, right, kind in blocks:
        extra = matrix.shape[1] - 2 * n
        width = len(cost)
        constraints = [(_widen(A, extra), a, b) for A, a, b in constraints]
        parts = [matrix[:, : 2 * n], sparse.csr_array((matrix.shape[0], width - 2 * n)), matrix[:, 2 * n :]]
        constraints.append((sparse.hstack(parts), left, right))
        lower = np.append(lower, np.full(extra, 0.0 if kind == "choice" else -np.inf))
        upper = np.append(upper, np.full(extra, 1.0 if kind == "choice" else np.inf))
        cost, integrality = np.append(cost, np.zeros(extra)), np.append(integrality, np.ones(extra))
    options = {"mip_rel_gap": 1e-9} if integrality.any() else {}
    if integrality.any() and np.isfinite(deadline.left):
        options["time_limit"] = max(deadline.left, 1e-3)
    done = milp(
        cost,
        integrality=integrality if integrality.any() else None,
        bounds=Bounds(lower, upper),
        constraints=[LinearConstraint(A, a, b) for A, a, b in constraints],
        options=options,
    )
    if done.status == STOPPED:
        raise OutOfTime
    if done.x is None or not done.success:
        return None
    return (done.x[:n] - done.x[n : 2 * n]) * unit


def _widen(A, extra: int):
    return sparse.hstack([A, sparse.csr_array((A.shape[0], extra))])


def _discrete_blocks(row) -> list[tuple]:
    """Equations between p, q and new integer variables: (matrix, left, right, kind)."""
    n = len(row.low)
    blocks = []
    for k, unit in row.stepped:
        equation = np.zeros((1, 2 * n + 1))
        equation[0, k], equation[0, n + k], equation[0, -1] = 1.0, -1.0, -unit
        blocks.append((sparse.csr_array(equation), np.zeros(1), np.zeros(1), "step"))
    for at, values in row.choices:
        equation = np.zeros((len(at) + 1, 2 * n + len(values)))
        equation[np.arange(len(at)), at], equation[np.arange(len(at)), n + at] = 1.0, -1.0
        equation[:-1, 2 * n :] = -values.T
        equation[-1, 2 * n :] = 1.0
        right = np.zeros(len(at) + 1)
        right[-1] = 1.0
        blocks.append((sparse.csr_array(equation), right, right, "choice"))
    return blocks
