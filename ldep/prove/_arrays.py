"""The problem of a certificate in floating point, for the search. `verify` builds it, and has the last word.

The places of an affine function are the inputs x, the maxima z_1, ..., z_G in their order, and the constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldep.prove.verify import CONSTANT, Problem


@dataclass(frozen=True)
class Box:
    """Some of the allowed x: ranges of the inputs, the pieces that may be the largest, and the choices."""

    low: np.ndarray
    high: np.ndarray
    pieces: tuple[tuple[int, ...], ...]
    choices: tuple[tuple[int, ...], ...]

    @property
    def empty(self) -> bool:
        return bool((self.low > self.high).any()) or not all(self.choices)

    def with_pieces(self, g: int, group: Sequence[int]) -> Box:
        return replace(self, pieces=(*self.pieces[:g], tuple(group), *self.pieces[g + 1 :]))

    def with_choice(self, c: int, group: Sequence[int]) -> Box:
        return replace(self, choices=(*self.choices[:c], tuple(group), *self.choices[c + 1 :]))


class Arrays:
    """The numbers of a problem, with the objective of one claim."""

    def __init__(self, problem: Problem, objective: dict[int, Any]):
        self.n, self.n_maxima = problem.size, len(problem.pieces)
        self.width = self.n + self.n_maxima + 1
        self.pieces = [np.array([self.row(piece) for piece in pieces]) for pieces in problem.pieces]
        self.objective = self.row(objective)
        rows = np.array([self.row(form) for form in problem.rows]).reshape(-1, self.width)
        self.rows, self.at_most = -rows[:, : self.n], rows[:, -1]
        self.choices = [(np.array(places), np.array(table, dtype=float)) for places, table in problem.choices]
        self.bridges = [(g, h, self.row(largest)) for g, h, largest in problem.bridges]
        self.grids = [None if grid is None else (float(grid[0]), float(grid[1])) for grid in problem.grids]
        self.free = np.array(problem.free, dtype=int)
        self.ball = None
        if problem.ball:
            center, scale = (np.array([float(v) for v in part]) for part in (problem.center, problem.scale))
            self.ball = (center, scale, float(problem.radius), problem.ball["norm"])

    def row(self, form: dict[int, Any]) -> np.ndarray:
        """An affine function as a row of coefficients."""
        row = np.zeros(self.width)
        for place, coefficient in form.items():
            row[place if place != CONSTANT else self.width - 1] = float(coefficient)
        return row

    def box(self, problem: Problem, ranges) -> Box:
        part = problem.start(ranges)
        low, high = (np.array([float(v) for v in side]) for side in (part.low, part.high))
        for (places, table), allowed in zip(self.choices, part.choices):
            if allowed:
                low[places], high[places] = table[list(allowed)].min(axis=0), table[list(allowed)].max(axis=0)
        return Box(low, high, tuple(part.pieces), tuple(part.choices))

    def values(self, X: np.ndarray) -> np.ndarray:
        """All places at rows of inputs: one column per input and maximum, and the constant."""
        V = np.zeros((len(X), self.width))
        V[:, : self.n], V[:, -1] = X, 1.0
        for g, pieces in enumerate(self.pieces):
            V[:, self.n + g] = (V @ pieces.T).max(axis=1)
        return V

    def at(self, X: np.ndarray) -> np.ndarray:
        """The objective at rows of inputs."""
        return self.values(X) @ self.objective

    def limits(self, box: Box) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of each maximum in a part."""
        lowest, highest = np.full(self.n_maxima, np.nan), np.full(self.n_maxima, np.nan)
        for g, pieces in enumerate(self.pieces):
            lowest[g] = -self.largest(-pieces, box, lowest, highest).min()
            highest[g] = self.largest(pieces[list(box.pieces[g])], box, lowest, highest).max()
        return lowest, highest

    def largest(self, forms: np.ndarray, box: Box, lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
        """Upper bounds of affine functions in a part, with bounds of the maxima that they contain."""
        return np.minimum(*(self._largest(forms, box, lowest, highest, known) for known in (0, 1)))

    def _largest(self, forms: np.ndarray, box: Box, lowest: np.ndarray, highest: np.ndarray, known: int) -> np.ndarray:
        forms = forms.copy()
        for g in reversed(range(self.n_maxima)):
            factors = forms[:, self.n + g].copy()
            if not factors.any():
                continue
            forms[:, self.n + g] = 0.0
            if len(box.pieces[g]) == known:
                forms += factors[:, None] * self.pieces[g][box.pieces[g][0]]
            else:
                forms[:, -1] += np.where(factors > 0, factors * highest[g], factors * lowest[g])
        return self.largest_of_inputs(forms, box)

    def largest_of_inputs(self, forms: np.ndarray, box: Box) -> np.ndarray:
        free = forms[:, self.free]
        total = forms[:, -1] + np.maximum(free * box.low[self.free], free * box.high[self.free]).sum(axis=1)
        for (places, table), allowed in zip(self.choices, box.choices):
            total += (forms[:, places] @ table[list(allowed)].T).max(axis=1)
        return total
