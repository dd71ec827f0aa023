"""An interior-point method for the convex subproblem of the ℓ-DEP, with and without regularisation.

Fix for each sample k the piece *(k) at which the subtracted maximum is linearised. What is left is convex:

    minimise   sum_k c_k xi_k + alpha/2 ||slopes||^2
    subject to xi_k >= 0  and  s_kp = xi_k - 1 - (theta_p - theta_*(k)) . x~_k >= 0   for each piece p of the other group

with x~ = (x, 1): an LP for alpha = 0, a QP otherwise. Mehrotra's predictor-corrector method needs, in each step, the
solution of one linear system. Eliminating s and xi leaves a system in theta alone, with the matrix

    H = alpha I + sum_k S_k (x) x~_k x~_k^T.

The S_k are r x r, and x~_k x~_k^T never changes: H is one product of two matrices, of the stacked upper triangles.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ldep.pieces import LinearPieces
from ldep.problem import Problem

STEP_TO_BOUNDARY = 0.995
# Adding one affine function to every piece leaves tau alone, so that H is singular without a little help.
RIDGE = 1e-11


def work(problem: Problem) -> float:
    """Floating-point operations of one step of the method, to decide whether it is affordable."""
    m, n = problem.X.shape
    size = problem.pieces.size
    return 0.5 * m * size**2 + size**3 / 3


def solve_subproblem(
    problem: Problem, star: np.ndarray, *, tol: float = 1e-8, max_steps: int = 60
) -> tuple[np.ndarray, bool]:
    """theta at the optimum of the subproblem that linearises sample k at piece star[k], and whether it was reached."""
    pieces = problem.pieces
    assert isinstance(pieces, LinearPieces)
    r1, R, N = pieces.r1, pieces.r1 + pieces.r2, pieces.n + 1
    m = len(problem.X)
    X = np.hstack([problem.X, np.ones((m, 1))])
    c = problem.weight
    # group[p, k]: is p one of the pieces whose scores bound sample k from above?
    is_dilation = np.arange(R) < r1
    group = is_dilation[:, None] == (problem.y < 0)[None, :]
    count = group.sum(axis=0)
    columns = np.arange(m)
    rows_of, columns_of = np.triu_indices(N)
    products = X[:, rows_of] * X[:, columns_of]
    upper = np.triu_indices(R)

    def gap(theta: np.ndarray) -> np.ndarray:
        """(theta_p - theta_*) . x~ for each piece of the group, 0 elsewhere."""
        scores = theta @ X.T
        return np.where(group, scores - scores[star, columns], 0.0)

    def adjoint(Q: np.ndarray) -> np.ndarray:
        """sum_kp Q_kp times the gradient of gap_kp."""
        G = Q.copy()
        G[star, columns] -= Q.sum(axis=0)
        return G @ X

    penalty = np.full((R, N), problem.alpha)
    penalty[:, -1] = 0.0

    theta = np.zeros((R, N))
    xi = np.full(m, 2.0)
    s = np.where(group, 1.0, 1.0)
    z = np.where(group, c / (count + 1), 0.0)
    eta = c / (count + 1)
    scale = max(1.0, float(c.sum()))

    for _ in range(max_steps):
        r_primal = np.where(group, xi - 1.0 - gap(theta) - s, 0.0)
        r_xi = c - z.sum(axis=0) - eta
        r_theta = penalty * theta + adjoint(z)
        complementarity = float(np.sum(z * s) + xi @ eta)
        mu = complementarity / (count.sum() + m)
        infeasibility = max(np.abs(r_primal).max(), np.abs(r_xi).max(), np.abs(r_theta).max() / scale)
        if complementarity <= tol * (1.0 + c @ xi) and infeasibility <= 1e3 * tol:
            return theta.ravel(), True

        D = z / s
        d = D.sum(axis=0)
        E = d + eta / xi
        f = D.copy()
        f[star, columns] = -d
        # S_k = diag(D) + d e* e*^T - D e*^T - e* D^T - f f^T / E, upper triangles only, one row a pair of pieces.
        S = -(f / E)[upper[0]] * f[upper[1]]
        diagonal = upper[0] == upper[1]
        full = D.copy()
        full[star, columns] = d
        S[diagonal] += full
        cross = np.where(
            is_dilation[upper[0]] & ~is_dilation[upper[1]],
            0,
            -1,
        )
        for row in np.flatnonzero(cross == 0):
            p, q = upper[0][row], upper[1][row]
            S[row] -= np.where(star == q, D[p], 0.0) + np.where(star == p, D[q], 0.0)
        blocks = S @ products
        H = np.zeros((R, N, R, N))
        for row, (p, q) in enumerate(zip(*upper)):
            H[p, rows_of, q, columns_of] = blocks[row]
            H[p, columns_of, q, rows_of] = blocks[row]
            H[q, :, p, :] = H[p, :, q, :]
        H = H.reshape(R * N, R * N)
        H[np.diag_indices(R * N)] += penalty.ravel() + RIDGE * (1.0 + np.abs(np.diag(H)))
        try:
            factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return theta.ravel(), False

        def direction(rc: np.ndarray, rh: np.ndarray):
            """The Newton step for the targets s z + rc and xi eta + rh of the two products."""
            inner = np.where(group, rc / s - D * r_primal, 0.0)
            t = inner.sum(axis=0) + rh / xi - r_xi
            rhs = -r_theta - adjoint(inner - D * (t / E))
            d_theta = cho_solve(factor, rhs.ravel(), check_finite=False).reshape(R, N)
            step = gap(d_theta)
            d_xi = ((D * step).sum(axis=0) + t) / E
            d_s = np.where(group, d_xi - step + r_primal, 0.0)
            d_z = np.where(group, rc / s - D * d_s, 0.0)
            d_eta = (rh - eta * d_xi) / xi
            return d_theta, d_xi, d_s, d_z, d_eta

        def longest(*pairs) -> float:
            length = 1.0
            for value, change in pairs:
                shrinking = change < 0
                if shrinking.any():
                    length = min(length, float(np.min(-value[shrinking] / change[shrinking])))
            return length

        _, d_xi, d_s, d_z, d_eta = direction(np.where(group, -s * z, 0.0), -xi * eta)
        primal = longest((s, d_s), (xi, d_xi))
        dual = longest((z, d_z), (eta, d_eta))
        affine = float(
            np.sum(np.where(group, (s + primal * d_s) * (z + dual * d_z), 0.0))
            + (xi + primal * d_xi) @ (eta + dual * d_eta)
        )
        sigma = (affine / complementarity) ** 3
        target = sigma * mu
        rc = np.where(group, target - s * z - d_s * d_z, 0.0)
        rh = target - xi * eta - d_xi * d_eta
        d_theta, d_xi, d_s, d_z, d_eta = direction(rc, rh)
        primal = min(1.0, STEP_TO_BOUNDARY * longest((s, d_s), (xi, d_xi)))
        dual = min(1.0, STEP_TO_BOUNDARY * longest((z, d_z), (eta, d_eta)))
        if problem.alpha > 0:  # a QP's dual residual holds theta: one step length for both.
            primal = dual = min(primal, dual)
        theta = theta + primal * d_theta
        xi, s = xi + primal * d_xi, s + primal * d_s
        z, eta = z + dual * d_z, eta + dual * d_eta
    return theta.ravel(), False
