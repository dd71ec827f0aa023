"""The paper's program, word for word: CVXPY + DCCP with any of CVXPY's solvers.

    minimise    sum_k s_k max(xi_k, 0)   (+ 1/2 sum ridge_j w_pj^2)
    subject to  max_i(w_i . x_k + c_i) + 1 <= max_j(m_j . x_k + d_j) + xi_k   for negatives
                max_i(w_i . x_k + c_i) + xi_k >= max_j(m_j . x_k + d_j) + 1   for positives

It is the reference for the other solvers, not a way to train: see benchmarks/. DCCP is licensed under the GPL, and is
imported here only, when this solver is asked for.
"""

from __future__ import annotations

import logging
import warnings

import numpy as np

from ldep.pieces import LinearPieces
from ldep.problem import Problem
from ldep.solvers.solution import Log, Solution


def solve(
    problem: Problem,
    theta: np.ndarray,
    *,
    max_iter: int | None = None,
    tol: float = 1e-3,
    verbose: int = 0,
    cvx_solver: str | None = None,
    tau_ini: float = 1.0,
) -> Solution:
    """Minimise F from theta; `max_iter` counts subproblems (default 100).

    `cvx_solver` is the name of a CVXPY solver. The default is HIGHS (its interior point) for alpha = 0, where the
    subproblems are LPs, and CLARABEL otherwise: HiGHS's QP solver does not finish on them.
    `tau_ini` is DCCP's first weight of a constraint's violation. Below the weight of a slack variable, which is 1, the
    first iterations only raise it.
    """
    if not isinstance(problem.pieces, LinearPieces):
        raise ValueError("the solver 'dccp' trains the ℓ-DEP only; use 'anneal' or 'ccp'.")
    try:
        import cvxpy as cp
        import dccp  # noqa: F401  registers the method
    except ImportError as error:
        raise ImportError(f"the solver 'dccp' needs {error.name}: pip install 'ldep[dccp]'.") from error

    quadratic = bool(problem.ridge.any())
    cvx_solver = (cvx_solver or ("CLARABEL" if quadratic else "HIGHS")).upper()
    if cvx_solver not in cp.installed_solvers():
        raise ValueError(f"cvx_solver={cvx_solver!r} is not installed; installed: {', '.join(cp.installed_solvers())}.")
    if cvx_solver == "HIGHS" and quadratic:
        raise ValueError("cvx_solver='HIGHS' is for alpha = 0 only; with a penalty use CLARABEL, or MOSEK.")
    program, variables = _program(problem, theta)
    log = Log(verbose, "dccp")
    options: dict = {"solver": cvx_solver}
    if cvx_solver == "HIGHS":
        options["highs_options"] = {"solver": "ipm"}
    handler = _EachIteration(lambda: log.add(problem.objective(_theta(variables))))
    logger = logging.getLogger("dccp")
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        with warnings.catch_warnings():
            # CVXPY's own bookkeeping of bounds multiplies zeros by infinities.
            warnings.filterwarnings("ignore", category=RuntimeWarning, module="cvxpy")
            warnings.filterwarnings("ignore", category=FutureWarning, module="cvxpy")
            if program.is_dcp():  # one piece each: nothing is concave
                program.solve(**options)
                log.add(problem.objective(_theta(variables)))
            else:
                program.solve(
                    method="dccp",
                    max_iter=100 if max_iter is None else max_iter,
                    ep=tol * max(1.0, problem.objective(theta)) / 100,
                    tau_ini=tau_ini,
                    **options,
                )
    except cp.error.SolverError as error:
        raise RuntimeError(f"{cvx_solver} could not solve a subproblem: {error}") from error
    except Exception as error:
        if cvx_solver == "MOSEK" and type(error).__module__.startswith("mosek"):
            others = ", ".join(name for name in cp.installed_solvers() if name in {"HIGHS", "CLARABEL", "SCS"})
            cause = " ".join(str(error).split())
            raise RuntimeError(
                f"MOSEK has no valid licence here ({cause}); get one from MOSEK, or use cvx_solver= one of {others}."
            ) from error
        raise
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
    theta = _theta(variables)
    return Solution(
        theta=theta,
        objective=problem.objective(theta),
        history=log.history(),
        n_iter=len(log.objective),
        converged=program.status == cp.OPTIMAL,
        advice="increase max_iter or tol",
    )


def _program(problem: Problem, theta: np.ndarray):
    """The program and its variables (W, c, M, d), which hold theta's values."""
    import cvxpy as cp

    pieces = problem.pieces
    assert isinstance(pieces, LinearPieces)
    r1, r2, n = pieces.r1, pieces.r2, pieces.n
    table = pieces.table(theta)
    W, c = cp.Variable((r1, n), name="W"), cp.Variable(r1, name="c")
    M, d = cp.Variable((r2, n), name="M"), cp.Variable(r2, name="d")
    W.value, c.value = table[:r1, :-1], table[:r1, -1]
    M.value, d.value = table[r1:, :-1], table[r1:, -1]
    objective, constraints = 0, []
    for sign in (-1.0, 1.0):
        k = problem.y == sign
        X = problem.X[k]
        xi = cp.Variable(int(k.sum()), name="xi_negative" if sign < 0 else "xi_positive")
        xi.value = 1.0 - sign * problem.tau(theta)[k]
        dilation = cp.max(X @ W.T + np.ones((len(X), 1)) @ cp.reshape(c, (1, r1), order="C"), axis=1)
        erosion = cp.max(X @ M.T + np.ones((len(X), 1)) @ cp.reshape(d, (1, r2), order="C"), axis=1)
        constraints.append(dilation + 1 <= erosion + xi if sign < 0 else erosion + 1 <= dilation + xi)
        objective += cp.sum(cp.multiply(problem.weight[k], cp.pos(xi)))
    if problem.ridge.any():
        root = np.sqrt(problem.ridge / 2)
        objective += cp.sum_squares(W @ np.diag(root)) + cp.sum_squares(M @ np.diag(root))
    return cp.Problem(cp.Minimize(objective), constraints), (W, c, M, d)


def _theta(variables) -> np.ndarray:
    W, c, M, d = (variable.value for variable in variables)
    return np.vstack([np.column_stack([W, c]), np.column_stack([M, d])]).ravel()


class _EachIteration(logging.Handler):
    """DCCP tells of each iteration in its log, and nowhere else."""

    def __init__(self, act):
        super().__init__(logging.DEBUG)
        self.act = act

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("Iteration"):
            self.act()
