"""Which settings a self-tuning ℓ-DEP tries, and in which order.

The first pair (r1, r2) is tried with every loss, penalty and alpha. The other pairs are tried with the loss and the
penalty that were best, and near the best alpha only: how much regularisation the data need depends little on the number
of pieces. A pair of one piece each is a linear model. With a large alpha all models come close to one, so it is tried
with hardly any penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from ldep.search._cross_validation import Path
from ldep.training import LOSSES, ROTATE_UP_TO, Loss

# How much smaller the alpha of a linear model is than the smallest one.
LINEAR_DIVISOR = 1e4
# Alphas within this factor of the best one are near it.
NEAR = 10.001
LINEAR = (1, 1)
# What "auto" stands for. With more than two classes each has two maxima, and more pieces gain nothing; the hinge gains
# little for half of the time. Chosen on the tables of `benchmarks/collection`: docs/model.md.
PIECES_OF_TWO: tuple[tuple[int, int], ...] = ((10, 10), LINEAR, (40, 40))
PIECES_OF_MORE: tuple[tuple[int, int], ...] = ((10, 10), LINEAR)
LOSSES_OF_MORE: tuple[Loss, ...] = ("logistic",)
PENALTIES = ("norm", "variance")


@dataclass(frozen=True)
class Plan:
    """The settings to try: pairs (r1, r2), alphas, penalties, and losses.

    With many features "variance" is left out unless it is the only penalty: its coordinates need an eigendecomposition
    that costs more than all fits. Where both losses are tried, the hinge is left out with "variance": on the tables of
    `benchmarks/collection` the votes were no worse without it.
    """

    pieces: Sequence[tuple[int, int]]
    alphas: Sequence[float]
    penalties: Sequence[str]
    losses: Sequence[Loss]
    n_features: int

    @property
    def smallest_alpha(self) -> float:
        """The smallest positive alpha of all settings, or 0."""
        alphas = [*self.alphas, self._linear_alpha()]
        return min((alpha for alpha in alphas if alpha > 0), default=0.0)

    def _linear_alpha(self) -> float:
        return min(self.alphas) / LINEAR_DIVISOR

    def first_paths(self) -> list[Path]:
        """The settings to start with."""
        penalties = list(dict.fromkeys(self.penalties))
        if self.n_features > ROTATE_UP_TO and len(penalties) > 1:
            penalties.remove("variance")
        losses = list(dict.fromkeys(self.losses))
        kinds = [(penalty, loss) for loss in losses for penalty in penalties]
        if len(losses) > 1 and len(penalties) > 1:
            kinds.remove(("variance", "hinge"))
        alphas = tuple(sorted(set(self.alphas)))
        paths = []
        for pair in self._curved()[:1]:
            paths += [Path(*pair, *kind, alphas) for kind in kinds]
        if LINEAR in self.pieces:
            paths += [Path(*LINEAR, penalties[0], loss, (self._linear_alpha(),)) for loss in losses]
        return paths

    def later_paths(self, best: dict) -> list[Path]:
        """The settings to try after the first ones, when the best of these is known."""
        centre = max(best["alpha"], min(self.alphas))
        near = [alpha for alpha in sorted(set(self.alphas)) if centre / NEAR <= alpha <= centre * NEAR]
        return [Path(*pair, best["penalty"], best["loss"], tuple(near)) for pair in self._curved()[1:]]

    def _curved(self) -> list[tuple[int, int]]:
        """The pairs that are not linear models, each once."""
        return [pair for pair in dict.fromkeys(self.pieces) if pair != LINEAR]


def within_budget(paths: list[Path], n_settings: float) -> list[Path]:
    """The first settings of the paths, at most `n_settings`: of a path that does not fit, the alphas in its middle."""
    kept = []
    for path in paths:
        count = int(min(len(path.alphas), n_settings))
        if count > 0:
            first = (len(path.alphas) - count) // 2
            kept.append(path._replace(alphas=path.alphas[first : first + count]))
            n_settings -= count
    return kept


def check_grid(
    pieces, alphas, penalties, losses, n_classes: int = 2
) -> tuple[list[tuple[int, int]], list[float], list[str], list[Loss]]:
    """The settings to try, or an error that names the wrong one."""
    if isinstance(pieces, str) and pieces == "auto":
        pieces = PIECES_OF_TWO if n_classes == 2 else PIECES_OF_MORE
    if isinstance(losses, str) and losses == "auto":
        losses = LOSSES if n_classes == 2 else LOSSES_OF_MORE
    grid = (("pieces", pieces), ("alphas", alphas), ("penalties", penalties), ("losses", losses))
    for name, values in grid:
        if isinstance(values, str) or len(values) == 0:
            raise ValueError(f"{name} must be a sequence with at least one value, but is {values!r}.")
    for pair in pieces:
        if np.shape(pair) != (2,) or not all(isinstance(r, Integral) and int(r) >= 1 for r in pair):
            raise ValueError(f"pieces: {pair!r} is not a pair (r1, r2) of positive whole numbers.")
    for alpha in alphas:
        if not (isinstance(alpha, Real) and 0 <= float(alpha) < np.inf):
            raise ValueError(f"alphas: {alpha!r} is not a nonnegative number.")
    for penalty in penalties:
        if penalty not in PENALTIES:
            raise ValueError(f"penalties: {penalty!r} is not one of {', '.join(PENALTIES)}.")
    for loss in losses:
        if loss not in LOSSES:
            raise ValueError(f"losses: {loss!r} is not one of {', '.join(LOSSES)}.")
    pairs = [(int(r1), int(r2)) for r1, r2 in pieces]
    return pairs, [float(alpha) for alpha in alphas], list(penalties), list(losses)
