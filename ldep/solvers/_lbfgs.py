"""scipy's L-BFGS-B [1]_, ended by a rule of the caller instead of its own tolerances.

References
----------
.. [1] R. H. Byrd, P. Lu, J. Nocedal and C. Zhu, "A limited memory algorithm for bound constrained optimization", SIAM
   Journal on Scientific Computing 16 (1995), 1190-1208.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Bounds = tuple[np.ndarray, np.ndarray]

# Evaluations per iteration that a line search may need on average, before the descent is given up.
EVALUATIONS_PER_ITERATION = 25


def minimize(
    function: Function,
    x: np.ndarray,
    *,
    max_iter: int,
    memory: int = 10,
    bounds: Bounds | None = None,
    after: Callable[[float], bool] | None = None,
) -> np.ndarray:
    """Minimise a function from x.

    Parameters
    ----------
    function : callable
        Returns the value and the gradient (or a subgradient) at a point.
    x : ndarray of shape (n,)
        Where to start.
    max_iter : int
        Largest number of iterations.
    memory : int, default=10
        Number of past steps that the Hessian is estimated from.
    bounds : pair of ndarrays of shape (n,), default=None
        Lower and upper bounds.
    after : callable, default=None
        Receives the value after each iteration, and ends the descent by returning True.

    Returns
    -------
    x : ndarray of shape (n,)
        The last point; no earlier one has a lower value.
    """

    def callback(intermediate_result: optimize.OptimizeResult) -> None:
        if after is not None and after(float(intermediate_result.fun)):
            raise StopIteration

    result = optimize.minimize(
        function,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=None if bounds is None else optimize.Bounds(*bounds),
        callback=callback,
        options={
            "maxcor": memory,
            "maxiter": max_iter,
            "maxfun": EVALUATIONS_PER_ITERATION * max_iter,
            "maxls": EVALUATIONS_PER_ITERATION,
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )
    return result.x if bounds is None else np.clip(result.x, *bounds)
