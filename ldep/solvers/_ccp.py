"""The convex-concave procedure [1]_ [2]_ with exact subproblems, and without CVXPY, for two classes and the hinge.

F is a difference of convex functions: the hinge of a sample is max(0, 1 + the maximum of the other class - the maximum
of its own class). An iteration replaces each subtracted maximum by the piece that attains it at the current theta. That
bounds F from above and touches it there, so the minimiser of the bound has an F that is no higher. The subproblem is an
LP without a penalty and a QP with one.

Two engines solve the subproblem. `interior` is our own method for affine pieces, which exploits their structure and
solves QPs too. `highs` is HiGHS's interior point with crossover, for LPs of any pieces. On an LP they differ: HiGHS
ends at a vertex of the optimal face, an interior method in the middle of it, and the procedure continues from another
point. `auto` uses `interior` where it can.

Where the procedure stops, a kick perturbs theta, gives pieces that are active on no sample something to do, and the
procedure runs again from there. The result is kept if it is better. After `n_kicks` kicks in a row without success the
solver ends. The objective never rises. `n_kicks=0` is the bare procedure.

Where the objective is zero, every further subproblem has the value zero too, and the procedure ends. `min_iter` makes
it go on: theta then moves inside the set of parameters without loss, and predictions change with it. DCCP compares the
values of two subproblems, so that it solves two of them even where the first one has the value zero.

Which of the parameters without loss a solver returns decides the predictions. `dccp_up_to` leaves that choice to the
paper's own program: where the first subproblem has the value zero, DCCP solves the problem from the same start. There
it needs two subproblems, elsewhere more than thirty.

.. [1] A. L. Yuille and A. Rangarajan, "The concave-convex procedure", Neural Computation 15 (2003), 915-936.
.. [2] T. Lipp and S. Boyd, "Variations and extension of the convex-concave procedure", Optimization and Engineering 17
   (2016), 263-287.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ldep.solvers._base import AFFINE_PIECES, DENSE_ROWS, HINGE, NO_PENALTY, TWO_CLASSES, Log, Need, Solution, Solver
from ldep.solvers._dccp import Dccp
from ldep.solvers._interior import Subproblem
from ldep.training import (
    AffinePieces,
    Pieces,
    Problem,
    groups,
    has_affine_pieces,
    is_affine_in_theta,
    margins,
    own_group,
    within_bounds,
)

# An objective below this is zero.
ZERO = 1e-9
# The slope by which a revived piece differs from the one it is copied from.
TILT = 1e-3
# The size of a kick's random change, relative to the parameters.
KICK_SCALE = 0.3
# HiGHS's tolerances are absolute: costs of another size are scaled.
LEAST_COST, LARGEST_COST = 1e-3, 1e6
# The engines, with what they need of a problem. HiGHS solves what `auto` leaves: pieces that share a slope, which no
# penalty shrinks.
ENGINES: dict[str, tuple[Need, ...]] = {"auto": (), "interior": (AFFINE_PIECES,), "highs": (NO_PENALTY,)}
# DCCP's default for its first weight, and an interior-point method in place of MOSEK's.
TAU_INI, CVX_SOLVER = 0.005, "CLARABEL"


@dataclass(frozen=True)
class Ccp(Solver):
    """The convex-concave procedure.

    A subproblem that would only repeat the one before is not solved, whatever `min_iter` is. With `dccp_up_to`, the
    result is that of DCCP if the first subproblem has the value zero and one of DCCP has at most this number of
    coefficients. It takes some 15 s with a million of them, and needs `pip install 'ldep[dccp]'`.
    """

    engine: str = "auto"  # what solves the subproblems: "interior", "highs", or "auto", which takes what suits
    n_kicks: int = 8  # kicks in a row without success after which the solver ends
    min_iter: int = 1  # subproblems to solve even if the objective is zero or hardly falls
    dccp_up_to: int = 0

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"solver_options: engine={self.engine!r} is not one of {', '.join(ENGINES)}.")

    @property
    def needs(self) -> tuple[Need, ...]:
        return DENSE_ROWS, TWO_CLASSES, HINGE, *ENGINES[self.engine]

    def solve(
        self,
        problem: Problem[Pieces],
        theta: np.ndarray,
        *,
        max_iter: int | None = None,
        tol: float | None = None,
        verbose: int = 0,
    ) -> Solution:
        """Minimise F; of several points with the value zero, return the last.

        `max_iter` counts subproblems; None is 200. The procedure stops when an iteration lowers the objective by less
        than the share `tol` of it; None is 0.001.
        """
        max_iter, tol = 200 if max_iter is None else max_iter, 1e-3 if tol is None else tol
        solve_subproblem = _subproblem_solver(problem, self.engine)
        log = Log(verbose, "ccp")
        start = theta
        best, lowest = theta, problem.objective(theta)
        convex = is_affine_in_theta(problem.pieces)  # the first subproblem is the problem itself
        kick = None
        if has_affine_pieces(problem) and not convex:
            kick = partial(perturbed, problem, rng=np.random.default_rng(0))
        kicks_left = self.n_kicks
        while True:
            value, before, stopped = problem.objective(theta), lowest, False
            star: np.ndarray | None = None
            while not stopped and len(log.objective) < max_iter:
                previous, star = star, subtracted_pieces(problem, theta)
                if previous is not None and np.array_equal(star, previous):
                    stopped = True  # theta solves the subproblem at itself
                    break
                candidate = solve_subproblem(star)
                improved = problem.objective(candidate)
                iteration = len(log.objective) + 1
                ends = value - improved <= tol * value or improved <= ZERO
                stopped = convex or (ends and iteration >= self.min_iter)
                moves_without_loss = 1 < iteration <= self.min_iter and improved <= ZERO
                # Rounding errors of a subproblem must not undo the descent.
                if improved < value or moves_without_loss:
                    theta, value = candidate, improved
                if value < lowest or moves_without_loss:
                    best, lowest = theta, value
                log.add(lowest)
            kicks_left = self.n_kicks if before - lowest > tol * before else kicks_left - 1
            if kick is None or self.n_kicks == 0 or kicks_left < 0 or not stopped or lowest <= ZERO:
                break
            theta = kick(best)
        if len(log.objective) == 1 and lowest <= ZERO and coefficient_count(problem) <= self.dccp_up_to:
            dccp = Dccp(CVX_SOLVER, TAU_INI)
            dccp.check(problem)
            return dccp.solve(problem, start, max_iter=max_iter, tol=tol, verbose=verbose)
        advice = "increase max_iter (each iteration solves one subproblem) or tol"
        return log.solution(best, lowest, converged=stopped, advice=advice)


def coefficient_count(problem: Problem[Pieces]) -> int:
    """The number of coefficients in the constraints of a subproblem: two pieces for each sample and other piece."""
    sizes = np.array(problem.pieces.group_sizes)
    others = sizes.sum() - sizes[own_group(problem.y)]
    return int(2 * (problem.X.shape[1] + 1) * others.sum())


def subtracted_pieces(problem: Problem[Pieces], theta: np.ndarray) -> np.ndarray:
    """For each sample the piece that attains its subtracted maximum: the active piece of its own class."""
    scores = problem.pieces.scores(theta, problem.X)
    active = np.array([group.start + scores[group].argmax(axis=0) for group in groups(problem.pieces)])
    return active[own_group(problem.y), np.arange(len(problem.y))]


def perturbed(problem: Problem[AffinePieces], theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A point near theta at which every piece that can help has a place."""
    table = problem.pieces.table(revived(problem, theta))
    scale = KICK_SCALE * np.sqrt(np.square(table).mean(axis=0))
    return within_bounds(problem.pieces, (table + scale * rng.normal(size=table.shape)).ravel())


def revived(problem: Problem[AffinePieces], theta: np.ndarray) -> np.ndarray:
    """theta with each idle piece placed on one whose region has much loss, and tilted towards that loss."""
    pieces = problem.pieces
    table = pieces.table(theta).copy()
    scores = pieces.scores(theta, problem.X)
    loss = problem.weight * np.maximum(0.0, 1.0 - margins(pieces, scores, problem.y))
    own = own_group(problem.y)
    for index, group in enumerate(groups(pieces)):
        region = group.start + scores[group].argmax(axis=0)
        idle = [p for p in range(group.start, group.stop) if not (region == p).any()]
        group_loss = loss * (own == index)  # a piece can help the samples of its own class
        region_loss = np.bincount(region, weights=group_loss, minlength=group.stop)
        for p, donor in zip(idle, np.argsort(-region_loss, kind="stable")):
            if region_loss[donor] <= 0:
                break
            inside = region == donor
            towards = np.average(problem.X[inside], axis=0, weights=group_loss[inside])
            content = inside & (group_loss == 0)
            away = problem.X[content if content.any() else inside].mean(axis=0)
            normal = towards - away
            normal *= TILT / max(float(np.linalg.norm(normal)), 1e-12)
            table[p] = table[donor]
            table[p, :-1] += normal
            table[p, -1] -= normal @ (towards + away) / 2
    return table.ravel()


def _subproblem_solver(problem: Problem[Pieces], engine: str) -> Callable[[np.ndarray], np.ndarray]:
    """The function that maps the subtracted pieces to the solution of their subproblem."""
    if engine != "highs" and has_affine_pieces(problem):
        interior = Subproblem(problem)
        return lambda star: interior.solve(star)[0]
    return partial(solve_by_highs, problem)


def solve_by_highs(problem: Problem[Pieces], star: np.ndarray) -> np.ndarray:
    """Solve the subproblem as an LP in (theta, xi): xi_k - (score_p - score_*)(x_k) >= 1 for p of other classes.

    `star` is the piece at which the subtracted maximum of each sample is linearised. The problem has no penalty. The
    result is a vertex of the optimal face.
    """
    pieces, blocks, right = problem.pieces, [], []
    m, rows = len(problem.X), np.arange(len(problem.X))
    own, all_pieces = own_group(problem.y), np.arange(sum(pieces.group_sizes))
    for index, group in reversed(list(enumerate(groups(pieces)))):
        k = rows[own == index]
        subtracted, subtracted_constant = pieces.coefficients(problem.X[k], star[k])
        slack = sparse.csr_array((np.full(len(k), -1.0), (np.arange(len(k)), k)), shape=(len(k), m))
        for p in np.delete(all_pieces, group):
            added, constant = pieces.coefficients(problem.X[k], np.full(len(k), p))
            blocks.append(sparse.hstack([added - subtracted, slack]))
            right.append(subtracted_constant - constant - 1.0)
    free = [(None, None)] * pieces.n_parameters if pieces.bounds is None else list(zip(*pieces.bounds))
    A_ub, b_ub = sparse.vstack(blocks, format="csr"), np.concatenate(right)
    cost = np.concatenate([np.zeros(pieces.n_parameters), problem.weight])
    if not LEAST_COST <= cost.max() <= LARGEST_COST:
        cost = cost / cost.max()
    # The interior point fails on some LPs that the simplex method solves.
    for method in ("highs-ipm", "highs-ds"):
        result = linprog(cost, A_ub=A_ub, b_ub=b_ub, bounds=[*free, *[(0, None)] * m], method=method)
        if result.x is not None:
            return result.x[: pieces.n_parameters]
    raise RuntimeError(
        f"HiGHS did not solve a subproblem of the convex-concave procedure: {result.message} Standardise the features "
        "or use solver='anneal'."
    )
