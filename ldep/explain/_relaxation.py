"""Concave bounds of the votes of an average of models, where better rows can be.

For a target class, the vote of a member is max_i p_i(u) - max_j q_j(u), clipped to [-1, 1], where the p_i are its
pieces of the target class and the q_j those of the other, as affine functions of u. The second maximum and the upper
clip are concave, which is what a nearest-point problem needs. The first maximum and the lower clip are convex. They are
bounded from above:

- max_i p_i(u) <= alpha . u + max_i(b_i + max_u (a_i - alpha) . u) for every slope alpha, where p_i(u) = a_i . u + b_i;
- max(-1, y) by its chord on the interval of y.

Branching on a member leaves it fewer pieces p_i, or decides the lower clip, until its bound is exact. Arrays have one
row per member, and are padded where members have different numbers of pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ldep.explain._least_distance import Where


@dataclass(frozen=True)
class Members:
    """The pieces of all members for one target class, in the coordinates u: slopes, and norms of differences."""

    P: np.ndarray
    Q: np.ndarray
    has_P: np.ndarray
    has_Q: np.ndarray
    P_to_P: np.ndarray
    Q_to_Q: np.ndarray
    P_to_Q: np.ndarray
    norm: Callable[[np.ndarray], np.ndarray]
    boxed: bool

    @classmethod
    def of(cls, P: list[np.ndarray], Q: list[np.ndarray], norm, boxed: bool) -> Members:
        (all_P, has_P), (all_Q, has_Q) = padded(P), padded(Q)

        def between(one: np.ndarray, other: np.ndarray) -> np.ndarray:
            return norm(one[:, :, None] - other[:, None])

        distances = between(all_P, all_P), between(all_Q, all_Q), between(all_P, all_Q)
        return cls(all_P, all_Q, has_P, has_Q, *distances, norm, boxed)

    @cached_property
    def differences(self) -> tuple[np.ndarray | None, ...]:
        """Differences of slopes: within P, within Q, between P and Q. They are needed if boxes count."""
        pairs = (self.P, self.P), (self.Q, self.Q), (self.P, self.Q)
        return tuple(one[:, :, None] - other[:, None] if self.boxed else None for one, other in pairs)

    def rises(self, where: Where) -> Rises:
        """How much differences of pieces can rise in the place where better rows are."""
        along_P, along_Q = self.P @ where.cap.axis, self.Q @ where.cap.axis
        within_P, within_Q, between = self.differences
        ahead = along_P[:, :, None] - along_Q[:, None]
        return Rises(
            where,
            along_P,
            where.rise(within_P, self.P_to_P, along_P[:, :, None] - along_P[:, None]),
            where.rise(within_Q, self.Q_to_Q, along_Q[:, :, None] - along_Q[:, None]),
            where.rise(between, self.P_to_Q, ahead),
            where.rise(None if between is None else -between, self.P_to_Q, -ahead),
        )


@dataclass(frozen=True)
class Rises:
    """Bounds of the rises of p_i - p_j, q_i - q_j, p_i - q_j and q_j - p_i, and the slopes p along the axis."""

    where: Where
    along_P: np.ndarray
    P_to_P: np.ndarray
    Q_to_Q: np.ndarray
    P_to_Q: np.ndarray
    Q_to_P: np.ndarray


@dataclass(frozen=True)
class Options:
    """What a node of the search leaves to the members, one row of each mask per member.

    Any of `pieces`, of the target class, may be the largest; of `others`, of the other class, the largest counts;
    `lowest` says whether the vote may be that of the lower clip.
    """

    pieces: np.ndarray
    others: np.ndarray
    lowest: np.ndarray

    def with_member(self, k: int, pieces=None, lowest: bool | None = None) -> Options:
        """The same, with other options of one member."""
        changed = replace(self, pieces=self.pieces.copy(), lowest=self.lowest.copy())
        if pieces is not None:
            changed.pieces[k] = pieces
        if lowest is not None:
            changed.lowest[k] = lowest
        return changed


@dataclass(frozen=True)
class Votes:
    """The votes around one row: the members, and the values p and q of their pieces at the row."""

    members: Members
    p: np.ndarray
    q: np.ndarray

    def all_options(self) -> Options:
        """What the members have before the search."""
        return Options(self.members.has_P, self.members.has_Q, np.ones(len(self.p), dtype=bool))

    def at(self, u: np.ndarray, options: Options) -> tuple[np.ndarray, np.ndarray]:
        """The values of the pieces of the target class at u, and each member's lead, within the options."""
        scores = np.where(options.pieces, self.members.P @ u + self.p, -np.inf)
        others = np.where(options.others, self.members.Q @ u + self.q, -np.inf)
        return scores, scores.max(axis=1) - others.max(axis=1)

    def clipped(self, lead: np.ndarray, options: Options) -> np.ndarray:
        """Votes with these leads."""
        return np.clip(lead, np.where(options.lowest, -1.0, -np.inf), 1.0)

    def without_dead(self, options: Options) -> tuple[Votes, Options]:
        """The same votes with narrower arrays, for the pieces that the options leave."""
        m, keep_P, keep_Q = self.members, _places(options.pieces), _places(options.others)
        row = np.arange(len(self.p))[:, None]
        pairs = row[:, None], keep_P[:, :, None], keep_Q[:, :, None]
        smaller = Members(
            m.P[row, keep_P],
            m.Q[row, keep_Q],
            options.pieces[row, keep_P],
            options.others[row, keep_Q],
            m.P_to_P[pairs[0], pairs[1], keep_P[:, None]],
            m.Q_to_Q[pairs[0], pairs[2], keep_Q[:, None]],
            m.P_to_Q[pairs[0], pairs[1], keep_Q[:, None]],
            m.norm,
            m.boxed,
        )
        left = Options(smaller.has_P, smaller.has_Q, options.lowest)
        return Votes(smaller, self.p[row, keep_P], self.q[row, keep_Q]), left

    def tighten(self, options: Options, rises: Rises) -> Options | None:
        """Drop what cannot be the largest there; None if a member has nothing left."""
        others = options.others & ~_dominated(self.q, rises.Q_to_Q, options.others)
        pieces = options.pieces & ~_dominated(self.p, rises.P_to_P, options.pieces)
        low, high = self._leads(others, rises)
        pieces = pieces & (high > -1.0)
        lowest = options.lowest & (np.where(pieces, low, -np.inf).max(axis=1) < -1.0)
        if not (pieces.any(axis=1) | lowest).all():
            return None
        return Options(pieces, others, lowest)

    def _leads(self, others: np.ndarray, rises: Rises) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of the lead of each piece over all others."""
        lead = self.p[:, :, None] - self.q[:, None]
        low = np.where(others[:, None], lead - rises.Q_to_P, np.inf)
        high = np.where(others[:, None], lead + rises.P_to_Q, np.inf)
        return low.min(axis=2), high.min(axis=2)

    def bounds(self, options: Options, rises: Rises) -> Bounds:
        """Concave bounds of the votes there."""
        A, a = self._above_maximum(options.pieces, rises)
        factor, shift = np.ones(len(A)), np.zeros(len(A))
        lows, highs = self._leads(options.others, rises)
        low = np.where(options.pieces, lows, -np.inf).max(axis=1)
        high = np.minimum(np.where(options.pieces, highs, -np.inf).max(axis=1), 1.0)
        chord = options.lowest & (low < -1.0) & options.pieces.any(axis=1)
        factor[chord] = (high[chord] + 1.0) / (high[chord] - low[chord])
        shift[chord] = -1.0 - factor[chord] * low[chord]
        return self._with_lowest(Bounds(A, a, self.members.Q, self._masked_q(options), factor, shift), options)

    def fixed(self, pieces: np.ndarray, lowest: np.ndarray) -> Bounds:
        """The votes if one piece of each member is the largest, or its vote the lowest. They are never above the votes.

        The votes of pieces are not clipped from below.
        """
        m, every = self.members, np.arange(len(pieces))
        A, a = m.P[every, pieces][:, None], self.p[every, pieces][:, None]
        options = Options(~np.repeat(lowest[:, None], m.P.shape[1], axis=1), m.has_Q, lowest)
        parts = Bounds(A, a, m.Q, self._masked_q(options), np.ones(len(A)), np.zeros(len(A)))
        return self._with_lowest(parts, options)

    def _masked_q(self, options: Options) -> np.ndarray:
        return np.where(options.others, self.q, -np.inf)

    def _with_lowest(self, bounds: Bounds, options: Options) -> Bounds:
        """The lowest vote for members that have no piece left."""
        none = ~options.pieces.any(axis=1)
        if none.any():
            bounds.a[none], bounds.factor[none], bounds.shift[none] = 0.0, 0.0, -1.0
        return bounds

    def _above_maximum(self, pieces: np.ndarray, rises: Rises) -> tuple[np.ndarray, np.ndarray]:
        """Affine functions above the maximum of the pieces.

        They have the slope of each piece, and mixed slopes of a base and each other piece, which are the best if there
        are only these two.
        """
        m, every = self.members, np.arange(len(pieces))
        slopes, where, along, rise = m.P, rises.where, rises.along_P, rises.P_to_P
        values = np.where(pieces, self.p, -np.inf)
        above = values[:, :, None] + rise
        offsets = np.where(pieces, above.max(axis=1), np.inf)
        if slopes.shape[1] == 1:
            return slopes, offsets
        base = (values + where.cap.height * along).argmax(axis=1)
        highest = above[every, :, base] - self.p[every, base][:, None]
        lowest = self.p - self.p[every, base][:, None] - rise[every, base]
        share = np.where(pieces, np.clip(highest / np.maximum(highest - lowest, 1e-300), 0.0, 1.0), 0.0)
        start = slopes[every, base][:, None]
        mixed = start + share[:, :, None] * (slopes - start)
        away = slopes[:, :, None] - mixed[:, None]
        across = along[:, :, None] - (mixed @ where.cap.axis)[:, None]
        rise = where.rise(away if m.boxed else None, m.norm(away), across)
        mixed_offsets = np.where(pieces, (values[:, :, None] + rise).max(axis=1), np.inf)
        return np.concatenate([slopes, mixed], axis=1), np.concatenate([offsets, mixed_offsets], axis=1)


@dataclass(frozen=True)
class Bounds:
    """Bounds of the votes, one per member: factor * min(1, min_rows(A u + a) - max_rows(B u + b)) + shift."""

    A: np.ndarray
    a: np.ndarray
    B: np.ndarray
    b: np.ndarray
    factor: np.ndarray
    shift: np.ndarray

    def at(self, u: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bounds at u, and a supergradient of their weighted sum."""
        every = np.arange(len(self.A))
        upper, lower = self.A @ u + self.a, self.B @ u + self.b
        i, j = upper.argmin(axis=1), lower.argmax(axis=1)
        y = upper[every, i] - lower[every, j]
        slope = weights * self.factor * (y < 1.0)
        gradient = slope @ (self.A[every, i] - self.B[every, j])
        return self.factor * np.minimum(y, 1.0) + self.shift, gradient


def padded(arrays: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """One array with a row per member, padded with zeros, and a mask of what is not padding."""
    longest = max(len(array) for array in arrays)
    padded = np.zeros((len(arrays), longest, *arrays[0].shape[1:]))
    present = np.zeros((len(arrays), longest), dtype=bool)
    for k, array in enumerate(arrays):
        padded[k, : len(array)], present[k, : len(array)] = array, True
    return padded, present


def _places(mask: np.ndarray) -> np.ndarray:
    """Columns of each row that put its true entries first, as many as the fullest row has."""
    order = np.argsort(~mask, axis=1, kind="stable")
    return order[:, : max(int(mask.sum(axis=1).max()), 1)]


def _dominated(values: np.ndarray, rise: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Which pieces are everywhere below another one; of equal ones the first stays."""
    lead = values[:, None] - values[:, :, None] - rise
    earlier = np.tri(values.shape[1], k=-1, dtype=bool)
    return (((lead > 0) | ((lead == 0) & earlier)) & present[:, None]).any(axis=2)
