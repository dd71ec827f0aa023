"""A fitted linear classifier as the ℓ-DEP that it is: one affine piece for each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldep.estimators._base import SingleModelClassifier
from ldep.model import FittedModel, Maxima, folded

CLOSE = 1e-9  # of the size of the decision values


class LinearLDEP(SingleModelClassifier):
    """The ℓ-DEP with one piece in each maximum whose decision values are those of a linear classifier.

    It predicts, explains, and is exported as any ℓ-DEP, and is made by `from_classifier` instead of a fit.

    Parameters
    ----------
    slopes : ndarray of shape (n_classes, n_features)
        The slope of the score of each class.
    intercepts : ndarray of shape (n_classes,)
        Its value at 0.
    classes : ndarray of shape (n_classes,)
        The classes in sorted order.
    """

    r1 = r2 = 1

    def __init__(self, slopes, intercepts, classes):
        self.slopes = slopes
        self.intercepts = intercepts
        self.classes = classes

    @classmethod
    def from_classifier(cls, model: Any, X: np.ndarray) -> LinearLDEP | None:
        """The same decisions as a fitted classifier with `coef_` and `intercept_`.

        None if the classifier is not linear: if its decision values of the rows X are others than these say.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> from ldep.estimators import LinearLDEP
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
        >>> LinearLDEP.from_classifier(LogisticRegression().fit(X, y), X).predict(X)
        array([0, 0, 1, 1])
        """
        slopes, intercepts = np.atleast_2d(getattr(model, "coef_", ())), np.ravel(getattr(model, "intercept_", ()))
        n_classes = len(model.classes_)
        if n_classes == 2 and len(slopes) == len(intercepts) == 1:
            # The decision value is the difference of the two scores: halving and doubling are exact.
            slopes, intercepts = np.vstack([-slopes, slopes]) / 2.0, np.append(-intercepts, intercepts) / 2.0
        if slopes.shape != (n_classes, X.shape[1]) or len(intercepts) != n_classes:
            return None
        expected, found = model.decision_function(X), folded(X @ slopes.T + intercepts)
        if expected.shape != found.shape or np.abs(expected - found).max() > CLOSE * (1.0 + np.abs(expected).max()):
            return None
        linear = cls(np.asarray(slopes, dtype=np.float64), np.asarray(intercepts, dtype=np.float64), model.classes_)
        return linear.fit(X, None)

    def fit(self, X, y=None):
        """Take the slopes and intercepts as they are."""
        self.classes_, self.n_features_in_ = np.asarray(self.classes), self.slopes.shape[1]
        pieces = [slope[None] for slope in self.slopes], [np.atleast_1d(value) for value in self.intercepts]
        self.model_ = FittedModel.single(Maxima.of_classes(*pieces, np.zeros(self.n_features_in_)))
        return self

    def _has_probability(self) -> bool:
        raise AttributeError("a linear ℓ-DEP has no probabilities of its own")

    def _adapt(self, X) -> None:
        """A single piece is never dropped."""
