"""Models for a sequence of penalties, each trained from the last.

The problems for neighbouring values of alpha are alike, so the solution of one is a good start for the next. The
sequence begins with the smallest alpha. A large penalty makes all pieces of a group equal, and equal pieces stay equal
when alpha is lowered afterwards; distinct pieces merge as far as a larger alpha demands.

The coordinates are shared by all settings of one training part. With C the covariance of the features and P the matrix
of the penalty, the basis B of `condition` diagonalises both, whatever alpha is. For another alpha or another number of
pieces r only the scale of each direction j changes, to 1 / sqrt(C_j + kappa P_j) with kappa = alpha r / m.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldep.solvers import (
    EXACT_FLOPS,
    FINAL_TEMPERATURE,
    ONE_DESCENT,
    WARM,
    Anneal,
    Log,
    Solution,
    cool,
    has_exact_method,
    linear_step_flops,
    solve_linear,
)
from ldep.training import (
    RANK_TOL,
    Coordinates,
    LinearPieces,
    Loss,
    Problem,
    Samples,
    condition,
    is_affine_in_theta,
    quick_kmeans,
    within_bounds,
)

# Temperatures after the first alpha, with the shares of max_iter. The first is high enough for pieces to move to other
# samples, and low enough not to merge them.
RESUME = ((0.4, 1 / 4), (WARM, 1 / 3), (FINAL_TEMPERATURE, 1 / 4))
# Of more rows than this, the first temperatures see a sample.
HOT_ROWS = 20_000


@dataclass(frozen=True)
class SharedCoordinates:
    """The samples of a training part, in coordinates in which C and P are diagonal.

    `variance` and `penalty` are these diagonals. Where features are monotone the directions are the features, scaled.
    """

    samples: Samples
    coordinates: Coordinates
    variance: np.ndarray
    penalty: np.ndarray
    monotone: np.ndarray | None = None

    @classmethod
    def of(
        cls, samples: Samples, penalty: str, smallest_alpha: float, monotone: np.ndarray | None = None
    ) -> SharedCoordinates:
        """Find the coordinates for the smallest positive alpha of all settings, or 0, and one piece per maximum."""
        problem, coordinates = condition(samples, (1, 1), smallest_alpha, penalty, monotone)
        kappa = 2 * smallest_alpha / problem.weight.sum()
        # Rounding may leave a small negative number in the place of zero, which a large alpha would make a large one.
        ridge = np.maximum(problem.ridge, 0.0)
        diagonal = ridge / smallest_alpha if smallest_alpha > 0 else np.zeros(problem.X.shape[1])
        variance = np.maximum(1.0 - kappa * diagonal, RANK_TOL)
        scaled_samples = Samples(problem.X, problem.y, problem.weight)
        return cls(scaled_samples, coordinates, variance, diagonal, problem.pieces.monotone)

    def problem(
        self, group_sizes: tuple[int, ...], alpha: float, loss: Loss
    ) -> tuple[Problem[LinearPieces], np.ndarray]:
        """The training problem for one setting, and the scale of each direction in it."""
        X, y, weight = self.samples
        kappa = alpha * sum(group_sizes) / weight.sum()
        scale = 1.0 / np.sqrt(self.variance + kappa * self.penalty)
        pieces = LinearPieces(group_sizes, X.shape[1], self.monotone)
        return Problem(X * scale, y, weight, pieces, alpha * self.penalty * scale**2, loss), scale


def follow(
    shared: SharedCoordinates,
    group_sizes: tuple[int, ...],
    alphas: Sequence[float],
    rng: np.random.Generator,
    *,
    loss: Loss,
    tol: float,
    max_iter: int | None = None,
) -> Iterator[Solution]:
    """Train one model per alpha, in ascending order; theta of each solution is in the shared coordinates.

    A temperature ends when five iterations together lower the objective by less than the share `tol` of it. `max_iter`
    is per alpha; None is 480.
    """
    table: np.ndarray | None = None
    for alpha in alphas:
        problem, scale = shared.problem(group_sizes, alpha, loss)
        scale = np.append(scale, 1.0)
        convex = is_affine_in_theta(problem.pieces)
        is_exact = convex and has_exact_method(problem) and shared.monotone is None
        if is_exact and linear_step_flops(problem) <= EXACT_FLOPS:
            theta, n_steps, converged = solve_linear(problem)
            solution = Solution(theta, problem.objective(theta), {"objective": [], "seconds": []}, n_steps, converged)
        elif table is None:
            start = within_bounds(problem.pieces, quick_kmeans(problem, rng))
            solution = Anneal(hot_rows=HOT_ROWS).solve(problem, start, tol=tol, max_iter=max_iter)
        else:
            start = (table / scale).ravel()
            schedule = ONE_DESCENT if convex and loss == "logistic" else RESUME
            solution = cool(problem, start, schedule, max_iter=max_iter, tol=tol, log=Log())
        table = problem.pieces.table(solution.theta) * scale
        yield replace(solution, theta=table.ravel())
