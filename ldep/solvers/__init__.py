"""One training problem, many solvers.

A solver is a function

    solve(problem, theta, *, max_iter, tol, verbose, **options) -> Solution

in a file of its own. It minimises F from theta and may ask the problem whatever `ldep.problem.Problem` and
`ldep.pieces.Pieces` declare. To add a solver, write one file and add one line to `SOLVERS`.
"""

from __future__ import annotations

from collections.abc import Callable

from ldep.solvers import anneal, ccp, dccp
from ldep.solvers.solution import Solution

SOLVERS: dict[str, Callable[..., Solution]] = {
    "anneal": anneal.solve,
    "ccp": ccp.solve,
    "dccp": dccp.solve,
}

__all__ = ["SOLVERS", "Solution"]
