"""The program of the paper (see `LDEPClassifier`), word for word: CVXPY and DCCP [1]_ with any of CVXPY's solvers.

    minimise    sum_k s_k max(xi_k, 0)   (+ 1/2 sum ridge_j w_pj^2)
    subject to  max_i(w_i . x_k + c_i) + 1 <= max_j(m_j . x_k + d_j) + xi_k   for negatives
                max_i(w_i . x_k + c_i) + xi_k >= max_j(m_j . x_k + d_j) + 1   for positives

It is the reference for the other solvers, not a way to train: see benchmarks/. DCCP is licensed under the GPL. It is
imported only here, and only when this solver is asked for.

.. [1] X. Shen, S. Diamond, Y. Gu and S. Boyd, "Disciplined convex-concave programming", IEEE Conference on Decision and
   Control, 2016, 1009-1014.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldep.solvers._base import AFFINE_PIECES, DENSE_ROWS, HINGE, TWO_CLASSES, Log, Need, Solution, Solver
from ldep.training import AffinePieces, Problem, within_bounds

# Solvers that come with CVXPY, to suggest where another one fails.
FREE_SOLVERS = ("HIGHS", "CLARABEL", "SCS")


@dataclass(frozen=True)
class Dccp(Solver):
    """The program of the paper.

    `cvx_solver` is the name of a CVXPY solver. None is HIGHS (its interior point) for alpha = 0, where the subproblems
    are LPs, and CLARABEL otherwise: HiGHS's QP solver does not finish on them. `tau_ini` is DCCP's first weight of a
    constraint's violation. Below the weight of a slack variable, which is 1, the first iterations only raise it.
    """

    cvx_solver: str | None = None
    tau_ini: float = 1.0

    @property
    def needs(self) -> tuple[Need, ...]:
        return DENSE_ROWS, AFFINE_PIECES, TWO_CLASSES, HINGE

    def solve(
        self,
        problem: Problem[Any],
        theta: np.ndarray,
        *,
        max_iter: int | None = None,
        tol: float | None = None,
        verbose: int = 0,
    ) -> Solution:
        """Minimise F; return the last iterate.

        `max_iter` counts subproblems; None is 100. DCCP stops when an iteration changes the objective by less than a
        hundredth of the share `tol` of its first value; None is 0.001.
        """
        try:
            import cvxpy as cp
            import dccp  # noqa: F401  whether it is installed
        except ImportError as error:
            raise ImportError(f"the solver 'dccp' needs {error.name}: pip install 'ldep[dccp]'.") from error

        tol = 1e-3 if tol is None else tol
        options = _solver_options(self.cvx_solver, quadratic=bool(problem.ridge.any()))
        program, variables = paper_program(problem, theta)
        log = Log(verbose, "dccp")

        def record() -> None:
            log.add(problem.objective(_values(variables)))

        try:
            with warnings.catch_warnings():
                # CVXPY's own bookkeeping of bounds multiplies zeros by infinities and reads sparse parameters.
                warnings.filterwarnings("ignore", category=RuntimeWarning, module="cvxpy")
                warnings.filterwarnings(
                    "ignore", category=RuntimeWarning, message="Reading from a sparse CVXPY expression"
                )
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
                            "tau_ini": self.tau_ini,
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
                    f"MOSEK has no valid licence here ({cause}); get one from MOSEK, or use cvx_solver= one of "
                    f"{others}."
                ) from error
            raise
        theta = within_bounds(problem.pieces, _values(variables))
        converged = program.status == cp.OPTIMAL
        return log.solution(theta, problem.objective(theta), converged=converged, advice="increase max_iter or tol")


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
    """State the program in CVXPY, with theta as values of the variables, which are W, c, M and d."""
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
