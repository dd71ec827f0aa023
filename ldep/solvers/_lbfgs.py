"""L-BFGS for functions that may have kinks, with bounds on single coordinates.

The compact form of Byrd, Nocedal and Schnabel, and the weak Wolfe search by bisection of Lewis and Overton, which needs
no smoothness. scipy's L-BFGS-B spends more time between two evaluations than the evaluations of a small problem take.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]

DECREASE, CURVATURE = 1e-4, 0.9
SEARCH_STEPS = 25


def minimize(
    function: Function,
    x: np.ndarray,
    *,
    max_iter: int,
    memory: int = 10,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
    after: Callable[[float], bool] = lambda value: False,
) -> np.ndarray:
    """Minimise from x. `after` is told the value after each iteration, and ends the descent by returning True."""
    value, gradient = function(x)
    curved = Curvature(len(x), memory)
    for _ in range(max_iter):
        free = None if bounds is None else ~_held(x, gradient, *bounds)
        direction = -curved.solve(gradient, free)
        if gradient @ direction >= 0:  # rounding, or a bound: start again from the steepest descent
            curved = Curvature(len(x), memory)
            direction = -curved.solve(gradient, free)
        step = 1.0 if curved.count else 1.0 / max(1.0, float(np.linalg.norm(direction)))
        found = _search(function, x, value, gradient, direction, step, bounds)
        if found is None or not found[1] < value:  # nothing lower along this line, to the precision at hand
            break
        new_x, value, new_gradient = found
        curved.add(new_x - x, new_gradient - gradient)
        x, gradient = new_x, new_gradient
        if after(value):
            break
    return x


class Curvature:
    """The last pairs s = change of x, y = change of the gradient, and the inverse Hessian H that they imply.

    With R the upper triangle of S Y^T, D its diagonal and scale = s.y / y.y of the last pair,
    H g = scale g + S^T R^-T ((D + scale Y Y^T) R^-1 S g - scale Y g) - scale Y^T R^-1 S g.
    """

    def __init__(self, size: int, memory: int):
        self.S, self.Y = np.zeros((memory, size)), np.zeros((memory, size))
        self.SY, self.YY = np.zeros((memory, memory)), np.zeros((memory, memory))
        self.memory, self.count = memory, 0

    def add(self, s: np.ndarray, y: np.ndarray) -> None:
        product, square = float(s @ y), float(y @ y)
        if not product > 1e-10 * square:
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
        """H times the gradient, on the free coordinates."""
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


def _search(function, x, value, gradient, direction, step, bounds):
    """A point with a lower value and less slope, or None."""
    slope = float(gradient @ direction)
    low, high, best = 0.0, np.inf, None
    for _ in range(SEARCH_STEPS):
        new_x = x + step * direction
        if bounds is not None:
            np.clip(new_x, *bounds, out=new_x)
        new_value, new_gradient = function(new_x)
        if not new_value <= value + DECREASE * step * slope:
            high = step
        else:
            best = new_x, new_value, new_gradient
            if float(new_gradient @ direction) >= CURVATURE * slope:
                return best
            low = step
        step = 2.0 * low if high == np.inf else (low + high) / 2.0
        if best is not None and high < np.inf and high - low <= 0.1 * high:
            return best
    return best


def _held(x: np.ndarray, gradient: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The coordinates that stand at a bound and would leave it."""
    return ((x <= lower) & (gradient > 0)) | ((x >= upper) & (gradient < 0))
