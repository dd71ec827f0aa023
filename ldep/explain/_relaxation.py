"""Concave bounds of what makes a class win, where better rows can be.

A vote is an increasing concave function of leads, and a lead is a sum of maxima with signs (`ldep.explain._contest`).
Maxima with a negative sign are concave, which is what a nearest-point problem needs. Those with a positive sign, and
the lower limit of votes, are convex. They are bounded from above:

- max_i p_i(u) <= alpha . u + max_i(b_i + max_u (a_i - alpha) . u) for every slope alpha, where p_i(u) = a_i . u + b_i;
- max(limit, y) by its chord on the interval of y.

Branching leaves a maximum fewer pieces p_i, or decides about the limit of a vote, until the bounds are exact. Arrays
have one row per member and maximum, and are padded where maxima have different numbers of pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from ldep.explain._contest import Contest
from ldep.explain._domain import DUAL_NORMS
from ldep.explain._least_distance import Cap, Where


@dataclass(frozen=True)
class Pieces:
    """The slopes of all pieces of all members in the coordinates u, of shape (n_members, n_maxima, n_pieces, n).

    `norms` are the dual norms of the differences of slopes of the same maximum, `order` the order of that norm. If
    boxes count, the differences themselves are kept.
    """

    slopes: np.ndarray
    present: np.ndarray
    norms: np.ndarray
    order: float
    differences: np.ndarray | None

    @classmethod
    def of(cls, slopes: Sequence[Sequence[np.ndarray]], order: float, boxed: bool) -> Pieces:
        table, present = pad_maxima(slopes)
        metric = {1: "cityblock", 2: "euclidean", np.inf: "chebyshev"}[order]
        norms = np.array([[cdist(one, one, metric) for one in member] for member in table])
        differences = table[:, :, :, None] - table[:, :, None] if boxed else None
        return cls(table, present, norms, order, differences)

    def norm(self, slopes: np.ndarray) -> np.ndarray:
        return np.linalg.norm(slopes, ord=self.order, axis=-1)

    def sizes(self, contest: Contest) -> np.ndarray:
        """For each maximum a bound of its slope; if the signs of leads sum to 0, from the mean slope of its member."""
        mean = np.zeros((len(self.slopes), 1, 1, self.slopes.shape[-1]))
        if not contest.signs.sum(axis=-1).any():
            count = self.present.sum(axis=(1, 2))[:, None]
            mean = (self.slopes.sum(axis=(1, 2)) / count)[:, None, None]
        return np.where(self.present, self.norm(self.slopes - mean), 0.0).max(axis=2)

    def rises(self, where: Where) -> Rises:
        """How much differences of pieces can rise in the place where better rows are."""
        along = self.slopes @ where.cap.axis
        return Rises(where, along, where.rise(self.differences, self.norms, along[..., :, None] - along[..., None, :]))

    def kept(self, keep: np.ndarray, present: np.ndarray) -> Pieces:
        """The pieces in these places."""
        rows, columns = keep[..., :, None], keep[..., None, :]

        def pairs(table: np.ndarray) -> np.ndarray:
            return np.take_along_axis(np.take_along_axis(table, rows, axis=2), columns, axis=3)

        differences = None
        if self.differences is not None:
            k, g = np.ogrid[: len(keep), : keep.shape[1]]
            differences = self.differences[k[..., None, None], g[..., None, None], rows, columns]
        slopes = np.take_along_axis(self.slopes, rows, axis=2)
        return Pieces(slopes, present, pairs(self.norms), self.order, differences)


@dataclass(frozen=True)
class Rises:
    """Slopes of pieces along the axis of the place, and bounds of the rises of p_i - p_j there."""

    where: Where
    along: np.ndarray
    between: np.ndarray


@dataclass(frozen=True)
class Options:
    """What a node of the search leaves open.

    Any of `pieces` may be the largest of its maximum. A vote may be that of its leads if `above`, and the lowest one if
    `lowest`.
    """

    pieces: np.ndarray
    above: np.ndarray
    lowest: np.ndarray

    def with_pieces(self, place: tuple[int, int], pieces: np.ndarray) -> Options:
        """The same, with other pieces of one maximum."""
        changed = replace(self, pieces=self.pieces.copy())
        changed.pieces[place] = pieces
        return changed

    def with_vote(self, place: tuple[int, int], lowest: bool) -> Options:
        """The same, where one vote is the lowest one, or is not."""
        changed = replace(self, above=self.above.copy(), lowest=self.lowest.copy())
        changed.lowest[place], changed.above[place] = lowest, not lowest
        return changed


@dataclass(frozen=True)
class Votes:
    """The votes around one row: the pieces, their values at the row, and what the votes are for."""

    pieces: Pieces
    values: np.ndarray
    contest: Contest

    def all_options(self) -> Options:
        """What is open before the search."""
        every = np.ones(self.contest.signs.shape[:2], dtype=bool)
        return Options(self.pieces.present, every, every & np.isfinite(self.contest.limit))

    def at(self, u: np.ndarray, options: Options) -> tuple[np.ndarray, np.ndarray]:
        """The values of the pieces at u, and the votes without their lower limit, within the options."""
        values = np.where(options.pieces, self.pieces.slopes @ u + self.values, -np.inf)
        return values, self.contest.unlimited(self.leads(values))[0]

    def leads(self, values: np.ndarray) -> np.ndarray:
        """The leads, from the values of the pieces."""
        largest = values.max(axis=2)
        return self.contest.leads(largest[:, self.contest.convex], largest[:, self.contest.concave])

    def limited(self, votes: np.ndarray, options: Options) -> np.ndarray:
        """The votes with their lower limit."""
        limit = self.contest.limit
        return np.where(options.above, np.where(options.lowest, np.maximum(votes, limit), votes), limit)

    def shortfalls(self, u: np.ndarray) -> np.ndarray:
        """How much the target class needs to beat each rival at u; it wins where none is positive."""
        options = self.all_options()
        votes = self.limited(self.at(u, options)[1], options)
        return self.contest.required - self.contest.sums(votes)

    def without_dead(self, options: Options) -> tuple[Votes, Options]:
        """The same votes with narrower arrays, for the pieces that the options leave."""
        keep = _places(options.pieces)
        present = np.take_along_axis(options.pieces, keep, axis=2)
        values = np.take_along_axis(self.values, keep, axis=2)
        smaller = replace(self, pieces=self.pieces.kept(keep, present), values=values)
        return smaller, replace(options, pieces=present)

    def relax(self, options: Options, rises: Rises) -> tuple[Options, Bounds] | None:
        """What the options leave there, and concave bounds of the votes; None if the class cannot win there."""
        pieces = options.pieces & ~_dominated(self.values, rises.between, options.pieces)
        A, a = self._above_maxima(pieces, rises)
        low, high = self._intervals(A, a, pieces, rises.where)
        limit = self.contest.limit
        above, lowest = options.above & (high > limit), options.lowest & (low < limit)
        if not (above | lowest).all():
            return None
        options = Options(pieces, above, lowest)
        highest = np.where(above, np.maximum(high, limit), limit)
        required = self.contest.required
        if (self.contest.sums(highest) < required - HOPELESS * (1.0 + np.abs(required))).any():
            return None
        factor, shift = np.ones(low.shape), np.zeros(low.shape)
        chord = above & lowest
        factor[chord] = (high[chord] - limit) / (high[chord] - low[chord])
        shift[chord] = limit - factor[chord] * low[chord]
        convex = self.contest.convex
        return options, self._bounds(A[:, convex], a[:, convex], options, factor, shift)

    def fixed(self, pieces: np.ndarray, lowest: np.ndarray) -> Bounds:
        """The votes if one piece of each maximum counts as the largest where its sign is positive, and some votes are
        the lowest ones. They are never above the votes.

        The votes of leads are not limited from below.
        """
        convex = self.contest.convex
        at = pieces[:, convex, None]
        A = np.take_along_axis(self.pieces.slopes[:, convex], at[..., None], axis=2)
        a = np.take_along_axis(self.values[:, convex], at, axis=2)
        factor, shift = np.ones(lowest.shape), np.zeros(lowest.shape)
        return self._bounds(A, a, Options(self.pieces.present, ~lowest, lowest), factor, shift)

    def _bounds(self, A, a, options: Options, factor: np.ndarray, shift: np.ndarray) -> Bounds:
        out = ~options.above
        factor[out], shift[out] = 0.0, self.contest.limit
        decided = np.argwhere(options.above & ~options.lowest) if np.isfinite(self.contest.limit) else np.empty((0, 2))
        concave = self.contest.concave
        B, b = self.pieces.slopes[:, concave], np.where(options.pieces, self.values, -np.inf)[:, concave]
        return Bounds(A, a, B, b, self.contest, factor, shift, decided.astype(int))

    def _intervals(self, A, a, pieces: np.ndarray, where: Where) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of the votes without their limit: those of affine functions above and below the leads.

        The functions above all maxima are given.
        """
        contest, base = self.contest, where.cap.axis * where.cap.height
        top, top_value = _chosen(A, a, (A @ base + a).argmin(axis=2))
        active = np.where(pieces, self.pieces.slopes @ base + self.values, -np.inf).argmax(axis=2)
        under, under_value = _chosen(self.pieces.slopes, self.values, active)

        def highest(up, down, up_value, down_value) -> np.ndarray:
            slopes = contest.plus @ up[:, None, contest.convex] - contest.minus @ down[:, None, contest.concave]
            rise = where.rise(slopes, self.pieces.norm(slopes), slopes @ where.cap.axis)
            return contest.leads(up_value[:, contest.convex], down_value[:, contest.concave]) + rise

        leads = highest(top, under, top_value, under_value)
        against = highest(-under, -top, -under_value, -top_value)
        return contest.unlimited(-against)[0], contest.unlimited(leads)[0]

    def _above_maxima(self, pieces: np.ndarray, rises: Rises) -> tuple[np.ndarray, np.ndarray]:
        """Affine functions above the maximum of the pieces.

        They have the slope of each piece, and mixed slopes of a base and each other piece, which are the best if there
        are only these two.
        """
        slopes, cap, along, rise = self.pieces.slopes, rises.where.cap, rises.along, rises.between
        values = np.where(pieces, self.values, -np.inf)
        above = values[..., :, None] + rise
        offsets = np.where(pieces, above.max(axis=2), np.inf)
        if slopes.shape[2] == 1:
            return slopes, offsets
        base = (values + cap.height * along).argmax(axis=2)[..., None]
        own = np.take_along_axis(self.values, base, axis=2)
        to_base = np.take_along_axis(rise, base[..., None], axis=3)
        highest = values + to_base[..., 0] - own
        lowest = self.values - own - np.take_along_axis(rise, base[..., None], axis=2)[:, :, 0]
        share = np.where(pieces, np.clip(highest / np.maximum(highest - lowest, 1e-300), 0.0, 1.0), 0.0)
        start = np.take_along_axis(slopes, base[..., None], axis=2)
        mixed = start + share[..., None] * (slopes - start)
        # The rise is convex, so that of a mixture is no larger than the mixture of the rises.
        part = share[..., None, :]
        rise = (1.0 - part) * to_base + part * rise
        if self.pieces.order == DUAL_NORMS["l2"]:
            rise = np.minimum(rise, self._rise_to_mixed(cap, along, base, part))
        mixed_offsets = np.where(pieces, (values[..., :, None] + rise).max(axis=2), np.inf)
        return np.concatenate([slopes, mixed], axis=2), np.concatenate([offsets, mixed_offsets], axis=2)

    def _rise_to_mixed(self, cap: Cap, along: np.ndarray, base: np.ndarray, part: np.ndarray) -> np.ndarray:
        """The rises in the cap of p_i minus a mixture of the base b and p_j, from Stewart's theorem:

        |a_i - (1 - s) a_b - s a_j|^2 = (1 - s) |a_i - a_b|^2 + s |a_i - a_j|^2 - s (1 - s) |a_j - a_b|^2.
        """
        squares = self.pieces.norms**2
        to_base = np.take_along_axis(squares, base[..., None], axis=3)
        mixed = (1.0 - part) * to_base + part * squares - part * (1.0 - part) * np.swapaxes(to_base, 2, 3)
        # Its terms may cancel.
        mixed += CANCELLED * (to_base + squares)
        at_base = np.take_along_axis(along, base, axis=2)[..., None]
        across = along[..., :, None] - (1.0 - part) * at_base - part * along[..., None, :]
        return cap.rise(np.sqrt(np.maximum(mixed, 0.0)), across)


# What cancellation may cost, as a share of the terms.
CANCELLED = 1e-14
# A node is hopeless if the highest votes are not enough by more than this share.
HOPELESS = 1e-9


@dataclass(frozen=True)
class Point:
    """The bounds at one point: the votes, and how much each condition falls short.

    The first conditions are those of the rivals. The others say that a vote that is not the lowest one is above it.
    """

    votes: np.ndarray
    shortfall: np.ndarray
    cuts: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Bounds:
    """Bounds of the votes: factor * y + shift, where y is the vote of leads in which a maximum with a positive sign is
    replaced by min_rows(A u + a), and one with a negative sign is max_rows(B u + b).

    `decided` has the places of the votes that are not the lowest ones.
    """

    A: np.ndarray
    a: np.ndarray
    B: np.ndarray
    b: np.ndarray
    contest: Contest
    factor: np.ndarray
    shift: np.ndarray
    decided: np.ndarray

    def at(self, u: np.ndarray) -> Point:
        contest = self.contest
        upper, lower = self.A @ u + self.a, self.B @ u + self.b
        i, j = upper.argmin(axis=2), lower.argmax(axis=2)
        y, slopes = contest.unlimited(contest.leads(upper.min(axis=2), lower.max(axis=2)))
        votes = self.factor * y + self.shift
        k, v = self.decided.T
        shortfall = np.concatenate([contest.required - contest.sums(votes), contest.limit - y[k, v]])

        def gradients(conditions: np.ndarray) -> np.ndarray:
            """Supergradients of some conditions."""
            rivals = conditions < len(contest.required)
            weight = np.zeros((len(conditions), *y.shape))
            weight[rivals] = contest.importance(votes)[conditions[rivals]] * self.factor
            place = conditions[~rivals] - len(contest.required)
            weight[np.flatnonzero(~rivals), k[place], v[place]] = 1.0
            of_leads = weight[..., None] * slopes
            rises = np.einsum("cmvl,mvlg->cmg", of_leads, contest.plus)
            falls = np.einsum("cmvl,mvlg->cmg", of_leads, contest.minus)
            A, B = _chosen(self.A, self.a, i)[0], _chosen(self.B, self.b, j)[0]
            return np.einsum("cmg,mgn->cn", rises, A) - np.einsum("cmg,mgn->cn", falls, B)

        return Point(votes, shortfall, gradients)


def _chosen(slopes: np.ndarray, values: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One affine function of each maximum."""
    at = places[..., None]
    return np.take_along_axis(slopes, at[..., None], axis=2)[:, :, 0], np.take_along_axis(values, at, axis=2)[..., 0]


def pad_maxima(arrays: Sequence[Sequence[np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """One array with a row per member and maximum, padded with zeros, and a mask of what is not padding.

    A maximum that a member does not have is one piece of zeros.
    """
    n_maxima = max(len(member) for member in arrays)
    longest = max(len(array) for member in arrays for array in member)
    table = np.zeros((len(arrays), n_maxima, longest, *arrays[0][0].shape[1:]))
    present = np.zeros((len(arrays), n_maxima, longest), dtype=bool)
    present[:, :, 0] = True
    for k, member in enumerate(arrays):
        for g, array in enumerate(member):
            table[k, g, : len(array)], present[k, g, : len(array)] = array, True
    return table, present


def _places(mask: np.ndarray) -> np.ndarray:
    """Columns of each row that put its true entries first, as many as the fullest row has."""
    order = np.argsort(~mask, axis=-1, kind="stable")
    return order[..., : max(int(mask.sum(axis=-1).max()), 1)]


def _dominated(values: np.ndarray, rise: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Which pieces are everywhere below another one; of equal ones the first stays."""
    lead = values[..., None, :] - values[..., :, None] - rise
    earlier = np.tri(values.shape[-1], k=-1, dtype=bool)
    return (((lead > 0) | ((lead == 0) & earlier)) & present[..., None, :]).any(axis=-1)
