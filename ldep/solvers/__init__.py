"""One training problem, many solvers.

A solver is a function

    solve(problem, theta, *, max_iter, tol, verbose, **options) -> Solution

in a file of its own. A new one is a new file and a line in `SOLVERS`.
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
