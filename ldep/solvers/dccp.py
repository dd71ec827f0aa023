"""The program of the paper [1]_, word for word: CVXPY and DCCP [2]_ with any of CVXPY's solvers.

    minimise    sum_k s_k max(xi_k, 0)   (+ 1/2 sum ridge_j w_pj^2)
    subject to  max_i(w_i . x_k + c_i) + 1 <= max_j(m_j . x_k + d_j) + xi_k   for negatives
                max_i(w_i . x_k + c_i) + xi_k >= max_j(m_j . x_k + d_j) + 1   for positives

It is the reference for the other solvers, not a way to train: see benchmarks/. DCCP is licensed under the GPL. It is
imported only here, and only when this solver is asked for.

References
----------
.. [1] A. L. Oliveira and M. E. Valle, "Linear dilation-erosion perceptron trained using a convex-concave procedure",
   arXiv:2011.06512, 2020.
.. [2] X. Shen, S. Diamond, Y. Gu and S. Boyd, "Disciplined convex-concave programming", IEEE Conference on Decision and
   Control, 2016, 1009-1014.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ldep.pieces.base import AffinePieces, Pieces, within_bounds
from ldep.problem import Problem, has_affine_pieces
from ldep.solvers.solution import Log, Solution

# Solvers that come with CVXPY, to suggest where another one fails.
FREE_SOLVERS = ("HIGHS", "CLARABEL", "SCS")


def solve(
    problem: Problem[Pieces],
    theta: np.ndarray,
    *,
    max_iter: int | None = None,
    tol: float = 1e-3,
    verbose: int = 0,
    cvx_solver: str | None = None,
    tau_ini: float = 1.0,
) -> Solution:
    """Minimise F by DCCP.

    Parameters
    ----------
    problem : Problem
        The training problem of an ℓ-DEP.
    theta : ndarray of shape (n_parameters,)
        Where to start.
    max_iter : int, default=None
        Largest number of subproblems; None is 100.
    tol : float, default=1e-3
        DCCP stops when an iteration changes the objective by less than a hundredth of this share of its first value.
    verbose : int, default=0
        1 prints every tenth iteration, 2 prints each one.
    cvx_solver : str, default=None
        Name of a CVXPY solver. None is HIGHS (its interior point) for alpha = 0, where the subproblems are LPs, and
        CLARABEL otherwise: HiGHS's QP solver does not finish on them.
    tau_ini : float, default=1.0
        DCCP's first weight of a constraint's violation. Below the weight of a slack variable, which is 1, the first
        iterations only raise it.

    Returns
    -------
    solution : Solution
        The last iterate.
    """
    if not has_affine_pieces(problem):
        raise ValueError("the solver 'dccp' trains the ℓ-DEP only; use 'anneal' or 'ccp'.")
    n_classes = len(problem.pieces.group_sizes)
    if n_classes != 2:
        raise ValueError(
            f"the solver 'dccp' is the paper's program for two classes, but there are {n_classes}; use 'anneal' or "
            "'ccp'."
        )
    try:
        import cvxpy as cp
        import dccp  # noqa: F401  whether it is installed
    except ImportError as error:
        raise ImportError(f"the solver 'dccp' needs {error.name}: pip install 'ldep[dccp]'.") from error

    options = _solver_options(cvx_solver, quadratic=bool(problem.ridge.any()))
    program, variables = paper_program(problem, theta)
    log = Log(verbose, "dccp")

    def record() -> None:
        log.add(problem.objective(_values(variables)))

    try:
        with warnings.catch_warnings():
            # CVXPY's own bookkeeping of bounds multiplies zeros by infinities and reads sparse parameters.
            warnings.filterwarnings("ignore", category=RuntimeWarning, module="cvxpy")
            warnings.filterwarnings("ignore", category=RuntimeWarning, message="Reading from a sparse CVXPY expression")
            warnings.filterwarnings("ignore", category=FutureWarning, module="cvxpy")
            if program.is_dcp():  # one piece per maximum: nothing is concave
                program.solve(**options)
                record()
            else:
                _run_dccp(
                    program,
                    record,
                    {
                        "max_iter": 100 if max_iter is None else max_iter,
                        "ep": tol * max(1.0, problem.objective(theta)) / 100,
                        "tau_ini": tau_ini,
                    },
                    options,
                )
    except cp.error.SolverError as error:
        raise RuntimeError(f"{options['solver']} could not solve a subproblem: {error}") from error
    except Exception as error:
        if options["solver"] == "MOSEK" and type(error).__module__.startswith("mosek"):
            others = ", ".join(name for name in cp.installed_solvers() if name in FREE_SOLVERS)
            cause = " ".join(str(error).split())
            raise RuntimeError(
                f"MOSEK has no valid licence here ({cause}); get one from MOSEK, or use cvx_solver= one of {others}."
            ) from error
        raise
    theta = within_bounds(problem.pieces, _values(variables))
    return Solution(
        theta=theta,
        objective=problem.objective(theta),
        history=log.history(),
        n_iter=len(log.objective),
        converged=program.status == cp.OPTIMAL,
        advice="increase max_iter or tol",
    )


def _solver_options(cvx_solver: str | None, *, quadratic: bool) -> dict[str, Any]:
    """CVXPY's options for the solver by this name, or an error that says why it cannot be used."""
    import cvxpy as cp

    name = (cvx_solver or ("CLARABEL" if quadratic else "HIGHS")).upper()
    if name not in cp.installed_solvers():
        raise ValueError(f"cvx_solver={name!r} is not installed; installed: {', '.join(cp.installed_solvers())}.")
    if name == "HIGHS" and quadratic:
        raise ValueError("cvx_solver='HIGHS' is for alpha = 0 only; with a penalty use CLARABEL, or MOSEK.")
    return {"solver": name, "highs_options": {"solver": "ipm"}} if name == "HIGHS" else {"solver": name}


def paper_program(problem: Problem[AffinePieces], theta: np.ndarray) -> tuple[Any, tuple[Any, Any, Any, Any]]:
    """State the program in CVXPY.

    Parameters
    ----------
    problem : Problem
        The training problem.
    theta : ndarray of shape (n_parameters,)
        Values of the variables.

    Returns
    -------
    program : cvxpy.Problem
        The program.
    variables : tuple of cvxpy.Variable
        W, c, M and d.
    """
    import cvxpy as cp

    (r1, r2), n = problem.pieces.group_sizes, problem.pieces.n_features
    table = problem.pieces.table(theta)
    W, c = cp.Variable((r1, n), name="W"), cp.Variable(r1, name="c")
    M, d = cp.Variable((r2, n), name="M"), cp.Variable(r2, name="d")
    W.value, c.value = table[:r1, :-1], table[:r1, -1]
    M.value, d.value = table[r1:, :-1], table[r1:, -1]
    objective, constraints = 0, []
    for sign in (-1.0, 1.0):
        k = problem.y == sign
        X = problem.X[k]
        xi = cp.Variable(int(k.sum()), name="xi_negative" if sign < 0 else "xi_positive")
        xi.value = 1.0 - problem.margins(theta)[k]
        dilation = cp.max(X @ W.T + np.ones((len(X), 1)) @ cp.reshape(c, (1, r1), order="C"), axis=1)
        erosion = cp.max(X @ M.T + np.ones((len(X), 1)) @ cp.reshape(d, (1, r2), order="C"), axis=1)
        constraints.append(dilation + 1 <= erosion + xi if sign < 0 else erosion + 1 <= dilation + xi)
        objective += cp.sum(cp.multiply(problem.weight[k], cp.pos(xi)))
    if problem.pieces.bounds is not None:
        lower, upper = (problem.pieces.table(bound)[:, :-1] for bound in problem.pieces.bounds)
        for slopes, rows in ((W, slice(0, r1)), (M, slice(r1, None))):
            constraints.append(cp.multiply(lower[rows] == 0.0, slopes) >= 0)
            constraints.append(cp.multiply(upper[rows] == 0.0, slopes) <= 0)
    if problem.ridge.any():
        root = np.sqrt(problem.ridge / 2)
        objective += cp.sum_squares(W @ np.diag(root)) + cp.sum_squares(M @ np.diag(root))
    return cp.Problem(cp.Minimize(objective), constraints), (W, c, M, d)


def _run_dccp(program: Any, record: Callable[[], None], settings: dict[str, Any], options: dict[str, Any]) -> None:
    """Run DCCP on a program, and call `record` after each iteration.

    DCCP reports its iterations in its log alone. Its documented class `DCCP` ("for more advanced usage") has the
    attribute `iter`, which solves one subproblem per iteration: here it is one that also records.
    """
    from dccp.problem import DCCP, DCCPIter
    from dccp.utils import DCCPSettings

    class RecordedIteration(DCCPIter):
        def solve(self, **kwargs: Any) -> float | None:
            cost = super().solve(**kwargs)
            record()
            return cost

    procedure = DCCP(program, settings=DCCPSettings(**settings), **options)
    procedure.iter = RecordedIteration(prob=program, tau=procedure.tau)
    procedure()


def _values(variables: tuple[Any, Any, Any, Any]) -> np.ndarray:
    """theta from the values of the variables."""
    W, c, M, d = (variable.value for variable in variables)
    return np.vstack([np.column_stack([W, c]), np.column_stack([M, d])]).ravel()
