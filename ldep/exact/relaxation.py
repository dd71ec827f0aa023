"""Concave bounds of the votes of an average of models, within a ball around a row.

For a target class, the vote of a member is clip(max_i p_i(u) - max_j q_j(u)), where the p_i are its pieces of the
target class and the q_j those of the other, as affine functions of u. The second maximum and the upper clip are
concave, which is what a nearest-point problem needs. The first maximum and the lower clip are convex. They are bounded
from above:

- max_i p_i(u) <= alpha . u + max_i(b_i + R |a_i - alpha|) for every slope alpha, where p_i(u) = a_i . u + b_i and
  |u| <= R;
- max(-1, y) by its chord on the interval of y.

Branching on a member leaves it fewer pieces p_i, or decides the lower clip, until its bound is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cap:
    """The part of the ball |v| <= radius with v . axis >= height, where axis has length 1, or is 0 for the whole ball.

    In L2, let u be the projection of 0 onto a convex set. All v in the set have v . u >= |u|^2, so that those nearer
    than the radius are in the cap with the axis u / |u| and the height |u|. It shrinks as the lower bound |u| rises.
    """

    radius: float
    axis: np.ndarray
    height: float = 0.0

    def rise(self, norm: np.ndarray, along: np.ndarray) -> np.ndarray:
        """The largest value in the cap of linear functions with these dual norms and these slopes along the axis."""
        across = np.sqrt(np.maximum(norm**2 - along**2, 0.0))
        rim = along * self.height + across * np.sqrt(max(self.radius**2 - self.height**2, 0.0))
        return np.where(along * self.radius >= self.height * norm, self.radius * norm, rim)


@dataclass(frozen=True)
class Member:
    """A member for one target class, in the coordinates u: slopes and norms, which do not depend on the row."""

    P: np.ndarray
    Q: np.ndarray
    P_to_P: np.ndarray
    Q_to_Q: np.ndarray
    P_to_Q: np.ndarray
    clip: float
    norm: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, P: np.ndarray, Q: np.ndarray, clip: float, norm: Callable[[np.ndarray], np.ndarray]) -> Member:
        return cls(P, Q, norm(P[:, None] - P), norm(Q[:, None] - Q), norm(P[:, None] - Q), clip, norm)


@dataclass(frozen=True)
class Options:
    """What a node of the search leaves to a member.

    Parameters
    ----------
    pieces : ndarray of int
        Pieces of the target class, any of which may be the largest.
    others : ndarray of int
        Pieces of the other class, of which the largest counts.
    lowest : bool
        Whether the vote may be that of the lower clip.
    """

    pieces: np.ndarray
    others: np.ndarray
    lowest: bool

    @property
    def decided(self) -> bool:
        """Whether the vote is concave as it is, so that its bound does not depend on where better rows can be."""
        return len(self.pieces) == 0 or (len(self.pieces) == 1 and not self.lowest)


@dataclass(frozen=True)
class Bound:
    """A concave bound of one vote: factor * min(cap, min_rows(A u + a) - max_rows(B u + b)) + shift."""

    A: np.ndarray
    a: np.ndarray
    B: np.ndarray
    b: np.ndarray
    cap: float
    factor: float
    shift: float


def all_options(member: Member) -> Options:
    """What a member has before the search."""
    return Options(np.arange(len(member.P)), np.arange(len(member.Q)), lowest=bool(np.isfinite(member.clip)))


def tighten(member: Member, options: Options, p: np.ndarray, q: np.ndarray, cap: Cap) -> Options:
    """Drop what cannot be the largest within the ball.

    Parameters
    ----------
    member : Member
        The member.
    options : Options
        What the node leaves to it.
    p, q : ndarray
        The values of all its pieces at the row.
    cap : Cap
        Where better rows can be.
    """
    pieces, others, lowest = options.pieces, options.others, options.lowest
    along_p, along_q = member.P @ cap.axis, member.Q @ cap.axis
    if len(others) > 1:
        others = others[~_dominated(others, member.Q_to_Q, q, along_q, cap)]
    if len(pieces) > 1:
        pieces = pieces[~_dominated(pieces, member.P_to_P, p, along_p, cap)]
    if len(pieces) and np.isfinite(member.clip):
        low, high = _interval(member, pieces, others, p, q, cap)
        pieces = pieces[high > -member.clip]
        lowest = lowest and bool(low.max() < -member.clip)
    return Options(pieces, others, lowest)


def _dominated(chosen: np.ndarray, distance, values, along, cap: Cap) -> np.ndarray:
    """Which of the chosen pieces are below another one in the whole cap; of equal ones the first stays."""
    values, along = values[chosen], along[chosen]
    lead = values - values[:, None] - cap.rise(distance[np.ix_(chosen, chosen)], along[:, None] - along)
    earlier = np.tri(len(values), k=-1, dtype=bool)
    return ((lead > 0) | ((lead == 0) & earlier)).any(axis=1)


def _interval(member: Member, pieces, others, p, q, cap: Cap) -> tuple[np.ndarray, np.ndarray]:
    """For each piece, bounds of its lead over all others within the cap."""
    lead = p[pieces, None] - q[others]
    distance = member.P_to_Q[np.ix_(pieces, others)]
    along = (member.P[pieces] @ cap.axis)[:, None] - member.Q[others] @ cap.axis
    return (lead - cap.rise(distance, -along)).min(axis=1), (lead + cap.rise(distance, along)).min(axis=1)


def bound(member: Member, options: Options, p: np.ndarray, q: np.ndarray, cap: Cap) -> Bound | None:
    """The concave bound of the vote within the cap; None if no option is left."""
    pieces, others = options.pieces, options.others
    if not len(pieces):
        if not options.lowest:
            return None
        return lowest_vote(member)
    A, a = _above_maximum(member, pieces, p[pieces], cap)
    factor, shift = 1.0, 0.0
    if options.lowest:
        lows, highs = _interval(member, pieces, others, p, q, cap)
        low, high = lows.max(), min(highs.max(), member.clip)
        if low < -member.clip:
            factor = (high + member.clip) / (high - low)
            shift = -member.clip - factor * low
    return Bound(A, a, member.Q[others], q[others], member.clip, factor, shift)


def lowest_vote(member: Member) -> Bound:
    """The vote of the lower clip."""
    nothing = np.zeros((1, member.P.shape[1])), np.zeros(1)
    return Bound(*nothing, *nothing, cap=np.inf, factor=0.0, shift=-member.clip)


def vote_of_piece(member: Member, piece: int, others: np.ndarray, p: np.ndarray, q: np.ndarray) -> Bound:
    """The vote without its lower clip if this piece of the target class is the largest. It is never above the vote."""
    return Bound(member.P[[piece]], p[[piece]], member.Q[others], q[others], member.clip, factor=1.0, shift=0.0)


def _above_maximum(member: Member, pieces: np.ndarray, values: np.ndarray, cap: Cap):
    """Affine functions above the maximum of the pieces within the cap: with the slope of each piece, and with mixed
    slopes of a base and each other piece, chosen as if there were only these two."""
    slopes = member.P[pieces]
    if len(pieces) == 1:
        return slopes, values
    along = slopes @ cap.axis
    distance = member.P_to_P[np.ix_(pieces, pieces)]
    rise = cap.rise(distance, along[:, None] - along)
    above = values[:, None] + rise
    offsets = above.max(axis=0)
    base = int((values + cap.height * along).argmax())
    others = np.delete(np.arange(len(pieces)), base)
    highest = above[others, base] - values[base]
    lowest = values[others] - values[base] - rise[base, others]
    share = np.clip(highest / np.maximum(highest - lowest, 1e-300), 0.0, 1.0)
    mixed = slopes[base] + share[:, None] * (slopes[others] - slopes[base])
    rise = cap.rise(member.norm(slopes[:, None] - mixed), along[:, None] - mixed @ cap.axis)
    return np.vstack([slopes, mixed]), np.append(offsets, (values[:, None] + rise).max(axis=0))
