"""What every trained ℓ-DEP has: its decision values from its pieces, the explanation, the paper's form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ldep.coordinates import Coordinates
from ldep.estimators.base import TauClassifier
from ldep.estimators.exact import ExactPieces
from ldep.exact.models import Maxima, maxima
from ldep.explanation import class_indices, explain_linear, explain_pair, like_input
from ldep.export.mixin import ExportMixin

# Scores per chunk of rows, so that they stay in the processor's cache.
CHUNK = 4096


Groups = TypeVar("Groups", list, np.ndarray)


def by_class(groups: Groups) -> Groups:
    """One entry per class from one entry per group, or the reverse: of two classes, the second is the first group."""
    return groups[::-1] if len(groups) == 2 else groups


class LinearPiecesClassifier(ExactPieces, ExportMixin, TauClassifier):
    """Base class of models with one maximum of affine pieces per class, s_k(x) = max_i(w_ki . x + c_ki).

    The largest s_k is predicted. With two classes tau = s_1 - s_0 = max_i(w_i . x + c_i) - max_j(m_j . x + d_j).
    Subclasses implement `fit` and have the parameters r1 and r2.
    """

    _multi_class = True
    _accept_sparse = "csr"
    # The direction of each feature in which tau is monotone; None where there is none.
    monotone_: np.ndarray | None = None

    def _group_sizes(self) -> tuple[int, ...]:
        """Number of pieces in each maximum: the second class first when there are two, else in the order of classes."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return self.r1, self.r2
        if self.r1 != self.r2:
            raise ValueError(
                f"With {n_classes} classes every class has the same number of pieces: r1 and r2 must be equal, but "
                f"r1={self.r1} and r2={self.r2}."
            )
        return (self.r1,) * n_classes

    def _set_pieces(self, table: np.ndarray, group_sizes: tuple[int, ...]) -> None:
        """Set the fitted attributes from [w_p, c_p], group after group."""
        ends = np.cumsum(group_sizes)[:-1]
        self.coefs_ = by_class(np.split(table[:, :-1], ends))
        self.intercepts_ = by_class(np.split(table[:, -1], ends))
        self.center_, self.offsets_at_center_ = np.zeros(table.shape[1] - 1), table[:, -1]

    def _set_solution(self, coordinates: Coordinates, theta: np.ndarray, group_sizes: tuple[int, ...]) -> None:
        """Set the fitted attributes from a solver's solution."""
        self._set_pieces(coordinates.to_user(theta), group_sizes)
        # The offsets are far beyond the scores where a feature has a large offset, and cancel: keep the values at the
        # centre too.
        self.center_ = coordinates.center
        self.offsets_at_center_ = coordinates.to_user(theta, coordinates.center)[:, -1]

    def _table_at_center(self) -> np.ndarray:
        """One row [slopes, value at the centre] per piece, group after group."""
        return np.column_stack([np.vstack(by_class(self.coefs_)), self.offsets_at_center_])

    def _offsets_by_class(self) -> list[np.ndarray]:
        """Values of the pieces of each class at the centre, in the order of the classes."""
        sizes = [len(slopes) for slopes in by_class(self.coefs_)]
        return by_class(np.split(self.offsets_at_center_, np.cumsum(sizes)[:-1]))

    def _tau(self, X) -> np.ndarray:
        return self._difference(X) if len(self.coefs_) == 2 else self._class_scores(X)

    def _difference(self, X) -> np.ndarray:
        """tau of each row, with two classes."""
        tau = np.empty(X.shape[0])
        W, M = self.W_, self.M_
        for rows, Z, offsets in self._measured(X, CHUNK):
            c, d = offsets[: len(W), None], offsets[len(W) :, None]
            u = self._products(W, Z)
            u += c
            v = self._products(M, Z)
            v += d
            np.subtract(u.max(axis=0), v.max(axis=0), out=tau[rows])
        return tau

    def _class_scores(self, X) -> np.ndarray:
        """s_k of each row and class, with more than two classes."""
        slopes, n_classes = np.vstack(self.coefs_), len(self.coefs_)
        scores = np.empty((X.shape[0], n_classes))
        for rows, Z, offsets in self._measured(X, max(1, CHUNK * 20 // len(slopes))):
            pieces = slopes @ Z.T
            pieces += offsets[:, None]
            scores[rows] = pieces.reshape(n_classes, -1, pieces.shape[1]).max(axis=1).T
        return scores

    def _measured(self, X, size: int) -> Iterator[tuple[slice, Any, np.ndarray]]:
        """Chunks of rows measured from an origin, with the values of all pieces there, group after group.

        The origin is the centre. Sparse rows are measured from 0, as subtracting anything else would make them dense.
        """
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            offsets, centred = np.concatenate(by_class(self.intercepts_)), False
            if not X.has_sorted_indices:
                X = X.sorted_indices()  # so that the terms of every score are added in the same order
        else:
            offsets, centred = self.offsets_at_center_, bool(self.center_.any())
        for first in range(0, X.shape[0], size):
            rows = slice(first, first + size)
            yield rows, X[rows] - self.center_ if centred else X[rows], offsets

    def _products(self, slopes: np.ndarray, Z) -> np.ndarray:
        """Scores of the pieces with these slopes, without their offsets.

        A product of matrices may add the terms of different rows in different orders, and tau could then fall by a
        rounding error where it must rise. Adding one feature after the other is monotone to the last bit.
        """
        if self.monotone_ is None or sparse.issparse(Z):
            return slopes @ Z.T
        scores = np.zeros((len(slopes), len(Z)))
        for feature, column in enumerate(Z.T):
            scores += slopes[:, feature, None] * column
        return scores

    def explain(self, X, pair=None):
        """Compute the exact contribution of each feature to the decision value of each row.

        With two classes and the active pieces i and j, tau is (w_i - m_j) . x + (c_i - d_j): feature f contributes
        (w_if - m_jf) x_f, the bias is c_i - d_j, and they sum to `decision_function(X)`. For a pair of classes (k, l)
        the same holds of s_k - s_l and the active pieces of k and l. Features with a large offset are measured from
        `center_` instead of 0: they contribute (w_if - m_jf) (x_f - center_f). Sparse rows are always measured from 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        pair : tuple of two classes, default=None
            The classes k and l to compare. None explains tau with two classes and, with more, compares the predicted
            class of each row with the runner-up.

        Returns
        -------
        explanation : Explanation, PairExplanation or DataFrame
            A named tuple of arrays: contributions, bias, decision, and with two classes dilation (the index i) and
            erosion (the index j). With more classes, or with a `pair`, instead of these: label and rival (the classes k
            and l of each row), label_piece and rival_piece (their active pieces). When X is a pandas or polars
            DataFrame, a DataFrame of that library with the columns (and the index) of X for the contributions, followed
            by columns for the others. When X is sparse, the contributions are a CSR array with its pattern.
        """
        rows, offsets = self._from_origin(self._check_new_rows(X))
        if pair is None and len(self.coefs_) == 2:
            return like_input(explain_linear(rows, self.coefs_[1], offsets[1], self.coefs_[0], offsets[0]), X)
        indices = None if pair is None else class_indices(pair, self.classes_)
        explanation = explain_pair(rows, self.coefs_, offsets, indices)
        return like_input(explanation.with_labels(self.classes_), X)

    def _from_origin(self, rows) -> tuple[Any, list[np.ndarray]]:
        """Checked rows as an explanation measures them, with the values of the pieces of each class at the origin."""
        if sparse.issparse(rows):
            return sparse.csr_array(rows), self.intercepts_
        return rows - self.center_, self._offsets_by_class()

    def _of_two_classes(self, attribute: str) -> LinearPiecesClassifier:
        """Return the model, or raise an error when it has no such attribute because of the number of its classes."""
        check_is_fitted(self)
        if len(self.coefs_) != 2:
            raise AttributeError(
                f"{attribute} belongs to a model with two classes, and this one has {len(self.coefs_)}. Its pieces are "
                "in coefs_ and intercepts_."
            )
        return self

    def _exact_model(self) -> Maxima:
        return maxima(self)

    # The letters of two classes.
    @property
    def W_(self) -> np.ndarray:
        return self._of_two_classes("W_").coefs_[1]

    @property
    def c_(self) -> np.ndarray:
        return self._of_two_classes("c_").intercepts_[1]

    @property
    def M_(self) -> np.ndarray:
        return self._of_two_classes("M_").coefs_[0]

    @property
    def d_(self) -> np.ndarray:
        return self._of_two_classes("d_").intercepts_[0]

    # The paper's form. Any beta in (0, 1) gives the same tau; halving and doubling are exact.
    @property
    def beta_(self) -> float:
        self._of_two_classes("beta_")
        return 0.5

    @property
    def R1_(self) -> np.ndarray:
        return self.W_ / self.beta_

    @property
    def a_(self) -> np.ndarray:
        return self.c_ / self.beta_

    @property
    def R2_(self) -> np.ndarray:
        return self.M_ / (self.beta_ - 1.0)

    @property
    def b_(self) -> np.ndarray:
        return self.d_ / (self.beta_ - 1.0)
