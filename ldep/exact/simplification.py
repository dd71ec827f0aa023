"""The same model with fewer pieces."""

from __future__ import annotations

import copy

import numpy as np

from ldep.exact.models import Maxima, maxima
from ldep.exact.redundancy import needed_pieces


def box_of(X: np.ndarray | None, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest box that contains the rows; the whole space without rows."""
    if X is None:
        return np.full(n_features, -np.inf), np.full(n_features, np.inf)
    return X.min(axis=0), X.max(axis=0)


def without_dead_pieces(model: Maxima, low: np.ndarray, high: np.ndarray) -> Maxima:
    """The same functions in the box, from the pieces that they need."""
    slopes, offsets = [], []
    for w, c in zip(model.slopes, model.offsets):
        needed = needed_pieces(w, c, low - model.center, high - model.center)
        slopes.append(w[needed])
        offsets.append(c[needed])
    return Maxima(slopes, offsets, model.center)


def simplified(estimator, low: np.ndarray, high: np.ndarray):
    """A copy of a trained model with linear pieces, without its dead pieces."""
    smaller = without_dead_pieces(maxima(estimator), low, high)
    slopes, offsets = smaller.slopes, smaller.offsets
    sizes = [len(w) for w in slopes]
    if len(sizes) > 2:
        # Every class has the same number of pieces there. A piece that is repeated changes nothing.
        slopes = [np.vstack([w, np.repeat(w[:1], max(sizes) - len(w), axis=0)]) for w in slopes]
        offsets = [np.append(c, np.repeat(c[:1], max(sizes) - len(c))) for c in offsets]
        sizes = [max(sizes)] * len(sizes)
    groups = slice(None, None, -1) if len(sizes) == 2 else slice(None)
    table = np.column_stack([np.vstack(slopes[groups]), np.concatenate(offsets[groups])])
    result = copy.deepcopy(estimator)
    result.r1, result.r2 = sizes[groups][0], sizes[groups][1]
    result._set_pieces(table, tuple(sizes[groups]))
    # What _set_pieces takes as offsets at 0 are offsets at the centre.
    result.intercepts_ = [c - w @ smaller.center for w, c in zip(slopes, offsets)]
    result.center_ = smaller.center
    return result
