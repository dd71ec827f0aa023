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

from ldep.conditioning import RANK_TOL, condition
from ldep.coordinates import Coordinates
from ldep.initialization import quick_kmeans
from ldep.pieces import LinearPieces
from ldep.pieces.base import within_bounds
from ldep.problem import Problem
from ldep.samples import Samples
from ldep.solvers import anneal, linear
from ldep.solvers.smoothing import FINAL_TEMPERATURE, descend
from ldep.solvers.solution import Log, Solution
from ldep.sparse_rows import CentredRows

# Temperatures after the first alpha, with the shares of max_iter. The first is high enough for pieces to move to other
# samples, and low enough not to merge them.
RESUME = ((0.4, 1 / 4), (anneal.WARM, 1 / 3), (FINAL_TEMPERATURE, 1 / 4))
DEFAULT_MAX_ITER = 480


@dataclass(frozen=True)
class SharedCoordinates:
    """The samples of a training part, in coordinates in which C and P are diagonal.

    Parameters
    ----------
    samples : Samples
        The samples in these coordinates.
    coordinates : Coordinates
        The way back to the user's.
    variance, penalty : ndarray of shape (n_directions,)
        The diagonals of C and P.
    monotone : ndarray of shape (n_directions,), default=None
        The constraints of `LinearPieces`. The directions are then the features, scaled.
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
        """Find the coordinates for settings with one kind of penalty.

        Parameters
        ----------
        samples : Samples
            The samples in the user's coordinates.
        penalty : {"norm", "variance"}
            The matrix of the penalty: P = I or P = C.
        smallest_alpha : float
            The smallest positive alpha of all settings; 0 if there is none.
        monotone : ndarray of shape (n_features,), default=None
            The constraints of `condition`.

        Returns
        -------
        shared : SharedCoordinates
            The samples in the coordinates for that alpha and one piece per maximum.
        """
        problem, coordinates = condition(samples, (1, 1), smallest_alpha, penalty, monotone)
        kappa = 2 * smallest_alpha / problem.weight.sum()
        # Rounding may leave a small negative number in the place of zero, which a large alpha would make a large one.
        ridge = np.maximum(problem.ridge, 0.0)
        diagonal = ridge / smallest_alpha if smallest_alpha > 0 else np.zeros(problem.X.shape[1])
        variance = np.maximum(1.0 - kappa * diagonal, RANK_TOL)
        scaled_samples = Samples(problem.X, problem.y, problem.weight)
        return cls(scaled_samples, coordinates, variance, diagonal, problem.pieces.monotone)

    def problem(self, group_sizes: tuple[int, ...], alpha: float) -> tuple[Problem[LinearPieces], np.ndarray]:
        """The training problem for one setting, and the scale of each direction in it."""
        X, y, weight = self.samples
        kappa = alpha * sum(group_sizes) / weight.sum()
        scale = 1.0 / np.sqrt(self.variance + kappa * self.penalty)
        pieces = LinearPieces(group_sizes, X.shape[1], self.monotone)
        return Problem(X * scale, y, weight, pieces, alpha * self.penalty * scale**2), scale


def follow(
    shared: SharedCoordinates,
    group_sizes: tuple[int, ...],
    alphas: Sequence[float],
    rng: np.random.Generator,
    *,
    tol: float,
    max_iter: int | None = None,
) -> Iterator[Solution]:
    """Train one model per alpha.

    Parameters
    ----------
    shared : SharedCoordinates
        The training part.
    group_sizes : tuple of int
        Number of pieces in each maximum.
    alphas : sequence of float
        Weights of the penalty, in ascending order.
    rng : numpy.random.Generator
        Source of the first start.
    tol : float
        A temperature ends when five iterations together lower the objective by less than this share of it.
    max_iter : int, default=None
        Largest number of iterations per alpha; None is 480.

    Yields
    ------
    solution : Solution
        The solution for the next alpha, with theta in the shared coordinates.
    """
    table: np.ndarray | None = None
    for alpha in alphas:
        problem, scale = shared.problem(group_sizes, alpha)
        scale = np.append(scale, 1.0)
        has_exact_method = group_sizes == (1, 1) and shared.monotone is None and not isinstance(problem.X, CentredRows)
        if has_exact_method and linear.step_flops(problem) <= anneal.EXACT_FLOPS:
            theta, n_steps, converged = linear.solve(problem)
            solution = Solution(theta, problem.objective(theta), {"objective": [], "seconds": []}, n_steps, converged)
        elif table is None:
            start = within_bounds(problem.pieces, quick_kmeans(problem, rng))
            solution = anneal.solve(problem, start, tol=tol, max_iter=max_iter)
        else:
            solution = _resume(problem, (table / scale).ravel(), tol=tol, max_iter=max_iter)
        table = problem.pieces.table(solution.theta) * scale
        yield replace(solution, theta=table.ravel())


def _resume(problem: Problem[LinearPieces], theta: np.ndarray, *, tol: float, max_iter: int | None) -> Solution:
    """Anneal from the solution for another alpha."""
    max_iter = DEFAULT_MAX_ITER if max_iter is None else max_iter
    single = Problem(
        anneal.single_precision(problem.X),
        problem.y.astype(np.float32),
        problem.weight.astype(np.float32),
        problem.pieces,
        problem.ridge,
    )
    log, converged = Log(), True
    for temperature, share in RESUME:
        theta, converged = descend(
            single,
            theta,
            temperature,
            max_iter=max(1, round(share * max_iter)),
            tol=tol,
            total_weight=problem.weight.sum(),
            log=log,
        )
    return Solution(theta, problem.objective(theta), log.history(), len(log.objective), converged)
