"""Maxima, clipped votes and shared votes along a segment, part by part between their kinks.

Along the segment from a baseline to a row, every piece is an affine function of t in [0, 1]. A maximum of r pieces has
at most r - 1 kinks. All functions here take many segments, one per row of the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ldep.search.votes import sparsemax


def upper_envelope(values: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kinks of max_i(values_i + t slopes_i) for t in [0, 1], and the largest piece between them, for each row.

    Returns
    -------
    kinks : ndarray of shape (n_rows, n_parts + 1)
        They begin with 0 and end with 1, which is repeated where a row has fewer parts.
    active : ndarray of shape (n_rows, n_parts)
        The largest piece of each part.
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


def shares_of_clipped_votes(values: list[np.ndarray], slopes: list[np.ndarray], clip: float) -> list[np.ndarray]:
    """For each piece of two maxima the length of the part on which it is the largest and the vote is not clipped."""
    shares, rows = [np.zeros(start.shape) for start in values], np.arange(len(values[0]))
    for left, right, pieces in _common_parts(values, slopes):
        value, slope = (table[1][rows, pieces[1]] - table[0][rows, pieces[0]] for table in (values, slopes))
        length = _unclipped(left, right, value, slope, clip)
        for share, piece in zip(shares, pieces):
            share[rows, piece] += length
    return shares


def shares_of_shared_votes(values: list[np.ndarray], slopes: list[np.ndarray]) -> list[list[np.ndarray]]:
    """The weights with which the slopes of pieces enter the mean gradient of each vote of the sparsemax.

    Where the classes S share the vote, v_k = s_k - (sum over S of s_j - 1) / |S| for k in S, and else 0.

    Returns
    -------
    shares : list of lists of ndarrays of shape (n_rows, n_pieces)
        shares[k][j] has the weights of the pieces of class j in the vote for class k.
    """
    n_classes, n_rows = len(values), len(values[0])
    rows = np.arange(n_rows)
    shares = [[np.zeros(start.shape) for start in values] for _ in range(n_classes)]
    first = np.column_stack([start.max(axis=1) for start in values])
    support = sparsemax(first) > 0
    for left, right, pieces in _common_parts(values, slopes):
        score, slope = (
            np.column_stack([one[rows, piece] for one, piece in zip(table, pieces)]) for table in (values, slopes)
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
            for k in range(n_classes):
                for j in range(n_classes):
                    both = support[:, k] & support[:, j]
                    shares[k][j][rows, pieces[j]] += np.where(both, length * ((k == j) - 1.0 / size), 0.0)
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


def _unclipped(left, right, value, slope, clip: float) -> np.ndarray:
    """The length of the part of [left, right] in which |value + t slope| is below the clip."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort([(-clip - value) / slope, (clip - value) / slope], axis=0)
    inside = np.abs(value) < clip
    first = np.where(slope == 0, np.where(inside, left, right), ends[0])
    last = np.where(slope == 0, right, ends[1])
    return np.maximum(np.minimum(last, right) - np.maximum(first, left), 0.0)
