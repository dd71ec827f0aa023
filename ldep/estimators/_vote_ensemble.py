"""Fitted classifiers of any kind that vote together, with weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from ldep.model import class_numbers, fit_slope, folded, form_in, open_votes


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
