"""Exact integrated gradients.

The gradient of a decision value is constant in each region. The segment from a baseline to a row crosses few regions,
and where it does has a closed form. The integral of the gradient is then a sum over the parts [1]_.

.. [1] M. Sundararajan, A. Taly and Q. Yan, "Axiomatic attribution for deep networks", ICML 2017.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ldep.explain._relaxation import pad_maxima
from ldep.model import OPEN_VOTES, FittedModel, Maxima, active_pieces, folded, form_of, sparsemax

# Values of pieces that are in memory at a time.
LARGEST_TABLE = 40_000


@dataclass(frozen=True)
class Stacked:
    """The pieces of all members in one table, padded to equal numbers: a question about one row needs few operations.

    `slopes` has one array of shape (n_members, n_pieces, n_features) per maximum, and `offsets` the values at the
    common centre: minus infinity where a member has fewer pieces than another. `signs` has one array of shape
    (n_members, n_classes) per maximum: what it counts in the score of each class.
    """

    slopes: list[np.ndarray]
    offsets: list[np.ndarray]
    signs: list[np.ndarray]
    center: np.ndarray

    @classmethod
    def of(cls, members: Sequence[Maxima]) -> Stacked:
        center = members[0].center
        # Where features have a large offset, the centres differ by little, and their difference is exact.
        shifts = np.array([center - member.center for member in members])
        slopes, present = pad_maxima([member.slopes for member in members])
        offsets = np.where(present, pad_maxima([member.offsets for member in members])[0], -np.inf)
        if shifts.any():
            offsets += np.einsum("mgpf,mf->mgp", slopes, shifts)
        signs = np.zeros((slopes.shape[1], len(members), members[0].n_classes))
        for m, member in enumerate(members):
            signs[: len(member.signs.T), m] = member.signs.T
        return cls([*slopes.swapaxes(0, 1)], [*offsets.swapaxes(0, 1)], [*signs], center)

    def scores(self, X: np.ndarray) -> list[np.ndarray]:
        """The values of the pieces on each row: one array of shape (n_rows * n_members, n_pieces) per maximum."""
        Z = X - self.center
        return [self._products(Z, w) + np.tile(c, (len(X), 1)) for w, c in zip(self.slopes, self.offsets)]

    def changes(self, way: np.ndarray) -> list[np.ndarray]:
        """How much the values of the pieces change along ways, in the same shapes."""
        return [self._products(way, w) for w in self.slopes]

    def _products(self, Z: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        return (Z @ slopes.reshape(-1, slopes.shape[-1]).T).reshape(-1, slopes.shape[1])

    def mean_slopes(self, g: int, shares: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The weighted sum over members and pieces of slopes of maximum g, one row per row of the data.

        `shares` has one row per row and member.
        """
        slopes = self.slopes[g]
        table = shares.reshape(-1, *slopes.shape[:2]) * weights[:, None]
        return table.reshape(len(table), -1) @ slopes.reshape(-1, slopes.shape[-1])


def attribute(model: FittedModel, X: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """The contributions of the features, of shape (n_rows, [n_classes,] n_features), from one baseline or one per row.

    They are computed for all members at once: the time of a single row is that of calls.
    """
    stacked, starts = Stacked.of(model.members), np.broadcast_to(baseline, X.shape)
    way = X - starts
    step = max(1, LARGEST_TABLE // sum(offsets.size for offsets in stacked.offsets))
    parts = [
        _mean_gradients(model, stacked, starts[first : first + step], way[first : first + step])
        for first in range(0, max(len(X), 1), step)
    ]
    gradients = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return gradients * way.reshape(len(way), *[1] * (gradients.ndim - 2), -1)


def _mean_gradients(model: FittedModel, stacked: Stacked, baseline: np.ndarray, way: np.ndarray) -> np.ndarray:
    """The mean gradients of the decision values along the segments, of shape (n_rows, [n_classes,] n_features)."""
    starts, changes = stacked.scores(baseline), stacked.changes(way)
    signs = [np.tile(sign, (len(way), 1)) for sign in stacked.signs]
    if model.votes and form_of(model.n_classes).pair is None:
        shared = shares_of_shared_votes(starts, changes, signs)
        votes = [sum(stacked.mean_slopes(g, part, model.weights) for g, part in enumerate(parts)) for parts in shared]
        factors = np.ones(len(votes)) if model.factors is None else model.factors * (1.0 - OPEN_VOTES)
        return np.stack([factor * vote for factor, vote in zip(factors, votes)], axis=1)
    if model.votes:
        ahead = [folded(sign) for sign in signs]
        shares = shares_of_clipped_votes(starts, changes, ahead)
        return np.sum([stacked.mean_slopes(g, share, model.weights) for g, share in enumerate(shares)], axis=0)
    shares = [shares_of_pieces(start, change) for start, change in zip(starts, changes)]
    means = [stacked.mean_slopes(g, share, model.weights) for g, share in enumerate(shares)]
    return folded(model.members[0].signs @ np.stack(means, axis=1))


def upper_envelope(values: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kinks of max_i(values_i + t slopes_i) for t in [0, 1], and the largest piece between them, for each row.

    The kinks begin with 0 and end with 1, which is repeated where a row has fewer parts; there is one column more of
    them than of pieces.
    """
    rows = np.arange(len(values))
    # At t = 0 the largest piece is active, and of equal ones the steepest.
    largest = values == values.max(axis=1, keepdims=True)
    piece = np.where(largest, slopes, -np.inf).argmax(axis=1)
    kinks, active = [np.zeros(len(values))], [piece]
    while True:
        steeper = slopes - slopes[rows, piece][:, None]
        behind = values[rows, piece][:, None] - values
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = np.where(steeper > 0, behind / steeper, np.inf)
        # Rounding may put a meeting before the last kink; it cannot be before.
        meets = np.maximum(meets, kinks[-1][:, None])
        at = meets.min(axis=1)
        if not (at < 1.0).any():
            break
        # Of several pieces that meet there, the steepest goes on.
        following = np.where(meets <= at[:, None], slopes, -np.inf).argmax(axis=1)
        piece = np.where(at < 1.0, following, piece)
        kinks.append(np.minimum(at, 1.0))
        active.append(piece)
    kinks.append(np.ones(len(values)))
    return np.column_stack(kinks), np.column_stack(active)


def shares_of_pieces(values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """For each piece the length of the part of the segment on which it is the largest."""
    kinks, active = upper_envelope(values, slopes)
    shares, rows = np.zeros(values.shape), np.arange(len(values))
    for step in range(active.shape[1]):
        shares[rows, active[:, step]] += kinks[:, step + 1] - kinks[:, step]
    return shares


def shares_of_clipped_votes(
    values: list[np.ndarray], slopes: list[np.ndarray], signs: list[np.ndarray]
) -> list[np.ndarray]:
    """For each piece the length of the part on which it is the largest and the vote is not clipped, with its sign.

    `signs` has what each maximum counts in the decision value, one entry per row.
    """
    shares, rows = [np.zeros(start.shape) for start in values], np.arange(len(values[0]))
    for left, right, pieces in _common_parts(values, slopes):
        value, slope = (
            sum(sign * one[rows, piece] for sign, one, piece in zip(signs, table, pieces)) for table in (values, slopes)
        )
        length = _unclipped(left, right, value, slope)
        for sign, share, piece in zip(signs, shares, pieces):
            share[rows, piece] += sign * length
    return shares


def shares_of_shared_votes(
    values: list[np.ndarray], slopes: list[np.ndarray], signs: list[np.ndarray]
) -> list[list[np.ndarray]]:
    """The weights with which the slopes of pieces enter the mean gradient of each vote of the sparsemax.

    Where the classes S share the vote, v_k = s_k - (sum over S of s_j - 1) / |S| for k in S, and else 0. shares[k][g]
    has the weights of the pieces of maximum g in the vote for class k, one row per row of the data. `signs` has what
    the maxima count in the scores, one row per row and one column per class.
    """
    n_classes, n_rows = signs[0].shape[1], len(values[0])
    rows = np.arange(n_rows)
    shares = [[np.zeros(start.shape) for start in values] for _ in range(n_classes)]
    first = sum(sign * start.max(axis=1)[:, None] for sign, start in zip(signs, values))
    support = sparsemax(first) > 0
    for left, right, pieces in _common_parts(values, slopes):
        score, slope = (
            sum(sign * one[rows, piece][:, None] for sign, one, piece in zip(signs, table, pieces))
            for table in (values, slopes)
        )
        at = left
        # A class enters or leaves at most a few times between two kinks.
        for _ in range(4 * n_classes):
            size = support.sum(axis=1)
            limit = ((score * support).sum(axis=1) - 1.0) / size
            drift = (slope * support).sum(axis=1) / size
            until, crossing = _next_crossing(score - limit[:, None], slope - drift[:, None], support, at)
            end = np.minimum(until, right)
            length = np.maximum(end - at, 0.0)
            mean = support / size[:, None]
            for k in range(n_classes):
                of_scores = (length * support[:, k])[:, None] * ((np.arange(n_classes) == k) - mean)
                for g, piece in enumerate(pieces):
                    shares[k][g][rows, piece] += (of_scores * signs[g]).sum(axis=1)
            inside = until < right
            if not inside.any():
                break
            support = support.copy()
            support[rows[inside], crossing[inside]] ^= True
            at = np.where(inside, end, right)
    return shares


def _next_crossing(
    excess: np.ndarray, slope: np.ndarray, support: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where the next class enters or leaves the classes that share the vote after t, and which."""
    leaves, enters = support & (slope < 0) & (support.sum(axis=1) > 1)[:, None], ~support & (slope > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        when = np.where(leaves | enters, -excess / slope, np.inf)
    # Rounding may put a crossing before t; it cannot be before.
    when = np.maximum(when, at[:, None])
    crossing = when.argmin(axis=1)
    return when[np.arange(len(when)), crossing], crossing


def _common_parts(
    values: list[np.ndarray], slopes: list[np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray, list[np.ndarray]]]:
    """The parts between the kinks of all maxima: where each begins and ends, and the largest piece of each maximum."""
    rows = np.arange(len(values[0]))
    envelopes = [upper_envelope(start, change) for start, change in zip(values, slopes)]
    inner = [kinks[:, 1:-1] for kinks, _ in envelopes]
    ends = np.zeros((len(rows), 1)), np.ones((len(rows), 1))
    kinks = np.sort(np.hstack([ends[0], *inner, ends[1]]), axis=1)
    for left, right in zip(kinks.T[:-1], kinks.T[1:]):
        middle = (left + right) / 2.0
        yield (
            left,
            right,
            [active[rows, (own <= middle[:, None]).sum(axis=1)] for own, (_, active) in zip(inner, envelopes)],
        )


def _unclipped(left, right, value, slope) -> np.ndarray:
    """The length of the part of [left, right] in which |value + t slope| is below 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort([(-1.0 - value) / slope, (1.0 - value) / slope], axis=0)
    inside = np.abs(value) < 1.0
    first = np.where(slope == 0, np.where(inside, left, right), ends[0])
    last = np.where(slope == 0, right, ends[1])
    return np.maximum(np.minimum(last, right) - np.maximum(first, left), 0.0)


SHOWN = 10


class Region(NamedTuple):
    """A region in use: the active piece of each class (for an average, of each member in turn), and its rows."""

    pieces: tuple[int, ...]
    n_rows: int
    classes: dict


@dataclass(frozen=True)
class GlobalExplanation:
    """What a model does on some rows.

    Attributes
    ----------
    importance : ndarray of shape (n_features,)
        Mean absolute share of each feature, from `attribute` with the mean row as the baseline. With more than two
        classes, the mean over the classes too.
    names : list of str
        Names of the features.
    regions : list of Region
        The regions that contain rows, the fullest first, with the number of rows of each predicted class.
    pieces_in_use : list of ndarray
        The pieces that are active on some row, one array per class (for an average, per class of each member in turn).
    n_pieces : int
        Number of all pieces.
    n_rows : int
        Number of rows.
    """

    importance: np.ndarray
    names: list[str]
    regions: list[Region]
    pieces_in_use: list[np.ndarray] = field(repr=False)
    n_pieces: int
    n_rows: int

    @property
    def n_pieces_in_use(self) -> int:
        """Number of pieces that are active on some row."""
        return sum(len(pieces) for pieces in self.pieces_in_use)

    def plot(self, *, max_features: int = 15, ax=None):
        """Draw the mean absolute share of each feature; see `ldep.plotting.plot_importance`."""
        from ldep.plotting import plot_importance

        return plot_importance(self, max_features=max_features, ax=ax)

    def __str__(self) -> str:
        order = np.argsort(-self.importance, kind="stable")
        width = max(len(self.names[f]) for f in order[:SHOWN])
        lines = [
            f"{self.n_rows} rows: {self.n_pieces_in_use} of {self.n_pieces} pieces are in use, in "
            f"{len(self.regions)} regions",
            "mean absolute share of the features:",
        ]
        lines += [f"    {self.names[f]:{width}}  {self.importance[f]:.4g}" for f in order[:SHOWN]]
        if len(order) > SHOWN:
            lines.append(f"    ({len(order) - SHOWN} more)")
        lines.append("rows of the regions:")
        for region in self.regions[:SHOWN]:
            classes = ", ".join(f"{count} of class {label}" for label, count in region.classes.items())
            where = f"pieces {region.pieces}" if len(region.pieces) <= 6 else "one piece of each member"
            lines.append(f"    {region.n_rows:6d}  {classes}  ({where})")
        if len(self.regions) > SHOWN:
            lines.append(f"    ({len(self.regions) - SHOWN} more regions)")
        return "\n".join(lines)


def overview(
    model: FittedModel, X: np.ndarray, labels: np.ndarray, names: list[str], baseline: np.ndarray
) -> GlobalExplanation:
    """The overview of a model on rows with these predicted classes."""
    active = active_pieces(model, X)
    shares = np.abs(attribute(model, X, baseline))
    importance = shares.reshape(-1, X.shape[1]).mean(axis=0)
    found, number, counts = np.unique(active, axis=0, return_inverse=True, return_counts=True)
    regions = []
    for k in np.argsort(-counts, kind="stable"):
        inside, n_inside = np.unique(labels[number.ravel() == k], return_counts=True)
        classes = dict(zip(inside.tolist(), n_inside.tolist()))
        regions.append(Region(tuple(found[k].tolist()), int(counts[k]), classes))
    n_pieces = sum(sum(member.sizes) for member in model.members)
    in_use = [np.unique(column) for column in active.T]
    return GlobalExplanation(importance, names, regions, in_use, n_pieces, len(X))
