"""What models that vote decide together: the mean vote, its probabilities, and its explanation."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ldep.estimators.base import TauClassifier
from ldep.estimators.exact import ExactAnswers
from ldep.estimators.ldep import LDEPClassifier
from ldep.exact.models import Average, ClassVotes, Maxima, average_or_maxima, class_votes, maxima
from ldep.exact.rows import check_rows
from ldep.exact.simplification import box_of, simplified
from ldep.explanation import class_indices, like_input, top_two
from ldep.export.mixin import ExportMixin
from ldep.probability import (
    class_probabilities,
    fit_link,
    fit_slope,
    leads,
    probabilities,
    vote_log_odds,
    votes_at,
)
from ldep.samples import merge
from ldep.search.class_probability import class_factors, fit_vote_link, open_votes, vote_probabilities
from ldep.search.vote_explanation import as_pair, explain_class_votes, explain_votes
from ldep.search.votes import cast_votes
from ldep.threads import single_thread

# Where the values say nothing, all rows are on one side of the threshold: at this argument of the link, and not beyond.
FAR = 20.0


class VotingClassifier(ExactAnswers, ExportMixin, TauClassifier):
    """Base class of several models that vote, or of a single one that decides, with a link to probabilities.

    Subclasses implement `fit`, which sets `estimators_`, `weights_` and `classes_`, and calls `_set_link` or
    `_set_single_link`.
    """

    _multi_class = True
    _accept_sparse = "csr"
    estimators_: list[LDEPClassifier]
    weights_: np.ndarray
    link_: tuple[float, Any]

    def _set_single_link(self, decision: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        """Fit the link of a single model to decision values of rows."""
        table, y, weight = merge(decision.reshape(len(y), -1), y, weight)
        self._set_link(table.reshape(-1, *decision.shape[1:]), y, weight, clipped=False)

    def _set_link(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray, *, clipped: bool) -> None:
        """Fit the link to out-of-fold votes or decision values, and let the largest probability decide."""
        self._clipped = clipped
        self.n_iter_ = max(model.n_iter_ for model in self.estimators_)
        with single_thread():
            if values.ndim == 2:
                self._set_class_link(values, y.astype(np.intp), weight)
                return
            self.link_ = fit_link(vote_log_odds(values) if clipped else np.arcsinh(values), y, weight)
        slope, intercept = self.link_
        even = float(np.clip(-intercept / slope, -FAR, FAR))
        self.threshold_ = votes_at(even) if clipped else float(np.sinh(even))

    def _set_class_link(self, values: np.ndarray, own: np.ndarray, weight: np.ndarray) -> None:
        """Fit the link of more than two classes."""
        if self._clipped:
            self.link_ = fit_vote_link(open_votes(values), own, weight)
            self.class_factors_ = class_factors(*self.link_)
        else:
            self.link_ = fit_slope(leads(values), own, weight), np.zeros(values.shape[1])

    def _weighted_models(self) -> list[tuple[LDEPClassifier, float]]:
        return list(zip(self.estimators_, self.weights_))

    def _tau(self, X: np.ndarray) -> np.ndarray:
        if len(self.classes_) > 2:
            if not self._clipped:
                return self.estimators_[0]._tau(X)
            total = np.zeros((X.shape[0], len(self.classes_)))
            for model, weight in self._weighted_models():
                total += weight * cast_votes(model._tau(X))
            return self.class_factors_ * open_votes(total)
        tau = np.full(X.shape[0], -self.threshold_)
        for model, weight in self._weighted_models():
            decision = model._tau(X)
            tau += weight * (cast_votes(decision) if self._clipped else decision)
        return tau

    def _exact_model(self) -> Average | ClassVotes | Maxima:
        if len(self.classes_) == 2:
            return average_or_maxima(self.estimators_, self.weights_, self.threshold_, self._clipped)
        if self._clipped:
            return class_votes(self.estimators_, self.weights_, self.class_factors_)
        return maxima(self.estimators_[0])

    def simplify(self, X=None):
        """Drop the pieces of the models that are nowhere the largest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows; decision values stay the same in the smallest box that contains them. None keeps them everywhere.

        Returns
        -------
        model : estimator
            A copy with fewer pieces.
        """
        check_is_fitted(self)
        rows = None if X is None else check_rows(self, X)
        smaller = copy.copy(self)
        box = box_of(rows, self.n_features_in_)
        smaller.estimators_ = [simplified(model, *box) for model in self.estimators_]
        return smaller

    def predict_proba(self, X):
        """Compute the probabilities of the classes for each row.

        A logistic link, fitted to the out-of-fold values, maps the mean vote to probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`. The class with the larger one is predicted.
        """
        return self.probabilities_at(self.decision_function(X))

    def probabilities_at(self, decision):
        """Compute the probabilities of the classes from decision values that are known already.

        Parameters
        ----------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            What `decision_function` returned.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            What `predict_proba` returns for the same rows.
        """
        if len(self.classes_) > 2:
            if self._clipped:
                return vote_probabilities(decision / self.class_factors_, *self.link_)
            return class_probabilities(leads(decision), self.link_[0])
        values = decision + self.threshold_
        return probabilities(vote_log_odds(values) if self._clipped else np.arcsinh(values), *self.link_)

    def explain(self, X, pair=None):
        """Compute the contribution of each feature to the decision value of each row.

        The contributions of a model are those of `LDEPClassifier.explain`. Where its decision value exceeds its vote,
        all are scaled down by the same factor, so that they sum to the vote. The result is the weighted mean over the
        models; contributions and bias sum to `decision_function(X)`, or to the difference of its columns for a pair of
        classes, with nothing left over.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        pair : tuple of two classes, default=None
            The classes to compare, as in `LDEPClassifier.explain`: by default the predicted one with the runner-up if
            there are more than two.

        Returns
        -------
        explanation : Explanation, PairExplanation or DataFrame
            As `LDEPClassifier.explain`, with one column per model for the active pieces. The bias includes the
            threshold or, with more than two classes, the effect of the class factors.
        """
        rows = self._check_new_rows(X)
        indices = None if pair is None else class_indices(pair, self.classes_)
        if len(self.classes_) == 2:
            explanation = explain_votes(self._weighted_models(), rows, self.threshold_, clipped=self._clipped)
            if indices is None:
                return like_input(explanation, X)
            comparison = as_pair(explanation, second_first=indices == (1, 0))
        elif self._clipped:
            label, rival = (
                top_two(self._tau(rows).T) if indices is None else np.broadcast_to(indices, (rows.shape[0], 2)).T
            )
            comparison = explain_class_votes(self._weighted_models(), rows, self.class_factors_, label, rival)
        else:
            return like_input(self.estimators_[0].explain(rows, pair), X)
        return like_input(comparison.with_labels(self.classes_), X)
