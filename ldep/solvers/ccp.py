"""The convex-concave procedure with exact subproblems, and without CVXPY.

F is a difference of convex functions: the hinge of a negative sample is max(0, 1 + max_i u_i - max_j v_j), of a
positive one max(0, 1 + max_j v_j - max_i u_i). An iteration replaces each subtracted maximum by the piece that attains
it at the current theta. That bounds F from above and touches it there, so the minimiser of the bound has an F that is
no higher: an LP without penalty, a QP with it.

Two engines solve the subproblem. `interior` is our own method for linear pieces, which exploits their structure and
does QPs too. `highs` is HiGHS's interior point with crossover, for LPs of any pieces. On an LP they differ: HiGHS ends
at a vertex of the optimal face, an interior method in the middle of it, and the procedure goes on from another point.
`auto` takes `interior` where it can.

Where the procedure stops, `kick` shakes theta, puts pieces that are active on no sample to use, and the procedure runs
again from there; the result is kept if it is better. After `n_kicks` vain kicks in a row it ends. The objective that is
kept never rises. `n_kicks=0` is the bare procedure.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ldep.pieces import LinearPieces
from ldep.problem import Problem
from ldep.solvers._interior import Subproblem
from ldep.solvers.solution import Log, Solution

# An objective below this is zero.
ZERO = 1e-9
TILT = 1e-3
SHAKE = 0.3


def solve(
    problem: Problem,
    theta: np.ndarray,
    *,
    max_iter: int | None = None,
    tol: float = 1e-3,
    verbose: int = 0,
    engine: str = "auto",
    n_kicks: int = 8,
) -> Solution:
    """Minimise F from theta; `max_iter` counts subproblems (default 200)."""
    max_iter = 200 if max_iter is None else max_iter
    step = _engine(problem, engine)
    log = Log(verbose, "ccp")
    best, lowest = theta, problem.objective(theta)
    rng = np.random.default_rng(0)
    convex = problem.pieces.r1 == problem.pieces.r2 == 1  # the first subproblem is the problem
    linear = isinstance(problem.pieces, LinearPieces)  # other pieces cannot be shaken freely
    kicks_left = vain_allowed = n_kicks if linear and not convex else 0
    while True:
        value, before, stopped = problem.objective(theta), lowest, False
        while not stopped and len(log.objective) < max_iter:
            candidate = step(active(problem, theta))
            improved = problem.objective(candidate)
            stopped = convex or value - improved <= tol * value or improved <= ZERO
            # Rounding errors of a subproblem must not undo the descent.
            if improved < value:
                theta, value = candidate, improved
            if value < lowest:
                best, lowest = theta, value
            log.add(lowest)
        kicks_left = vain_allowed if before - lowest > tol * before else kicks_left - 1
        if not stopped or kicks_left < 0 or vain_allowed == 0 or lowest <= ZERO:
            break
        theta = kick(problem, best, rng)
    return Solution(
        theta=best,
        objective=lowest,
        history=log.history(),
        n_iter=len(log.objective),
        converged=stopped,
        advice="increase max_iter (each iteration solves one subproblem) or tol",
    )


def active(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """For each sample the piece that attains its subtracted maximum: of v for negatives, of u for positives."""
    scores, r1 = problem.pieces.scores(theta, problem.X), problem.pieces.r1
    return np.where(problem.y < 0, r1 + scores[r1:].argmax(axis=0), scores[:r1].argmax(axis=0))


def kick(problem: Problem, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A point near theta at which no piece is idle for want of a good place."""
    assert isinstance(problem.pieces, LinearPieces)
    table = problem.pieces.table(revive(problem, theta))
    return (table + SHAKE * np.sqrt(np.square(table).mean(axis=0)) * rng.normal(size=table.shape)).ravel()


def revive(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """theta with each idle piece put on top of one with much loss, tilted to take over the side where the loss is."""
    pieces = problem.pieces
    assert isinstance(pieces, LinearPieces)
    table = pieces.table(theta).copy()
    scores = pieces.scores(theta, problem.X)
    tau = scores[: pieces.r1].max(axis=0) - scores[pieces.r1 :].max(axis=0)
    loss = problem.weight * np.maximum(0.0, 1.0 - problem.y * tau)
    # A piece of the dilation can help the positives, one of the erosion the negatives.
    for first, last, sign in ((0, pieces.r1, 1.0), (pieces.r1, pieces.r1 + pieces.r2, -1.0)):
        region = first + scores[first:last].argmax(axis=0)
        idle = [p for p in range(first, last) if not (region == p).any()]
        needy = loss * (problem.y == sign)
        losses = np.bincount(region, weights=needy, minlength=last)
        for p, donor in zip(idle, np.argsort(-losses, kind="stable")):
            if losses[donor] <= 0:
                break
            inside = region == donor
            towards = np.average(problem.X[inside], axis=0, weights=needy[inside])
            content = inside & (needy == 0)
            away = problem.X[content if content.any() else inside].mean(axis=0)
            normal = towards - away
            normal *= TILT / max(float(np.linalg.norm(normal)), 1e-12)
            table[p] = table[donor]
            table[p, :-1] += normal
            table[p, -1] -= normal @ (towards + away) / 2
    return table.ravel()


def _engine(problem: Problem, engine: str):
    linear, quadratic = isinstance(problem.pieces, LinearPieces), bool(problem.ridge.any())
    if engine == "auto":
        engine = "interior" if linear else "highs"
    if engine == "interior" and linear:
        subproblem = Subproblem(problem)
        return lambda star: subproblem.solve(star)[0]
    if engine == "highs" and not quadratic:
        return lambda star: _highs(problem, star)
    raise ValueError(
        f"solver_options: the engine {engine!r} cannot be used here. 'auto' always works; 'highs' needs alpha = 0, "
        "'interior' needs an ℓ-DEP."
    )


def _highs(problem: Problem, star: np.ndarray) -> np.ndarray:
    """The subproblem as an LP in (theta, xi): xi_k - (score_p - score_*)(x_k) >= 1 for each p of the group."""
    pieces, blocks, right = problem.pieces, [], []
    m, rows = len(problem.X), np.arange(len(problem.X))
    for sign, group in ((-1.0, range(pieces.r1)), (1.0, range(pieces.r1, pieces.r1 + pieces.r2))):
        k = rows[problem.y == sign]
        subtracted, subtracted_constant = pieces.coefficients(problem.X[k], star[k])
        slack = sparse.csr_array((np.full(len(k), -1.0), (np.arange(len(k)), k)), shape=(len(k), m))
        for p in group:
            added, constant = pieces.coefficients(problem.X[k], np.full(len(k), p))
            blocks.append(sparse.hstack([added - subtracted, slack]))
            right.append(subtracted_constant - constant - 1.0)
    free = [(None, None)] * pieces.size if pieces.bounds is None else list(zip(*pieces.bounds))
    result = linprog(
        np.concatenate([np.zeros(pieces.size), problem.weight]),
        A_ub=sparse.vstack(blocks, format="csr"),
        b_ub=np.concatenate(right),
        bounds=[*free, *[(0, None)] * m],
        method="highs-ipm",
    )
    if result.x is None:
        raise RuntimeError(f"HiGHS did not solve a subproblem of the convex-concave procedure: {result.message}")
    return result.x[: pieces.size]
