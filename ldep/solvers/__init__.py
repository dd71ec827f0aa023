"""One training problem, many solvers.

A solver is a class in a file of its own, see `Solver`: its fields are its options, `needs` says what it needs of a
problem, and `solve` minimises F from theta. It may ask the problem whatever `ldep.training.Problem` and
`ldep.training.Pieces` declare. To add a solver, write one file and add one line to `SOLVERS`.
"""

from __future__ import annotations

from dataclasses import fields

from ldep._utils import single_thread
from ldep.solvers._anneal import EXACT_FLOPS, ONE_DESCENT, WARM, Anneal, cool, has_exact_method, weight_scale
from ldep.solvers._base import (
    AFFINE_PIECES,
    DENSE_ROWS,
    HINGE,
    NO_PENALTY,
    TWO_CLASSES,
    Log,
    Need,
    Solution,
    Solver,
    best_of_starts,
)
from ldep.solvers._ccp import Ccp
from ldep.solvers._dccp import Dccp
from ldep.solvers._interior import linear_step_flops, solve_linear
from ldep.solvers._smoothing import FINAL_TEMPERATURE
from ldep.solvers._streamed import Reservoir, RunningCovariance, StreamedProblem, refine

SOLVERS: dict[str, type[Solver]] = {
    "anneal": Anneal,
    "ccp": Ccp,
    "dccp": Dccp,
}

# What the author of a solver needs. The other names are for the packages above.
__all__ = [
    "AFFINE_PIECES",
    "DENSE_ROWS",
    "HINGE",
    "NO_PENALTY",
    "SOLVERS",
    "TWO_CLASSES",
    "Log",
    "Need",
    "Solution",
    "Solver",
    "check_options",
]


def check_options(solver: str, options: dict | None) -> Solver:
    """The solver with these options, or an error that lists those it has."""
    known = sorted(option.name for option in fields(SOLVERS[solver]))
    unknown = sorted(set(options or {}) - set(known))
    if unknown:
        valid = f"it has {known}" if known else "it has none"
        raise ValueError(f"solver_options: the solver {solver!r} has no option {unknown[0]!r}; {valid}.")
    return SOLVERS[solver](**(options or {}))
