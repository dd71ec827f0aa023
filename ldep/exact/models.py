"""Trained models as plain arrays: the maxima of one model, and the weighted votes of several."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ldep.probability import OPEN_VOTES


@dataclass(frozen=True)
class Maxima:
    """One model: the class of x is the k with the largest s_k(x) = max_i(w_ki . (x - center) + c_ki).

    With two classes, tau = s_1 - s_0.

    Parameters
    ----------
    slopes : list of ndarray of shape (n_pieces, n_features)
        The w_ki, one array per class.
    offsets : list of ndarray of shape (n_pieces,)
        The values of the pieces at the centre.
    center : ndarray of shape (n_features,)
        Origin of the pieces. It is not 0 where a feature has a large offset, in which the values would cancel.
    """

    slopes: list[np.ndarray]
    offsets: list[np.ndarray]
    center: np.ndarray

    @property
    def n_classes(self) -> int:
        return len(self.slopes)

    def scores(self, X: np.ndarray) -> list[np.ndarray]:
        """The value of every piece on every row: one array of shape (n_rows, n_pieces) per class."""
        Z = X - self.center
        return [Z @ slopes.T + offsets for slopes, offsets in zip(self.slopes, self.offsets)]

    def after(self, matrix: np.ndarray, start: np.ndarray, center: np.ndarray) -> Maxima:
        """The same model as a function of v, where x = start + matrix (v - center)."""
        slopes = [own @ matrix for own in self.slopes]
        offsets = [offset + own @ (start - self.center) for own, offset in zip(self.slopes, self.offsets)]
        return Maxima(slopes, offsets, center)

    def with_threshold(self, threshold: float) -> Maxima:
        """The same model of two classes, of which the second is predicted where tau reaches the threshold."""
        return self if threshold == 0 else replace(self, offsets=[self.offsets[0] + threshold, *self.offsets[1:]])

    def rounding(self, X: np.ndarray) -> np.ndarray:
        """A bound of the rounding error of the scores of each row.

        The sums of a matrix product are rounded differently when a row comes alone or with others.
        """
        Z = np.abs(X - self.center)
        sizes = [
            (Z @ np.abs(slopes).T + np.abs(offsets)).max(axis=1) for slopes, offsets in zip(self.slopes, self.offsets)
        ]
        return 4.0 * (X.shape[1] + 4) * np.finfo(float).eps * np.max(sizes, axis=0)


@dataclass(frozen=True)
class Average:
    """Several models of two classes that vote: tau(x) = sum_k weights_k vote_k(x) - threshold.

    The vote of a model is its tau, clipped to [-1, 1] if `clipped`.
    """

    members: list[Maxima]
    weights: np.ndarray
    threshold: float
    clipped: bool

    def after(self, matrix: np.ndarray, start: np.ndarray, center: np.ndarray) -> Average:
        """The same model as a function of v, where x = start + matrix (v - center)."""
        members = [member.after(matrix, start, center) for member in self.members]
        return replace(self, members=members)

    def with_threshold(self, threshold: float) -> Average:
        """The same model, of which the second class is predicted where tau reaches the threshold."""
        return replace(self, threshold=self.threshold + threshold)

    def rounding(self, X: np.ndarray) -> np.ndarray:
        """A bound of the rounding error of tau of each row."""
        return sum(weight * member.rounding(X) for member, weight in zip(self.members, self.weights))


@dataclass(frozen=True)
class ClassVotes:
    """Several models of more than two classes that vote: the class of x is the k with the largest

        factors_k sum_m weights_m sparsemax_k(s_m(x)) + constants_k,

    where s_m are the scores of the model m.
    """

    members: list[Maxima]
    weights: np.ndarray
    factors: np.ndarray
    constants: np.ndarray


def maxima(model) -> Maxima:
    """The maxima of a trained model with linear pieces."""
    return Maxima(model.coefs_, model._offsets_by_class(), model.center_)


def average_or_maxima(models: list, weights: np.ndarray, threshold: float, clipped: bool) -> Average | Maxima:
    """The vote of trained models of two classes; a single one that is not clipped is reduced to its maxima."""
    members = [maxima(model) for model in models]
    if len(members) == 1 and not clipped:
        (only,) = members
        return Maxima(only.slopes, [only.offsets[0] + threshold / weights[0], only.offsets[1]], only.center)
    return Average(members, np.asarray(weights, float), threshold, clipped)


def class_votes(models: list, weights: np.ndarray, class_factors: np.ndarray) -> ClassVotes:
    """The vote of trained models of more than two classes, of which a small part counts as open."""
    members = [maxima(model) for model in models]
    factors = class_factors * (1.0 - OPEN_VOTES)
    return ClassVotes(members, np.asarray(weights, float), factors, class_factors * OPEN_VOTES / len(class_factors))
