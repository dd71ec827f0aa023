"""The fitted ℓ-DEP: maxima of affine pieces, signs that combine them, and members that vote.

One member has the maxima z_g(x) = max_p(w_gp . (x - center) + c_gp) and one score per class, s(x) = signs z(x). With
one maximum per class the signs are the identity. With two classes tau = s_1 - s_0 is the decision value, and the
second class is predicted where it is not negative; with more classes the largest score decides.

A model is a weighted sum of such members. If they vote, each adds its vote instead of its scores: see
`ldep.model._link`. Prediction, explanations, exact answers, rules and every exported form read this object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ldep.model._decisions import cast_votes, folded, open_votes
from ldep.model._link import Link

# Rows whose scores are in memory at a time, so that they stay in the processor's cache.
CHUNK = 4096


class Missing(NamedTuple):
    """What pieces do where values are missing."""

    features: np.ndarray  # the numbers of the features that may have missing values
    added: Sequence[np.ndarray]  # what each piece of a maximum adds in the place of w_j (x_j - center_j)


@dataclass(frozen=True, eq=False)
class Maxima:
    """One trained ℓ-DEP.

    Parameters
    ----------
    slopes : sequence of ndarray of shape (n_pieces, n_features)
        The w_gp, one array per maximum.
    offsets : sequence of ndarray of shape (n_pieces,)
        The values of the pieces at the centre.
    intercepts : sequence of ndarray of shape (n_pieces,)
        Their values at 0. Sparse rows are measured from there, as subtracting a centre would make them dense.
    center : ndarray of shape (n_features,)
        Origin of the pieces. It is not 0 where a feature has a large offset, in which the values would cancel.
    signs : ndarray of shape (n_classes, n_maxima)
        What each maximum counts in the score of each class.
    monotone : bool
        Whether scores are summed feature by feature. A product of matrices may add the terms of different rows in
        different orders, and a decision value could then fall by a rounding error where it must rise.
    missing : Missing or None
        What pieces do where values are missing. Without it no value may be.
    """

    slopes: Sequence[np.ndarray]
    offsets: Sequence[np.ndarray]
    intercepts: Sequence[np.ndarray]
    center: np.ndarray
    signs: np.ndarray
    monotone: bool = False
    missing: Missing | None = None

    @classmethod
    def of_classes(
        cls, slopes: Sequence[np.ndarray], offsets: Sequence[np.ndarray], center: np.ndarray, *, monotone: bool = False
    ) -> Maxima:
        """One maximum per class, in the order of the classes."""
        intercepts = [c - w @ center for w, c in zip(slopes, offsets)]
        return cls(slopes, offsets, intercepts, center, np.eye(len(slopes)), monotone)

    @property
    def n_classes(self) -> int:
        return len(self.signs)

    @property
    def n_features(self) -> int:
        return len(self.center)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of pieces in each maximum."""
        return tuple(len(offsets) for offsets in self.offsets)

    def decision(self, X) -> np.ndarray:
        """tau of each row with two classes, else one column of scores per class."""
        return folded(self.scores(X))

    def scores(self, X) -> np.ndarray:
        """The score of each class, one column per class."""
        return (self.signs @ self._maxima(X)).T

    def scaled(self, factor: float) -> Maxima:
        """Maxima whose scores are a positive multiple of these."""
        slopes, offsets, intercepts = (
            [factor * part for part in parts] for parts in (self.slopes, self.offsets, self.intercepts)
        )
        missing = self.missing
        if missing is not None:
            missing = missing._replace(added=[factor * part for part in missing.added])
        return replace(self, slopes=slopes, offsets=offsets, intercepts=intercepts, missing=missing)

    def _maxima(self, X) -> np.ndarray:
        """z_g of each row, of shape (n_maxima, n_rows)."""
        maxima = np.empty((len(self.slopes), X.shape[0]))
        for rows, Z, offsets in self._chunks(X):
            absent = None
            if self.missing is not None and not sparse.issparse(Z):
                absent = np.isnan(Z[:, self.missing.features]).T.astype(np.float64)
                Z = np.nan_to_num(Z)
            for g, (slopes, offset) in enumerate(zip(self.slopes, offsets)):
                values = self._products(slopes, Z)
                values += offset[:, None]
                if self.missing is not None and absent is not None:
                    values += self.missing.added[g] @ absent
                values.max(axis=0, out=maxima[g, rows])
        return maxima

    def _chunks(self, X) -> Iterator[tuple[slice, Any, Sequence[np.ndarray]]]:
        """Chunks of rows measured from an origin, with the values of the pieces there."""
        Z, offsets = self.from_origin(X, subtract=False)
        subtract = not sparse.issparse(Z) and bool(self.center.any())
        for first in range(0, X.shape[0], CHUNK):
            rows = slice(first, first + CHUNK)
            yield rows, Z[rows] - self.center if subtract else Z[rows], offsets

    def from_origin(self, X, *, subtract: bool = True) -> tuple[Any, Sequence[np.ndarray]]:
        """Rows as the pieces measure them, from the centre or, where they are sparse, from 0; and the values there."""
        if not sparse.issparse(X):
            return X - self.center if subtract else X, self.offsets
        X = sparse.csr_array(X)
        # Sorted, so that the terms of every score are added in the same order.
        return X if X.has_sorted_indices else X.sorted_indices(), self.intercepts

    def _products(self, slopes: np.ndarray, Z) -> np.ndarray:
        """Values of pieces with these slopes, without their offsets."""
        if not self.monotone or sparse.issparse(Z):
            return slopes @ Z.T
        values = np.zeros((len(slopes), len(Z)))
        for feature, column in enumerate(Z.T):
            values += slopes[:, feature, None] * column
        return values

    def values(self, X: np.ndarray) -> list[np.ndarray]:
        """The value of every piece on every row: one array of shape (n_rows, n_pieces) per maximum."""
        Z, offsets = self.from_origin(X)
        return [Z @ slopes.T + offset for slopes, offset in zip(self.slopes, offsets)]

    def after(self, matrix: np.ndarray, start: np.ndarray, center: np.ndarray) -> Maxima:
        """The same scores as functions of v, where x = start + matrix (v - center), for rows without missing values."""
        slopes = [own @ matrix for own in self.slopes]
        offsets = [offset + own @ (start - self.center) for own, offset in zip(self.slopes, self.offsets)]
        return replace(self.of_classes(slopes, offsets, center), signs=self.signs)

    def rounding(self, X: np.ndarray) -> np.ndarray:
        """A bound of the rounding error of the scores of each row.

        The sums of a matrix product are rounded differently when a row comes alone or with others.
        """
        Z = np.abs(X - self.center)
        sizes = [(Z @ np.abs(w).T + np.abs(c)).max(axis=1) for w, c in zip(self.slopes, self.offsets)]
        n_terms = float(np.abs(self.signs).sum(axis=1).max())
        return 4.0 * n_terms * (X.shape[1] + 4) * np.finfo(float).eps * np.max(sizes, axis=0)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Members, what combines them, and the link to probabilities.

    Parameters
    ----------
    members : sequence of Maxima
        The trained models.
    weights : ndarray of shape (n_members,)
        Their weights.
    votes : bool
        Whether the members vote. Otherwise there is one, and its scores count as they are.
    thresholds : ndarray of shape (n_classes,)
        What is subtracted from the score of each class.
    factors : ndarray of shape (n_classes,) or None
        The factors of the shares of the votes. None where no votes are shared, as with two classes.
    link : Link or None
        The link from decision values to probabilities, if there is one.
    """

    members: Sequence[Maxima]
    weights: np.ndarray
    votes: bool
    thresholds: np.ndarray
    factors: np.ndarray | None = None
    link: Link | None = None

    @classmethod
    def single(cls, member: Maxima, *, threshold: float = 0.0, link: Link | None = None) -> FittedModel:
        """One member whose scores decide; the threshold is that of the second of two classes."""
        return cls.of([member], np.ones(1), votes=False, threshold=threshold, link=link)

    @classmethod
    def of(
        cls,
        members: Sequence[Maxima],
        weights: np.ndarray,
        *,
        votes: bool,
        threshold: float = 0.0,
        factors: np.ndarray | None = None,
        link: Link | None = None,
    ) -> FittedModel:
        """Members with a threshold of the last class, and factors of the shares of their votes."""
        thresholds = np.zeros(members[0].n_classes)
        thresholds[-1] = threshold
        return cls(members, weights, votes, thresholds, factors, link)

    @property
    def n_classes(self) -> int:
        return len(self.thresholds)

    @property
    def n_features(self) -> int:
        return self.members[0].n_features

    @property
    def takes_missing(self) -> np.ndarray:
        """Whether each feature may have missing values."""
        takes = np.zeros(self.n_features, dtype=bool)
        for member in self.members:
            if member.missing is not None:
                takes[member.missing.features] = True
        return takes

    @property
    def threshold(self) -> float:
        """With two classes: what is subtracted from tau."""
        return float(self.thresholds[1] - self.thresholds[0])

    def decision(self, X) -> np.ndarray:
        """Decision values: of shape (n_rows,) with two classes, else (n_rows, n_classes)."""
        thresholds = folded(self.thresholds[None])
        # Without factors the thresholds come first: in another order the last bits would be others.
        total = -thresholds if self.factors is None else np.zeros(1)
        for member, weight in zip(self.members, self.weights):
            decision = member.decision(X)
            total = total + weight * (cast_votes(decision) if self.votes else decision)
        return total if self.factors is None else self.factors * open_votes(total) - thresholds

    def mean_decision(self, X) -> np.ndarray:
        """The weighted mean of the decision values of the members, before they become votes."""
        return np.sum([weight * member.decision(X) for member, weight in zip(self.members, self.weights)], axis=0)

    def probabilities(self, decision: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, one row per decision value."""
        assert self.link is not None
        values = decision + folded(self.thresholds[None])
        return self.link.probabilities(values if self.factors is None else values / self.factors)

    def maxima(self) -> Maxima:
        """The only member, with the thresholds in its offsets."""
        (member,) = self.members
        if not self.thresholds.any():
            return member
        offsets = list(member.offsets)
        offsets[: self.n_classes] = [offset - threshold for offset, threshold in zip(offsets, self.thresholds)]
        intercepts = [c - w @ member.center for w, c in zip(member.slopes, offsets)]
        return replace(member, offsets=offsets, intercepts=intercepts)

    def with_threshold(self, threshold: float) -> FittedModel:
        """The same model, of which the last class is predicted where its lead reaches the threshold."""
        thresholds = self.thresholds.copy()
        thresholds[-1] += threshold
        return replace(self, thresholds=thresholds)

    def after(self, matrix: np.ndarray, start: np.ndarray, center: np.ndarray) -> FittedModel:
        """The same model as a function of v, where x = start + matrix (v - center)."""
        return replace(self, members=[member.after(matrix, start, center) for member in self.members])

    def rounding(self, X: np.ndarray) -> np.ndarray:
        """A bound of the rounding error of the decision values of each row."""
        return sum(weight * member.rounding(X) for member, weight in zip(self.members, self.weights))


def active_pieces(model: FittedModel, X: np.ndarray) -> np.ndarray:
    """The active piece of each maximum, member after member: equal rows of this table are in the same region."""
    return np.column_stack([values.argmax(axis=1) for member in model.members for values in member.values(X)])
