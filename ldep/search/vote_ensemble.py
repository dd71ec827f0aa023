"""Fitted classifiers of any kind that vote together, with weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from ldep.probability import fit_slope
from ldep.search.class_probability import open_votes
from ldep.search.votes import cast_votes


def member_votes(model: Any, X: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The votes of one classifier: with two classes one number in [-1, 1] per row, else one share per row and class.

    A classifier with probabilities votes by them, any other one by its decision values, see `ldep.search.votes`.
    """
    if hasattr(model, "predict_proba"):
        shares = np.asarray(model.predict_proba(X), dtype=np.float64)
    elif hasattr(model, "decision_function"):
        decision = cast_votes(np.asarray(model.decision_function(X), dtype=np.float64))
        shares = decision if decision.ndim == 2 else np.column_stack([1.0 - decision, 1.0 + decision]) / 2.0
    else:
        raise ValueError(f"{type(model).__name__} has neither probabilities nor decision values, so it cannot vote")
    if len(model.classes_) < len(classes):  # a class without rows in its training part gets no vote
        known, shares = shares, np.zeros((len(shares), len(classes)))
        shares[:, np.searchsorted(classes, model.classes_)] = known
    return shares[:, 1] - shares[:, 0] if len(classes) == 2 else shares


def log_shares(votes: np.ndarray) -> np.ndarray:
    """The logarithm of each class's share of the votes, with a small part of the votes left open."""
    shares = np.column_stack([1.0 - votes, 1.0 + votes]) / 2.0 if votes.ndim == 1 else votes
    return np.log(open_votes(shares))


def vote_slope(votes: np.ndarray, own: np.ndarray) -> float:
    """Fit the slope of the link from out-of-fold votes to probabilities. `own` is the column of each row's class."""
    return fit_slope(log_shares(votes), own, np.ones(len(own)))


class VoteEnsemble(ClassifierMixin, BaseEstimator):
    """Classifiers that are fitted already and decide by the weighted mean of their votes.

    Parameters
    ----------
    members : list of estimators
        Fitted classifiers of the same features.
    weights : list of float
        Their weights, which sum to 1.
    classes : ndarray of shape (n_classes,)
        The classes, in sorted order.
    slope : float, default=1.0
        Slope of the link from votes to probabilities; see `vote_slope`.
    """

    def __init__(self, members, weights, classes, slope=1.0):
        self.members = members
        self.weights = weights
        self.classes = classes
        self.slope = slope

    def fit(self, X, y):
        """Do nothing: the members are fitted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Ignored.
        y : array-like of shape (n_samples,)
            Ignored.

        Returns
        -------
        self : VoteEnsemble
            The ensemble.
        """
        return self

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.classes

    def decision_function(self, X):
        """Compute the weighted mean of the votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        votes : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes from -1 to 1, positive for the second; else the share of each class.
        """
        rows = np.asarray(X, dtype=np.float64)
        return sum(w * member_votes(model, rows, self.classes) for model, w in zip(self.members, self.weights))

    def predict(self, X):
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
            The class with most votes.
        """
        votes = self.decision_function(X)
        return self.classes[(votes >= 0).astype(int) if votes.ndim == 1 else votes.argmax(axis=1)]

    def predict_proba(self, X):
        """Compute the probabilities of the classes for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column per class. The class with most votes has the largest one.
        """
        return np.exp(log_softmax(self.slope * log_shares(self.decision_function(X)), axis=1))
