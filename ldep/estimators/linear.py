"""What every trained ℓ-DEP has: tau from its pieces, the explanation, the paper's form."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ldep.conditioning import Coordinates
from ldep.estimators.base import TauClassifier
from ldep.explanation import explain_linear, like_input
from ldep.export.mixin import ExportMixin

# Rows per chunk, so that their scores stay in the processor's cache.
CHUNK = 4096


class LinearPiecesClassifier(ExportMixin, TauClassifier):
    """Base class of models with tau(x) = max_i(w_i . x + c_i) - max_j(m_j . x + d_j).

    Subclasses implement `fit` and have the parameter r1.
    """

    def _set_pieces(self, table: np.ndarray) -> None:
        """Set the fitted attributes from [W c; M d]."""
        self.W_, self.c_ = table[: self.r1, :-1], table[: self.r1, -1]
        self.M_, self.d_ = table[self.r1 :, :-1], table[self.r1 :, -1]
        self.center_, self.offsets_at_center_ = np.zeros(table.shape[1] - 1), table[:, -1]

    def _set_solution(self, coordinates: Coordinates, theta: np.ndarray) -> None:
        """Set the fitted attributes from a solver's solution."""
        self._set_pieces(coordinates.to_user(theta))
        # c and d are far beyond tau where a feature has a large offset, and cancel: keep the values at the centre too.
        self.center_ = coordinates.center
        self.offsets_at_center_ = coordinates.to_user(theta, coordinates.center)[:, -1]

    def _tau(self, X: np.ndarray) -> np.ndarray:
        tau = np.empty(len(X))
        c, d = self.offsets_at_center_[: self.r1, None], self.offsets_at_center_[self.r1 :, None]
        centred = self.center_.any()
        for first in range(0, len(X), CHUNK):
            rows = slice(first, first + CHUNK)
            Z = X[rows] - self.center_ if centred else X[rows]
            u = self.W_ @ Z.T
            u += c
            v = self.M_ @ Z.T
            v += d
            np.subtract(u.max(axis=0), v.max(axis=0), out=tau[rows])
        return tau

    def explain(self, X):
        """Compute the exact contribution of each feature to the decision value of each row.

        In the region of the active pieces i and j, tau is (w_i - m_j) . x + (c_i - d_j): feature f contributes
        (w_if - m_jf) x_f, the bias is c_i - d_j, and they sum to `decision_function(X)`. Features with a large offset
        are measured from `center_` instead of 0: they contribute (w_if - m_jf) (x_f - center_f).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        explanation : Explanation or DataFrame
            A named tuple of arrays: contributions, bias, decision, dilation (the index i), erosion (the index j). When
            X is a pandas or polars DataFrame, a DataFrame of that library with the columns (and the index) of X for the
            contributions, followed by bias, decision, dilation_piece and erosion_piece.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        c, d = self.offsets_at_center_[: self.r1], self.offsets_at_center_[self.r1 :]
        return like_input(explain_linear(rows - self.center_, self.W_, c, self.M_, d), X)

    # The paper's form. Any beta in (0, 1) gives the same tau; halving and doubling are exact.
    @property
    def beta_(self) -> float:
        check_is_fitted(self)
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
