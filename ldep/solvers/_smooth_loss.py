"""The smoothed loss of a chunk of samples, as a function of their scores.

A smoothed loss is a callable (scores, y, weight) -> ChunkLoss. `TwoMaxima` is the one for two classes, `Differences`
the one for more. Both replace a maximum by T log sum exp(./T) unless the maxima are to stay exact, and the hinge by its
Huber form of width T. The logistic loss is smooth already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ldep.training import Loss, Pieces, groups, n_classes_of


class ChunkLoss(NamedTuple):
    """The loss of a chunk."""

    smooth: float  # T times the smoothed loss
    exact: float  # the loss without smoothing
    gradient: np.ndarray  # of the smoothed loss in the scores, of shape (n_pieces, n_rows)


class TwoMaxima:
    """The smoothed loss of two maxima, a function of y tau. With exact maxima only the hinge is smoothed."""

    def __init__(self, pieces: Pieces, temperature: float, loss: Loss, *, exact_maxima: bool):
        self.dilation, self.erosion = groups(pieces)
        self.T = temperature
        self.exact_loss, self.smooth_loss = MARGIN_LOSSES[loss]
        self.margins = self._exact_margins if exact_maxima else self._smooth_margins

    def __call__(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> ChunkLoss:
        """The loss of a chunk; its scores are overwritten."""
        smooth_margin, margin, G = self.margins(scores, y)
        smooth, pull = self.smooth_loss(smooth_margin, weight, self.T)
        G *= pull
        return ChunkLoss(smooth, self.exact_loss(margin, weight), G)

    def _smooth_margins(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The smooth margin, the margin, and the derivative of the first in the scores, which are overwritten by it."""
        u, v = scores[self.dilation], scores[self.erosion]
        top_u, top_v = np.maximum.reduce(u), np.maximum.reduce(v)
        u -= top_u
        v -= top_v
        scores *= 1.0 / self.T
        np.exp(scores, out=scores)
        sum_u, sum_v = np.add.reduce(u), np.add.reduce(v)
        tau = top_u - top_v
        smooth_tau = tau + self.T * np.log(sum_u / sum_v)
        u /= sum_u * y
        v /= sum_v * -y
        return y * smooth_tau, y * tau, scores

    def _exact_margins(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The margin, the margin again, and a subgradient of it in the scores, which are overwritten by it."""
        columns = np.arange(scores.shape[1])
        i = scores[self.dilation].argmax(axis=0)
        j = self.erosion.start + scores[self.erosion].argmax(axis=0)
        margin = y * (scores[i, columns] - scores[j, columns])
        scores.fill(0.0)
        scores[i, columns] = y
        scores[j, columns] = -y
        return margin, margin, scores


class Differences:
    """The smoothed loss of more than two classes, each with the difference of two maxima as its score.

    With the hinge the largest score of the other classes is smoothed too, unless the maxima are exact.
    """

    def __init__(self, pieces: Pieces, temperature: float, loss: Loss, *, exact_maxima: bool):
        self.groups, self.n_classes = groups(pieces), n_classes_of(pieces)
        self.T = temperature
        self.exact_maxima = exact_maxima
        self.loss_of = self._hinge if loss == "hinge" else self._logistic

    def __call__(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> ChunkLoss:
        """The loss of a chunk; its scores are overwritten."""
        own = y.astype(np.intp), np.arange(len(y))
        tops = np.array([np.maximum.reduce(scores[group]) for group in self.groups])
        exact_scores = self._of_classes(tops)
        if self.exact_maxima:
            exact, smooth, pull = self.loss_of(exact_scores, exact_scores, own, weight)
            return ChunkLoss(smooth, exact, self._subgradient(scores, pull))
        sums = np.empty_like(tops)
        for number, group in enumerate(self.groups):
            scores[group] -= tops[number]
            scores[group] *= 1.0 / self.T
            np.exp(scores[group], out=scores[group])
            np.add.reduce(scores[group], out=sums[number])
        smooth_scores = self._of_classes(tops + self.T * np.log(sums))
        exact, smooth, pull = self.loss_of(exact_scores, smooth_scores, own, weight)
        factors = np.concatenate([pull, -pull]) / sums
        for number, group in enumerate(self.groups):
            scores[group] *= factors[number]
        return ChunkLoss(smooth, exact, scores)

    def _of_classes(self, maxima: np.ndarray) -> np.ndarray:
        """The scores of the classes from the maxima."""
        return maxima[: self.n_classes] - maxima[self.n_classes :]

    def _hinge(
        self, exact: np.ndarray, smooth: np.ndarray, own: tuple[np.ndarray, np.ndarray], weight: np.ndarray
    ) -> tuple[float, float, np.ndarray]:
        """The loss of exact scores, T times that of smooth ones, and the derivative of its smooth form in these."""
        rivals = exact.copy()
        rivals[own] = -np.inf
        loss = hinge(exact[own] - np.maximum.reduce(rivals), weight)
        if not self.exact_maxima:
            rivals = smooth.copy()
            rivals[own] = -np.inf
        top = np.maximum.reduce(rivals)
        if self.exact_maxima:
            shares, rival = np.zeros_like(rivals), top
            shares[rivals.argmax(axis=0), own[1]] = 1.0
        else:
            shares = np.exp((rivals - top) / self.T)
            total = np.add.reduce(shares)
            shares /= total
            rival = top + self.T * np.log(total)
        value, pull = huber(smooth[own] - rival, weight, self.T)
        shares *= -pull
        shares[own] = pull
        return loss, value, shares

    def _logistic(
        self, exact: np.ndarray, smooth: np.ndarray, own: tuple[np.ndarray, np.ndarray], weight: np.ndarray
    ) -> tuple[float, float, np.ndarray]:
        """The loss of exact scores, T times that of smooth ones, and the derivative of the latter in these."""
        value, shares = softmax_loss(smooth, own, weight)
        loss = value if smooth is exact else softmax_loss(exact, own, weight)[0]
        shares[own] -= 1.0
        shares *= weight
        return loss, self.T * value, shares

    def _subgradient(self, scores: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """A subgradient in the scores of the pieces, which it overwrites, from the derivative in those of classes."""
        columns = np.arange(scores.shape[1])
        active = [group.start + scores[group].argmax(axis=0) for group in self.groups]
        scores.fill(0.0)
        for piece, values in zip(active, (*pull, *-pull)):
            scores[piece, columns] = values
        return scores


def softmax_loss(
    scores: np.ndarray, own: tuple[np.ndarray, np.ndarray], weight: np.ndarray
) -> tuple[float, np.ndarray]:
    """The weighted multinomial logistic loss, summed in double precision, and the softmax of the scores."""
    lead = scores - np.maximum.reduce(scores)
    shares = np.exp(lead)
    total = np.add.reduce(shares)
    value = float((weight * (np.log(total) - lead[own])).sum(dtype=np.float64))
    shares /= total
    return value, shares


def huber(margin: np.ndarray, weight: np.ndarray, width: float) -> tuple[float, np.ndarray]:
    """`width` times the weighted Huber form of the hinge, and the derivative of that form in each margin."""
    slack = 1.0 - margin
    ramp = np.minimum(np.maximum(slack, 0.0), width)
    pull = weight * ramp
    slack -= 0.5 * ramp
    slack *= pull
    value = float(slack.sum(dtype=np.float64))
    pull *= -1.0 / width
    return value, pull


def hinge(margin: np.ndarray, weight: np.ndarray) -> float:
    """The weighted hinge loss, summed in double precision."""
    return float((weight * np.maximum(1.0 - margin, 0.0)).sum(dtype=np.float64))


def logistic(margin: np.ndarray, weight: np.ndarray) -> float:
    """The weighted logistic loss, summed in double precision."""
    return float((weight * np.logaddexp(0.0, -margin)).sum(dtype=np.float64))


def scaled_logistic(margin: np.ndarray, weight: np.ndarray, width: float) -> tuple[float, np.ndarray]:
    """`width` times the weighted logistic loss, and the derivative of the loss in each margin."""
    return width * logistic(margin, weight), -weight * expit(-margin)


SmoothLoss = Callable[[np.ndarray, np.ndarray, float], tuple[float, np.ndarray]]
# The loss of margins with weights, and its smooth form at a temperature.
MARGIN_LOSSES: dict[Loss, tuple[Callable[[np.ndarray, np.ndarray], float], SmoothLoss]] = {
    "hinge": (hinge, huber),
    "logistic": (logistic, scaled_logistic),
}
