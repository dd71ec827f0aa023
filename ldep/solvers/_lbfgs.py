"""L-BFGS for functions that may have kinks, with bounds on single coordinates.

It uses the compact representation of the inverse Hessian by Byrd, Nocedal and Schnabel [1]_, and the weak Wolfe line
search by bisection of Lewis and Overton [2]_, which needs no smoothness. `python -m benchmarks lbfgs` compares it with
scipy's L-BFGS-B, whose line search requires the strong Wolfe conditions.

References
----------
.. [1] R. H. Byrd, J. Nocedal and R. B. Schnabel, "Representations of quasi-Newton matrices and their use in limited
   memory methods", Mathematical Programming 63 (1994), 129-156.
.. [2] A. S. Lewis and M. L. Overton, "Nonsmooth optimization via quasi-Newton methods", Mathematical Programming 141
   (2013), 135-163.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Bounds = tuple[np.ndarray, np.ndarray]

# The Wolfe conditions: least decrease along the line, and the share of the slope that may be left.
DECREASE, CURVATURE = 1e-4, 0.9
SEARCH_STEPS = 25


class Point(NamedTuple):
    """A point with the value and the gradient of the function."""

    x: np.ndarray
    value: float
    gradient: np.ndarray


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
    point = Point(x, *function(x))
    curvature = Curvature(len(x), memory)
    for _ in range(max_iter):
        free = None if bounds is None else ~_blocked(point, bounds)
        direction = -curvature.solve(point.gradient, free)
        if point.gradient @ direction >= 0:  # rounding, or a bound: start again from the steepest descent
            curvature = Curvature(len(x), memory)
            direction = -curvature.solve(point.gradient, free)
        step = 1.0 if curvature.count else 1.0 / max(1.0, float(np.linalg.norm(direction)))
        new = _line_search(function, point, direction, step, bounds)
        if new is None or not new.value < point.value:  # nothing lower along this line, to the precision at hand
            break
        curvature.add(new.x - point.x, new.gradient - point.gradient)
        point = new
        if after is not None and after(point.value):
            break
    return point.x


class Curvature:
    """The last pairs s = change of x, y = change of the gradient, and the inverse Hessian H that they imply.

    With R the upper triangle of S Y^T, D its diagonal and scale = s.y / y.y of the last pair,
    H g = scale g + S^T R^-T ((D + scale Y Y^T) R^-1 S g - scale Y g) - scale Y^T R^-1 S g.

    Parameters
    ----------
    size : int
        Number of coordinates.
    memory : int
        Number of pairs to remember.
    """

    def __init__(self, size: int, memory: int):
        self.S, self.Y = np.zeros((memory, size)), np.zeros((memory, size))
        self.SY, self.YY = np.zeros((memory, memory)), np.zeros((memory, memory))
        self.memory, self.count = memory, 0

    def add(self, s: np.ndarray, y: np.ndarray) -> None:
        """Add a pair, in place of the oldest one when the memory is full. A pair without curvature is ignored."""
        product, square = float(s @ y), float(y @ y)
        if not (square > 0.0 and product > 1e-10 * square):  # the square may underflow to zero
            return
        k = self.count
        if k == self.memory:
            self.S[:-1], self.Y[:-1] = self.S[1:], self.Y[1:]
            self.SY[:-1, :-1], self.YY[:-1, :-1] = self.SY[1:, 1:], self.YY[1:, 1:]
            k -= 1
        self.S[k], self.Y[k] = s, y
        self.count = k + 1
        self.SY[: k + 1, k] = self.S[: k + 1] @ y
        self.YY[: k + 1, k] = self.YY[k, : k + 1] = self.Y[: k + 1] @ y
        self.scale = product / square

    def solve(self, gradient: np.ndarray, free: np.ndarray | None) -> np.ndarray:
        """H times the gradient; zero on the coordinates that are not free."""
        g = gradient if free is None else np.where(free, gradient, 0.0)
        k = self.count
        if k == 0:
            return g
        S, Y = self.S[:k], self.Y[:k]
        inverse = np.linalg.inv(np.triu(self.SY[:k, :k]))
        along = inverse @ (S @ g)
        middle = self.SY[:k, :k].diagonal() * along + self.scale * (self.YY[:k, :k] @ along - Y @ g)
        result = self.scale * g + (inverse.T @ middle) @ S - (self.scale * along) @ Y
        return result if free is None else np.where(free, result, 0.0)


def _line_search(
    function: Function, point: Point, direction: np.ndarray, step: float, bounds: Bounds | None
) -> Point | None:
    """A point with a lower value and less slope, or None when there is no lower one."""
    slope = float(point.gradient @ direction)
    low, high, best = 0.0, np.inf, None
    for _ in range(SEARCH_STEPS):
        x = point.x + step * direction
        if bounds is not None:
            np.clip(x, *bounds, out=x)
        new = Point(x, *function(x))
        if not new.value <= point.value + DECREASE * step * slope:
            high = step
        else:
            best = new
            if float(new.gradient @ direction) >= CURVATURE * slope:
                return best
            low = step
        step = 2.0 * low if high == np.inf else (low + high) / 2.0
        if best is not None and high < np.inf and high - low <= 0.1 * high:
            return best
    return best


def _blocked(point: Point, bounds: Bounds) -> np.ndarray:
    """The coordinates that are at a bound and that a descent would move beyond it."""
    lower, upper = bounds
    return ((point.x <= lower) & (point.gradient > 0)) | ((point.x >= upper) & (point.gradient < 0))
