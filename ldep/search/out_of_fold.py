"""Scores of out-of-fold decision values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from ldep.probability import class_probabilities, fit_link, fit_slope, leads, probabilities
from ldep.samples import Samples, own_class
from ldep.search.selection import Losses, squared_error
from ldep.search.votes import right_votes


class RecordedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values for certain rows are known: what a scorer sees of them.

    Parameters
    ----------
    decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decision values of the rows that will be scored.
    classes : ndarray of shape (n_classes,)
        The classes.
    link : callable
        Returns the parameters of the link from decision values to probabilities.
    """

    def __init__(self, decision, classes, link):
        self.decision = decision
        self.classes = classes
        self.link = link
        self.classes_ = classes

    def decision_function(self, X):
        return self.decision

    def predict(self, X):
        return self.classes[predicted(self.decision)]

    def predict_proba(self, X):
        if self.decision.ndim == 1:
            return probabilities(self.decision, *self.link())
        return class_probabilities(leads(self.decision), *self.link())


def predicted(decision: np.ndarray) -> np.ndarray:
    """Indices of the predicted classes."""
    return (decision >= 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)


def _fit_link(decision: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple:
    """The parameters of the link, fitted to these decision values."""
    if decision.ndim == 1:
        return fit_link(decision, y, weight)
    return (fit_slope(leads(decision), y.astype(np.intp), weight),)


class Scoring:
    """Scores decision values for some of the training rows.

    Parameters
    ----------
    scoring : str, callable or None
        A scorer as elsewhere in scikit-learn; None is the weighted accuracy.
    rows : Samples
        The training rows.
    classes : ndarray of shape (n_classes,)
        The classes.
    """

    def __init__(self, scoring: str | Callable | None, rows: Samples, classes: np.ndarray):
        self.rows, self.classes = rows, classes
        self.codes = own_class(rows.y, len(classes))
        self.labels = classes[self.codes]
        # Scorers of one's own may not take weights, so that they get them only where these say something.
        self.weighted = len(np.unique(rows.weight[rows.weight > 0])) > 1
        self.scorer = None
        if scoring is not None:
            self.scorer = check_scoring(RecordedClassifier(np.zeros(0), classes, None), scoring=scoring)
            if len(classes) > 2:
                # A score for two classes only fails here, and not after all fits.
                everything = np.flatnonzero(rows.weight > 0)
                self(np.eye(len(classes))[self.codes[everything]], everything)

    def __call__(self, decision: np.ndarray, numbers: np.ndarray, everywhere: np.ndarray | None = None) -> float:
        """The score of decision values for the rows with these numbers.

        Parameters
        ----------
        decision : ndarray of shape (n_numbers,) or (n_numbers, n_classes)
            Decision values of these rows.
        numbers : ndarray of shape (n_numbers,)
            Their numbers.
        everywhere : ndarray of shape (n_samples,) or (n_samples, n_classes), default=None
            Decision values of all rows, NaN where there is none: the link to probabilities is fitted to them. None
            fits it to `decision`.

        Returns
        -------
        score : float
            Higher is better.
        """
        X, y, weight = self.rows
        if self.scorer is None:
            return float(np.average(predicted(decision) == self.codes[numbers], weights=weight[numbers]))

        def link() -> tuple:
            if everywhere is None:
                return _fit_link(decision, y[numbers], weight[numbers])
            known = ~np.isnan(everywhere.reshape(len(y), -1)[:, 0])
            return _fit_link(everywhere[known], y[known], weight[known])

        recorded = RecordedClassifier(decision, self.classes, link)
        options = {"sample_weight": weight[numbers]} if self.weighted else {}
        try:
            return float(self.scorer(recorded, X[numbers], self.labels[numbers], **options))
        except ValueError as error:
            raise ValueError(f"scoring failed on {self._describe(numbers)}: {error}") from error

    def _describe(self, numbers: np.ndarray) -> str:
        """The rows of a score that failed, and what may be the reason."""
        n_classes, absent = len(self.classes), np.setdiff1d(self.labels, self.labels[numbers])
        if len(absent):
            return (
                f"a test part that has no sample of class {absent.tolist()[0]!r}; use fewer folds, or a score that "
                "does not need all classes"
            )
        if n_classes > 2:
            return f"{n_classes} classes; use a score that is defined for them, such as roc_auc_ovr or f1_macro"
        return f"{len(numbers)} samples"

    def losses(self, numbers: np.ndarray) -> Losses:
        """Losses of votes for the rows with these numbers: the score, and between equal ones the squared error."""
        right = right_votes(self.rows.y[numbers], len(self.classes))
        errors = squared_error(right, self.rows.weight[numbers])

        def losses(averages: np.ndarray) -> np.ndarray:
            scores = [self(average, numbers) for average in averages]
            return np.column_stack([np.negative(scores), errors(averages)])

        return losses
