"""What all classifiers with a decision function share."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ldep import samples
from ldep.frames import check_collected

LARGEST_VALUE = 1e150


class TauClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base class of classifiers for two classes: classes_[1] is predicted where tau >= 0, classes_[0] elsewhere.

    Subclasses implement `fit` and `_tau`. Those that take more than two classes set `_multi_class`, and `_tau` returns
    one column per class when there are more than two.
    """

    classes_: np.ndarray
    _multi_class = False
    # Whether sparse rows are accepted, as `validate_data` takes it.
    _accept_sparse: str | bool = False

    @abstractmethod
    def _tau(self, X: np.ndarray) -> np.ndarray:
        """Decision value of each row of a checked X."""

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The classes, and y as `Samples` has it."""
        encode = samples.encode_classes if self._multi_class else samples.two_classes
        return encode(y, type(self).__name__)

    def _check_rows(self, X, y, sample_weight, *, resume: bool = False) -> samples.Samples:
        """Check the input of a fit, set classes_, and return the rows in their order.

        With `resume` the features and the classes must be those of the last fit.
        """
        check_collected(X)
        X, y = validate_data(
            self, X, y, accept_sparse=self._accept_sparse, dtype=np.float64, order="C", reset=not resume
        )
        name = type(self).__name__
        classes, encoded = self._encode(y)
        if resume and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start continues the last fit, but y has the classes {classes.tolist()} and {name} was fitted to "
                f"{self.classes_.tolist()}. Set warm_start=False to begin anew."
            )
        self.classes_ = classes
        weight = samples.check_weights(sample_weight, y, getattr(self, "class_weight", None))
        samples.check_all_present(encoded, weight, self.classes_, name)
        check_magnitude(X, name)
        return samples.Samples(X, encoded, weight)

    def _check_samples(self, X, y, sample_weight, *, resume: bool = False) -> samples.Samples:
        """Check the input of a fit, set classes_, and return the distinct rows, which are all that a fit depends on."""
        return samples.merge(*self._check_rows(X, y, sample_weight, resume=resume))

    def _check_new_rows(self, X):
        """Check rows for a fitted model."""
        check_is_fitted(self)
        check_collected(X)
        return validate_data(self, X, accept_sparse=self._accept_sparse, dtype=np.float64, order="C", reset=False)

    def decision_function(self, X):
        """Compute the decision values of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes tau: `classes_[1]` is predicted where it is not negative. With more, one column per class:
            the largest is predicted.
        """
        return self._tau(self._check_new_rows(X))

    def predict(self, X):
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted classes.
        """
        decision = self.decision_function(X)
        return self.classes_[(decision >= 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multi_class
        return tags


def check_magnitude(X, estimator: str) -> None:
    """Refuse features whose squares overflow: no variance can be computed from them."""
    values = X.data if sparse.issparse(X) else X
    if values.size and np.abs(values).max() > LARGEST_VALUE:
        position = np.abs(values).argmax()
        if sparse.issparse(X):
            row, column = np.searchsorted(X.indptr, position, side="right") - 1, X.indices[position]
        else:
            row, column = np.unravel_index(position, X.shape)
        raise ValueError(
            f"{estimator} cannot use values beyond {LARGEST_VALUE:g}: X[{row}, {column}] is {values.flat[position]:g}. "
            "Rescale the feature, or treat the value as missing."
        )
