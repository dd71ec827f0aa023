"""Where the better rows of a node of the search can be, and how much a linear function can rise there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Box = tuple[np.ndarray, np.ndarray]
# How often the coordinates of a box are shrunk, and what rounding may cost.
PASSES = 2
ROUNDING = 1e-9


@dataclass(frozen=True)
class Cap:
    """The part of the ball |v| <= radius with v . axis >= height, where axis has length 1, or is 0 for the whole ball.

    In L2, let u be the projection of 0 onto a convex set. All v in the set have v . u >= |u|^2, so that those nearer
    than the radius are in the cap with the axis u / |u| and the height |u|. It shrinks as the lower bound |u| rises.
    """

    radius: float
    axis: np.ndarray
    height: float = 0.0

    @property
    def squared_rim(self) -> float:
        """The square of the radius of the disc that cuts the cap off."""
        return max(self.radius**2 - self.height**2, 0.0)

    def rise(self, norm: np.ndarray, along: np.ndarray) -> np.ndarray:
        """The largest value in the cap of linear functions with these dual norms and these slopes along the axis."""
        across = np.sqrt(np.maximum(norm**2 - along**2, 0.0))
        rim = along * self.height + across * np.sqrt(self.squared_rim)
        return np.where(along * self.radius >= self.height * norm, self.radius * norm, rim)

    def box(self) -> Box:
        """The smallest box that contains the cap."""
        one = np.ones(len(self.axis))
        return -self.rise(one, -self.axis), self.rise(one, self.axis)


@dataclass(frozen=True)
class Where:
    """Where better rows can be: in a cap, and in a box if there is one. `rise` takes slopes only for the box."""

    cap: Cap
    box: Box | None = None

    def rise(self, slopes: np.ndarray | None, norm: np.ndarray, along: np.ndarray) -> np.ndarray:
        """A bound of linear functions with these slopes, dual norms, and slopes along the axis of the cap."""
        in_cap = self.cap.rise(norm, along)
        if self.box is None or slopes is None:
            return in_cap
        low, high = self.box
        return np.minimum(in_cap, slopes @ ((low + high) / 2.0) + np.abs(slopes) @ ((high - low) / 2.0))


def shrunk(box: Box, G: np.ndarray, h: np.ndarray) -> Box:
    """A smaller box that contains all points of the box with G u >= h: what each row leaves to each coordinate."""
    low, high = box
    for _ in range(PASSES):
        most = np.maximum(G * low, G * high)
        others = most.sum(axis=1)[:, None] - most
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = (h[:, None] - others) / G
        low = np.maximum(low, np.where(G > 0, limit, -np.inf).max(axis=0, initial=-np.inf))
        high = np.minimum(high, np.where(G < 0, limit, np.inf).min(axis=0, initial=np.inf))
    slack = ROUNDING * (1.0 + np.abs(low) + np.abs(high))
    return low - slack, high + slack
