"""The convex case of two classes and one piece per maximum: an interior-point method for the linear SVC.

With one piece each tau(x) = w . x + b with w = w_1 - m_1 and b = c_1 - d_1. For a given w the penalty is least where
w_1 = -m_1 = w / 2, so the training problem is

    minimise   sum_k s_k xi_k + 1/4 sum_j ridge_j w_j^2
    subject to xi_k >= 0  and  t_k = xi_k - 1 + y_k (w . x_k + b) >= 0.

`_interior` solves it too, with twice the variables and a table of products of features. Here a step of Mehrotra's
method is one product of matrices, X^T diag(h) X.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ldep.pieces import LinearPieces
from ldep.problem import Problem
from ldep.solvers._interior import REGULARISATION, TO_BOUNDARY, _length


def step_flops(problem: Problem[LinearPieces]) -> float:
    """Floating-point operations of one step, to tell whether the method is affordable."""
    n = problem.X.shape[1] + 1
    return len(problem.X) * n**2 + n**3 / 3


def solve(problem: Problem[LinearPieces], *, tol: float = 1e-8, max_steps: int = 150) -> tuple[np.ndarray, int, bool]:
    """Solve the training problem of a model with one piece per maximum.

    Parameters
    ----------
    problem : Problem
        The training problem; it has two groups of one piece each.
    tol : float, default=1e-8
        Largest gap between the objective and its lower bound, relative to the objective plus 1.
    max_steps : int, default=150
        Largest number of steps.

    Returns
    -------
    theta : ndarray of shape (n_parameters,)
        The solution.
    n_steps : int
        Number of steps.
    converged : bool
        Whether it is optimal to the tolerance.
    """
    weight = problem.weight
    # Rows y_k (x_k, 1): the constraints are t = xi - 1 + A v.
    A = np.column_stack([problem.X, np.ones(len(problem.X))]) * problem.y[:, None]
    ridge = np.append(problem.ridge / 2.0, 0.0)
    v = np.zeros(A.shape[1])
    xi, t = np.full(len(A), 2.0), np.ones(len(A))
    z, eta = weight / 2.0, weight / 2.0
    for step in range(max_steps):
        r_t, r_xi, r_v = xi - 1.0 + A @ v - t, weight - z - eta, ridge * v - z @ A
        product = float(z @ t + xi @ eta)
        residual = max(np.abs(r_t).max(), np.abs(r_xi).max(), np.abs(r_v).max() / weight.sum())
        if product <= tol * (1.0 + weight @ xi) and residual <= 100 * tol:
            return _theta(v), step, True
        try:
            newton = _Newton(A, ridge, t, xi, z, eta, r_t, r_xi, r_v)
        except np.linalg.LinAlgError:
            return _theta(v), step, False
        _, d_xi, d_t, d_z, d_eta = newton.direction(-t * z, -xi * eta)
        primal, dual = _length((t, d_t), (xi, d_xi)), _length((z, d_z), (eta, d_eta))
        ahead = (t + primal * d_t) @ (z + dual * d_z) + (xi + primal * d_xi) @ (eta + dual * d_eta)
        target = (ahead / product) ** 3 * product / (2 * len(A))
        d_v, d_xi, d_t, d_z, d_eta = newton.direction(target - t * z - d_t * d_z, target - xi * eta - d_xi * d_eta)
        primal = min(1.0, TO_BOUNDARY * _length((t, d_t), (xi, d_xi)))
        dual = min(1.0, TO_BOUNDARY * _length((z, d_z), (eta, d_eta)))
        if ridge.any():  # v is in the dual residual of a quadratic program: both must move together
            primal = dual = min(primal, dual)
        v, xi, t = v + primal * d_v, xi + primal * d_xi, t + primal * d_t
        z, eta = z + dual * d_z, eta + dual * d_eta
    return _theta(v), max_steps, False


class _Newton:
    """The Newton system at one iterate, factored once for the predictor and the corrector."""

    def __init__(self, A, ridge, t, xi, z, eta, r_t, r_xi, r_v):
        self.A, self.t, self.xi, self.eta = A, t, xi, eta
        self.r_t, self.r_xi, self.r_v = r_t, r_xi, r_v
        self.D, F = z / t, eta / xi
        self.E = self.D + F
        H = (A.T * (self.D * F / self.E)) @ A
        diagonal = np.diag_indices_from(H)
        H[diagonal] += ridge
        H[diagonal] += REGULARISATION * (1.0 + H[diagonal])
        self.factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)

    def direction(self, change_tz: np.ndarray, change_xe: np.ndarray) -> tuple[np.ndarray, ...]:
        """The step that changes the products t z and xi eta by these amounts, to first order."""
        inner = change_tz / self.t - self.D * self.r_t
        pull = (inner + change_xe / self.xi - self.r_xi) / self.E
        d_v = cho_solve(self.factor, (inner - self.D * pull) @ self.A - self.r_v, check_finite=False)
        along = self.A @ d_v
        d_xi = pull - self.D / self.E * along
        d_t = d_xi + along + self.r_t
        return d_v, d_xi, d_t, change_tz / self.t - self.D * d_t, (change_xe - self.eta * d_xi) / self.xi


def _theta(v: np.ndarray) -> np.ndarray:
    """Parameters of the two pieces."""
    return np.concatenate([v / 2.0, -v / 2.0])
