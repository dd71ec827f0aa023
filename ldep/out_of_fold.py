"""Scores of out-of-fold decision values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from ldep.probability import fit_link, probabilities
from ldep.samples import Samples
from ldep.selection import Losses, squared_error


class RecordedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values for certain rows are known: what a scorer sees of them.

    Parameters
    ----------
    decision : ndarray of shape (n_samples,)
        Decision values of the rows that will be scored.
    classes : ndarray of shape (2,)
        The classes.
    link : callable
        Returns the slope and the intercept of the link from decision values to probabilities.
    """

    def __init__(self, decision, classes, link):
        self.decision = decision
        self.classes = classes
        self.link = link
        self.classes_ = classes

    def decision_function(self, X):
        return self.decision

    def predict(self, X):
        return self.classes[(self.decision >= 0).astype(int)]

    def predict_proba(self, X):
        return probabilities(self.decision, *self.link())


class Scoring:
    """Scores decision values for some of the training rows.

    Parameters
    ----------
    scoring : str, callable or None
        A scorer as elsewhere in scikit-learn; None is the weighted accuracy.
    rows : Samples
        The training rows.
    classes : ndarray of shape (2,)
        The classes.
    """

    def __init__(self, scoring: str | Callable | None, rows: Samples, classes: np.ndarray):
        self.rows, self.classes = rows, classes
        self.labels = classes[(rows.y > 0).astype(int)]
        # Scorers of one's own may not take weights, so that they get them only where these say something.
        self.weighted = len(np.unique(rows.weight[rows.weight > 0])) > 1
        self.scorer = None
        if scoring is not None:
            self.scorer = check_scoring(RecordedClassifier(np.zeros(0), classes, None), scoring=scoring)

    def __call__(self, decision: np.ndarray, numbers: np.ndarray, everywhere: np.ndarray | None = None) -> float:
        """The score of decision values for the rows with these numbers.

        Parameters
        ----------
        decision : ndarray of shape (n_numbers,)
            Decision values of these rows.
        numbers : ndarray of shape (n_numbers,)
            Their numbers.
        everywhere : ndarray of shape (n_samples,), default=None
            Decision values of all rows, NaN where there is none: the link to probabilities is fitted to them. None
            fits it to `decision`.

        Returns
        -------
        score : float
            Higher is better.
        """
        X, y, weight = self.rows
        if self.scorer is None:
            return float(np.average((decision >= 0) == (y[numbers] > 0), weights=weight[numbers]))

        def link() -> tuple[float, float]:
            if everywhere is None:
                return fit_link(decision, y[numbers], weight[numbers])
            known = ~np.isnan(everywhere)
            return fit_link(everywhere[known], y[known], weight[known])

        recorded = RecordedClassifier(decision, self.classes, link)
        options = {"sample_weight": weight[numbers]} if self.weighted else {}
        return float(self.scorer(recorded, X[numbers], self.labels[numbers], **options))

    def losses(self, numbers: np.ndarray) -> Losses:
        """Losses of votes for the rows with these numbers: the score, and between equal ones the squared error."""
        errors = squared_error(self.rows.y[numbers], self.rows.weight[numbers])

        def losses(averages: np.ndarray) -> np.ndarray:
            scores = [self(votes, numbers) for votes in averages]
            return np.column_stack([np.negative(scores), errors(averages)])

        return losses
