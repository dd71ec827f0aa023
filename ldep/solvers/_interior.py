"""An interior-point method for the convex subproblem of the ℓ-DEP, with and without regularisation.

Fix for each sample k the piece *(k) at which the subtracted maximum is linearised. What is left is convex:

    minimise   sum_k s_k xi_k + 1/2 sum_p sum_j ridge_j w_pj^2
    subject to xi_k >= 0  and  t_kp = xi_k - 1 - (theta_p - theta_*(k)) . x~_k >= 0  for each p of another class

with x~ = (x, 1): an LP without ridge, a QP with it. Mehrotra's predictor-corrector method [1]_ needs, in each step, the
solution of one linear system. Eliminating t and xi leaves a system in theta alone, with the matrix

    H = diag(ridge) + sum_k S_k (x) x~_k x~_k^T.

The S_k are small, and x~_k x~_k^T never changes: H is one product of two matrices, of stacked upper triangles.

Monotone features add constraints sign_pj theta_pj >= 0. Each has a slack variable and a multiplier, and adds their
quotient to the diagonal of H.

.. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on Optimization 2
   (1992), 575-601.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ldep.training import AffinePieces, LinearPieces, Pieces, Problem, own_group

# The share of the way to the boundary that a step may go.
TO_BOUNDARY = 0.995
# Adding one affine function to every piece changes no margin: H is singular without a small regularisation.
REGULARISATION = 1e-12


def step_flops(problem: Problem[Pieces]) -> float:
    """Floating-point operations of one step of `Subproblem`, to decide whether it is affordable."""
    size = problem.pieces.n_parameters
    return 0.5 * len(problem.X) * size**2 + size**3 / 3


class Subproblem:
    """The convex subproblems of one training problem, one for each assignment of samples to pieces.

    The pieces of the problem have slopes and offsets of their own.
    """

    def __init__(self, problem: Problem[AffinePieces]):
        pieces = problem.pieces
        m, self.R, self.N = len(problem.X), sum(pieces.group_sizes), pieces.n_features + 1
        self.X = np.column_stack([problem.X, np.ones(m)])
        self.weight = problem.weight
        self.ridge = np.zeros((self.R, self.N))
        self.ridge[:, :-1] = problem.ridge
        # group[p, k]: is p a piece of another class than that of sample k, so that its score bounds the slack?
        group_of_piece = np.repeat(np.arange(len(pieces.group_sizes)), pieces.group_sizes)
        self.group = group_of_piece[:, None] != own_group(problem.y)
        # sign[p, j]: the sign that theta_pj must have, or 0. A free entry has a multiplier of zero.
        self.sign = np.zeros((self.R, self.N))
        if pieces.bounds is not None:
            lower, upper = (pieces.table(bound) for bound in pieces.bounds)
            self.sign = (lower == 0.0) * 1.0 - (upper == 0.0)
        self.bounded = self.sign != 0
        self.columns = np.arange(m)
        self.pairs = np.triu_indices(self.R)
        self.entries = np.triu_indices(self.N)
        self.products = self.X[:, self.entries[0]] * self.X[:, self.entries[1]]

    def gap(self, theta: np.ndarray) -> np.ndarray:
        """(theta_p - theta_*) . x~ for the pieces p of the group, 0 for the others."""
        scores = theta @ self.X.T
        return np.where(self.group, scores - scores[self.star, self.columns], 0.0)

    def adjoint(self, Q: np.ndarray) -> np.ndarray:
        """The gradient in theta of sum(Q * gap)."""
        G = Q.copy()
        G[self.star, self.columns] -= Q.sum(axis=0)
        return G @ self.X

    def solve(self, star: np.ndarray, *, tol: float = 1e-8, max_steps: int = 150) -> tuple[np.ndarray, bool]:
        """Solve the subproblem from theta = 0, to a relative duality gap, and say whether it is reached.

        `star` is the piece at which the subtracted maximum of each sample is linearised.
        """
        self.star = star
        group, bounded, weight = self.group, self.bounded, self.weight
        count = group.sum(axis=0)
        n_products = count.sum() + len(weight) + bounded.sum()
        theta = np.zeros((self.R, self.N))
        xi, t, s = np.full(len(weight), 2.0), np.ones(group.shape), np.ones(theta.shape)
        eta, z = weight / (count + 1), np.where(group, weight / (count + 1), 0.0)
        zeta = np.where(bounded, weight.mean(), 0.0)
        for _ in range(max_steps):
            r_primal = np.where(group, xi - 1.0 - self.gap(theta) - t, 0.0)
            r_bound = np.where(bounded, self.sign * theta - s, 0.0)
            r_xi = weight - z.sum(axis=0) - eta
            r_theta = self.ridge * theta + self.adjoint(z) - self.sign * zeta
            product = float(np.sum(z * t) + xi @ eta + np.sum(s * zeta))
            residual = max(
                np.abs(r_primal).max(), np.abs(r_bound).max(), np.abs(r_xi).max(), np.abs(r_theta).max() / weight.sum()
            )
            if product <= tol * (1.0 + weight @ xi) and residual <= 100 * tol:
                return self._within_bounds(theta), True
            try:
                newton = _Newton(
                    self, z, t, eta, xi, zeta, s, r_primal=r_primal, r_xi=r_xi, r_bound=r_bound, r_theta=r_theta
                )
            except np.linalg.LinAlgError:
                return self._within_bounds(theta), False
            _, d_xi, d_t, d_s, d_z, d_eta, d_zeta = newton.direction(
                np.where(group, -t * z, 0.0), -xi * eta, np.where(bounded, -s * zeta, 0.0)
            )
            primal = _length((t, d_t), (xi, d_xi), (s, d_s))
            dual = _length((z, d_z), (eta, d_eta), (zeta, d_zeta))
            ahead = np.sum((t + primal * d_t) * (z + dual * d_z)) + (xi + primal * d_xi) @ (eta + dual * d_eta)
            ahead += np.sum((s + primal * d_s) * (zeta + dual * d_zeta))
            target = (ahead / product) ** 3 * product / n_products
            d_theta, d_xi, d_t, d_s, d_z, d_eta, d_zeta = newton.direction(
                np.where(group, target - t * z - d_t * d_z, 0.0),
                target - xi * eta - d_xi * d_eta,
                np.where(bounded, target - s * zeta - d_s * d_zeta, 0.0),
            )
            primal = min(1.0, TO_BOUNDARY * _length((t, d_t), (xi, d_xi), (s, d_s)))
            dual = min(1.0, TO_BOUNDARY * _length((z, d_z), (eta, d_eta), (zeta, d_zeta)))
            if self.ridge.any():  # theta is part of the dual residual of a QP: both must move together.
                primal = dual = min(primal, dual)
            theta, xi, t, s = theta + primal * d_theta, xi + primal * d_xi, t + primal * d_t, s + primal * d_s
            z, eta, zeta = z + dual * d_z, eta + dual * d_eta, zeta + dual * d_zeta
        return self._within_bounds(theta), False

    def _within_bounds(self, theta: np.ndarray) -> np.ndarray:
        """theta without what the tolerance leaves of the bounds."""
        return np.where(self.sign * theta < 0, 0.0, theta).ravel()


class _Newton:
    """The Newton system at one iterate, factored once for the predictor and the corrector."""

    def __init__(self, sub: Subproblem, z, t, eta, xi, zeta, s, *, r_primal, r_xi, r_bound, r_theta):
        self.sub, self.t, self.eta, self.xi, self.s = sub, t, eta, xi, s
        self.r_primal, self.r_xi, self.r_bound, self.r_theta = r_primal, r_xi, r_bound, r_theta
        with np.errstate(over="ignore"):
            self.D, self.barrier = z / t, zeta / s
            d = self.D.sum(axis=0)
            self.E = d + eta / xi
        if not (np.isfinite(self.E).all() and np.isfinite(self.barrier).all()):
            raise np.linalg.LinAlgError("the iterate is on the boundary")
        # S_k = diag(D) + d e* e*^T - D e*^T - e* D^T - f f^T / E with f = D - d e*; one row per pair of pieces.
        f, diagonal, star = self.D.copy(), self.D.copy(), np.zeros_like(self.D)
        f[sub.star, sub.columns] = -d
        diagonal[sub.star, sub.columns] = d
        star[sub.star, sub.columns] = 1.0
        p, q = sub.pairs
        S = -(f / self.E)[p] * f[q] - self.D[p] * star[q] - star[p] * self.D[q]
        S[p == q] += diagonal
        blocks = S @ sub.products
        square = np.empty((len(p), sub.N, sub.N))
        square[:, sub.entries[0], sub.entries[1]] = blocks
        square[:, sub.entries[1], sub.entries[0]] = blocks
        tiles = np.empty((sub.R, sub.R, sub.N, sub.N))
        tiles[p, q] = square
        tiles[q, p] = square
        H = tiles.transpose(0, 2, 1, 3).reshape(sub.R * sub.N, -1)
        diag = np.diag_indices_from(H)
        H[diag] += sub.ridge.ravel()
        H[diag] += self.barrier.ravel()
        H[diag] *= 1.0 + REGULARISATION
        H[diag] += REGULARISATION
        self.factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)

    def direction(self, rc: np.ndarray, rh: np.ndarray, rb: np.ndarray) -> tuple[np.ndarray, ...]:
        """The step that changes the products t z, xi eta and s zeta by rc, rh and rb, to first order."""
        group, D, E = self.sub.group, self.D, self.E
        inner = np.where(group, rc / self.t - D * self.r_primal, 0.0)
        pull = inner.sum(axis=0) + rh / self.xi - self.r_xi
        rhs = -self.r_theta - self.sub.adjoint(inner - D * (pull / E))
        rhs += self.sub.sign * (rb / self.s - self.barrier * self.r_bound)
        d_theta = cho_solve(self.factor, rhs.ravel(), check_finite=False).reshape(rhs.shape)
        step = self.sub.gap(d_theta)
        d_xi = ((D * step).sum(axis=0) + pull) / E
        d_t = np.where(group, d_xi - step + self.r_primal, 0.0)
        d_z = np.where(group, rc / self.t - D * d_t, 0.0)
        d_s = np.where(self.sub.bounded, self.sub.sign * d_theta + self.r_bound, 0.0)
        d_zeta = rb / self.s - self.barrier * d_s
        return d_theta, d_xi, d_t, d_s, d_z, (rh - self.eta * d_xi) / self.xi, d_zeta


def _length(*pairs: tuple[np.ndarray, np.ndarray]) -> float:
    """The longest step, at most 1, that keeps every value nonnegative."""
    length = 1.0
    for value, change in pairs:
        down = change < 0
        if down.any():
            length = min(length, float(np.min(-value[down] / change[down])))
    return length


def linear_step_flops(problem: Problem[LinearPieces]) -> float:
    """The same for `solve_linear`."""
    n = problem.X.shape[1] + 1
    return len(problem.X) * n**2 + n**3 / 3


def solve_linear(
    problem: Problem[LinearPieces], *, tol: float = 1e-8, max_steps: int = 150
) -> tuple[np.ndarray, int, bool]:
    """Solve the training problem of a model with one piece in each of two maxima.

    `tol` is the largest gap between the objective and its lower bound, relative to the objective plus 1. The result is
    theta, the number of steps, and whether it is optimal to that tolerance.
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
            newton = _LinearNewton(A, ridge, t, xi, z, eta, r_t, r_xi, r_v)
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


class _LinearNewton:
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
