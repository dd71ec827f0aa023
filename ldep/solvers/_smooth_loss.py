"""The smoothed loss of a chunk of samples, as a function of their scores.

A smoothed loss is a callable (scores, y, weight) -> ChunkLoss. `TwoMaxima` is the one for two groups of pieces,
`ManyMaxima` the one for more. Both replace a maximum by T log sum exp(./T) unless the maxima are to stay exact, and the
hinge by its Huber form of width T.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ldep.training import Pieces, groups


class ChunkLoss(NamedTuple):
    """The loss of a chunk."""

    smooth: float  # T times the smoothed loss
    exact: float  # the loss without smoothing
    gradient: np.ndarray | sparse.csc_array  # of the smoothed loss in the scores, (n_pieces, n_rows)
    rows: np.ndarray | slice  # samples of the columns of `gradient`, which is zero in the others


EVERY_ROW = slice(None)
# Leaving out samples without loss costs a copy of the scores of the others. It pays below this share of them.
WORTH_LEAVING_OUT = 0.8


class TwoMaxima:
    """The smoothed loss of two maxima: the hinge of y tau. With exact maxima only the hinge is smoothed."""

    def __init__(self, pieces: Pieces, temperature: float, *, exact_maxima: bool):
        self.dilation, self.erosion = groups(pieces)
        self.T = temperature
        self.margins = self._exact_margins if exact_maxima else self._smooth_margins

    def __call__(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> ChunkLoss:
        """The loss of a chunk; its scores are overwritten."""
        smooth_margin, margin, G = self.margins(scores, y)
        smooth, pull = huber(smooth_margin, weight, self.T)
        G *= pull
        return ChunkLoss(smooth, hinge(margin, weight), G, EVERY_ROW)

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


class ManyMaxima:
    """The smoothed loss of a model with three or more maxima of the same size; y is the index of a group.

    The margin of a sample is a difference of two maxima, as with two classes: of the pieces of its own class, and of
    the pieces of all others. The smooth margin is at least the margin minus T log(number of these others). Samples
    whose loss is zero by that bound are left out before anything is smoothed, which changes nothing.
    """

    def __init__(self, pieces: Pieces, temperature: float, *, exact_maxima: bool):
        self.n_groups, self.n_pieces = len(pieces.group_sizes), pieces.group_sizes[0]
        if set(pieces.group_sizes) != {self.n_pieces}:
            raise ValueError(
                f"More than two groups of pieces must all have the same size, but the sizes are {pieces.group_sizes}."
            )
        self.T = temperature
        self.exact_maxima = exact_maxima
        n_rivals = (self.n_groups - 1) * self.n_pieces
        self.zero_loss_from = 1.0 if exact_maxima else 1.0 + temperature * np.log(n_rivals)

    def __call__(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> ChunkLoss:
        """The loss of a chunk; its scores are overwritten."""
        by_group = self._by_group(scores)
        top = np.maximum.reduce(by_group, axis=1)
        own = y.astype(np.intp)
        own_entry = own, np.arange(len(y))
        margin = top[own_entry]
        rivals = top.copy()
        rivals[own_entry] = -np.inf
        margin -= np.maximum.reduce(rivals)
        exact = hinge(margin, weight)
        rows = np.flatnonzero(~(margin >= self.zero_loss_from))  # also where the margin is not a number
        if self.exact_maxima:
            smooth, pull = huber(margin[rows], weight[rows], self.T)
            rival = rivals.take(rows, axis=1).argmax(axis=0)
            return ChunkLoss(smooth, exact, self._subgradient(by_group, own[rows], rival, rows, pull), rows)
        if len(rows) > WORTH_LEAVING_OUT * len(y):
            smooth, G = self._smooth_loss(by_group, top, own, weight)
            return ChunkLoss(smooth, exact, G, EVERY_ROW)
        by_group = self._by_group(scores.take(rows, axis=1))
        smooth, G = self._smooth_loss(by_group, top.take(rows, axis=1), own[rows], weight[rows])
        return ChunkLoss(smooth, exact, G, rows)

    def _by_group(self, scores: np.ndarray) -> np.ndarray:
        """View of a score matrix with one matrix per group."""
        return scores.reshape(self.n_groups, self.n_pieces, -1)

    def _smooth_loss(
        self, by_group: np.ndarray, top: np.ndarray, own: np.ndarray, weight: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """T times the smoothed loss, and its gradient, which overwrites the scores."""
        by_group -= top[:, None]
        by_group *= 1.0 / self.T
        np.exp(by_group, out=by_group)
        sums = np.add.reduce(by_group, axis=1)
        soft = top + self.T * np.log(sums)
        own_entry = own, np.arange(len(own))
        margin = soft[own_entry]
        soft[own_entry] = -np.inf
        rival = np.maximum.reduce(soft)
        soft -= rival
        soft *= 1.0 / self.T
        np.exp(soft, out=soft)
        total = np.add.reduce(soft)
        margin -= rival
        margin -= self.T * np.log(total)
        smooth, pull = huber(margin, weight, self.T)
        soft *= -pull / total
        soft[own_entry] = pull
        soft /= sums
        by_group *= soft[:, None]
        return smooth, by_group.reshape(self.n_groups * self.n_pieces, -1)

    def _subgradient(
        self, by_group: np.ndarray, own: np.ndarray, rival: np.ndarray, rows: np.ndarray, pull: np.ndarray
    ) -> sparse.csc_array:
        """A subgradient: one entry per column for the active piece of the sample's class, and one for the rival's."""
        indices, values = np.empty((len(rows), 2), dtype=np.int32), np.empty((len(rows), 2), dtype=pull.dtype)
        for entry, group, sign in ((0, own, 1.0), (1, rival, -1.0)):
            indices[:, entry] = group * self.n_pieces + by_group[group, :, rows].argmax(axis=1)
            values[:, entry] = sign * pull
        indptr = np.arange(0, 2 * len(rows) + 1, 2, dtype=np.int32)
        shape = (self.n_groups * self.n_pieces, len(rows))
        return sparse.csc_array((values.ravel(), indices.ravel(), indptr), shape=shape)


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
