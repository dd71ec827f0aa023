"""Estimators made of classifiers that are fitted already: a linear one as an ℓ-DEP, and several that vote."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from ldep.estimators._base import SingleModelClassifier
from ldep.model import FittedModel, Maxima, class_numbers, fit_slope, folded, form_in, open_votes

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


def member_votes(model: Any, X: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The votes of one classifier: with two classes one number in [-1, 1] per row, else one share per row and class.

    A classifier with probabilities votes by them, any other one by its decision values, see `ldep.model._link`.
    """
    if hasattr(model, "predict_proba"):
        shares = np.asarray(model.predict_proba(X), dtype=np.float64)
    elif hasattr(model, "decision_function"):
        decision = np.asarray(model.decision_function(X), dtype=np.float64)
        form = form_in(decision)
        shares = form.shares(form.votes(decision))
    else:
        raise ValueError(f"{type(model).__name__} has neither probabilities nor decision values, so it cannot vote")
    if len(model.classes_) < len(classes):  # a class without rows in its training part gets no vote
        known, shares = shares, np.zeros((len(shares), len(classes)))
        shares[:, np.searchsorted(classes, model.classes_)] = known
    return folded(shares)


def log_shares(votes: np.ndarray) -> np.ndarray:
    """The logarithm of each class's share of the votes, with a small part of the votes left open."""
    return np.log(open_votes(form_in(votes).shares(votes)))


def vote_slope(votes: np.ndarray, own: np.ndarray) -> float:
    """Fit the slope of the link from out-of-fold votes to probabilities. `own` is the column of each row's class."""
    return fit_slope(log_shares(votes), own, np.ones(len(own)))


class VoteEnsemble(ClassifierMixin, BaseEstimator):
    """Classifiers of the same features that are fitted already, and decide by the weighted mean of their votes.

    The weights sum to 1, the classes are sorted, and `slope` is that of the link from votes to probabilities.
    """

    def __init__(self, members, weights, classes, slope=1.0):
        self.members = members
        self.weights = weights
        self.classes = classes
        self.slope = slope

    def fit(self, X, y):
        """Do nothing: the members are fitted."""
        return self

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.classes

    def decision_function(self, X):
        """Compute the mean votes: from -1 to 1 with two classes, else the share of each class."""
        rows = np.asarray(X, dtype=np.float64)
        return sum(w * member_votes(model, rows, self.classes) for model, w in zip(self.members, self.weights))

    def predict(self, X):
        """Predict the class with most votes for each row."""
        return self.classes[class_numbers(self.decision_function(X))]

    def predict_proba(self, X):
        """Compute the probabilities of the classes. The class with most votes has the largest one."""
        return np.exp(log_softmax(self.slope * log_shares(self.decision_function(X)), axis=1))
