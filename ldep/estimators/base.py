"""What every binary classifier with a decision function tau shares."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ldep import samples


class TauClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier whose answer is the sign of tau: classes_[1] where tau >= 0, classes_[0] elsewhere.

    Subclasses implement `fit` and `_tau`.
    """

    @abstractmethod
    def _tau(self, X: np.ndarray) -> np.ndarray:
        """tau of the rows of a checked X."""

    def _check_rows(self, X, y, sample_weight) -> samples.Samples:
        """Check what came in, set classes_, and return the rows as they came, with y = -1 or +1."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        name = type(self).__name__
        self.classes_, signs = samples.two_classes(y, name)
        weight = samples.weights(sample_weight, X, y, getattr(self, "class_weight", None))
        samples.check_both_present(signs, weight, name)
        check_magnitude(X, name)
        return samples.Samples(X, signs, weight)

    def _check_samples(self, X, y, sample_weight) -> samples.Samples:
        """The same, merged: what a fit depends on."""
        return samples.merge(*self._check_rows(X, y, sample_weight))

    def decision_function(self, X):
        """tau of each row: positive for `classes_[1]`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        tau : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._tau(validate_data(self, X, dtype=np.float64, order="C", reset=False))

    def predict(self, X):
        """The class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        tau = self.decision_function(X)
        return self.classes_[(tau >= 0).astype(int)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def check_magnitude(X: np.ndarray, estimator: str) -> None:
    """Refuse features whose squares overflow: no variance can be computed from them."""
    limit = 1e150
    if X.size and np.abs(X).max() > limit:
        row, column = np.unravel_index(np.abs(X).argmax(), X.shape)
        raise ValueError(
            f"{estimator} cannot use values beyond {limit:g}: X[{row}, {column}] is {X[row, column]:g}. "
            "Rescale the feature, or treat the value as missing."
        )
