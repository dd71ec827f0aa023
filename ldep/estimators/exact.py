"""Methods that answer questions about decisions exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ldep.exact.attribution import Attribution, attribute
from ldep.exact.counterfactual import Question, counterfactuals, radii, searchable
from ldep.exact.domain import make_domain
from ldep.exact.models import Average, ClassVotes, Maxima, maxima
from ldep.exact.overview import GlobalExplanation, overview
from ldep.exact.result import Counterfactuals
from ldep.exact.rows import check_rows, feature_names, like_input
from ldep.exact.rules import RuleSheet, rule_sheet, with_agreement
from ldep.exact.simplification import box_of, simplified


class ExactAnswers(ABC):
    """Mixin of classifiers whose decision function is piecewise affine."""

    classes_: np.ndarray
    n_features_in_: int
    predict: Callable
    _tau: Callable[[np.ndarray], np.ndarray]

    @abstractmethod
    def _exact_model(self) -> Maxima | Average | ClassVotes:
        """The trained model as plain arrays."""

    def counterfactual(
        self,
        X,
        target=None,
        *,
        norm="l2",
        scale=None,
        frozen=(),
        bounds=None,
        integer=(),
        categories=(),
        time_limit=1.0,
    ) -> Counterfactuals:
        """Find the nearest row of another class for each row, with a proof that no allowed row is nearer.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        target : class or array-like of shape (n_samples,), default=None
            Class to reach. None is the nearest of the other classes.
        norm : {"l2", "l1", "linf"}, default="l2"
            How changes are added up to a distance. "l1" changes few features.
        scale : array-like of shape (n_features,), default=None
            Length of one unit of each feature, such as its standard deviation; None is 1.
        frozen : sequence of features, default=()
            Features that must not change, by name or number, or a mask.
        bounds : dict or pair of array-likes, default=None
            Lower and upper bound of features: `{"age": (18, 65)}`, where None is no bound.
        integer : sequence of features or dict, default=()
            Features that change in whole numbers; a dict gives the step of each.
        categories : dict or list of sequences of features, default=()
            Nominal features. A dict gives the allowed values of a column: `{"sex": [0, 1]}`, or of several columns
            together: `{("a", "b"): [(1, 0), (0, 1)]}`. A list names groups of one-hot columns, of which one is 1.
        time_limit : float, default=1.0
            Seconds per row for averages of models, and for integer features and categories. When they are over, the
            answer comes with its bound and gap. The answer of a single model without them is always proven.

        Returns
        -------
        counterfactuals : Counterfactuals
            rows, distance, bound, gap, optimal, and the changes of each row. `print` shows them.
        """
        rows, question = self._question(
            X,
            time_limit,
            norm=norm,
            scale=scale,
            frozen=frozen,
            bounds=bounds,
            integer=integer,
            categories=categories,
        )
        targets = None if target is None else self._target_numbers(target, len(rows))
        before = question.predict(rows)
        reached, outcomes = counterfactuals(question, rows, targets)
        missing = np.full(rows.shape[1], np.nan)
        Z = np.array([missing if outcome.z is None else outcome.z for outcome in outcomes]).reshape(rows.shape)
        return Counterfactuals(
            like_input(Z, X),
            self.classes_[before],
            self.classes_[reached],
            np.array([outcome.distance for outcome in outcomes]),
            np.array([outcome.bound for outcome in outcomes]),
            rows,
            feature_names(self),
            norm,
        )

    def certificate(self, X, *, norm="l2", scale=None, frozen=(), bounds=None, time_limit=1.0) -> np.ndarray:
        """Compute the radius around each row within which the predicted class cannot change.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        norm, scale, frozen, bounds, time_limit
            As for `counterfactual`.

        Returns
        -------
        radius : ndarray of shape (n_samples,)
            Exact for a single model: just beyond it the class changes. For an average it is a proven lower bound, which
            is exact unless the time limit was reached. Infinite where no row has another class.
        """
        rows, question = self._question(X, time_limit, norm=norm, scale=scale, frozen=frozen, bounds=bounds)
        return radii(question, rows)

    def attribute(self, X, baseline) -> Attribution:
        """Compute the exact integrated gradients of each row: why it differs from a baseline.

        Unlike `explain`, they change continuously with the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        baseline : array-like of shape (n_features,) or (n_samples, n_features)
            The row to compare with, such as the mean of the training rows, or one for each row.

        Returns
        -------
        attribution : Attribution
            contributions, which sum to decision - baseline_decision. With more than two classes there is one set of
            contributions per class, to its decision value.
        """
        rows = check_rows(self, X)
        start = np.asarray(baseline, dtype=float)
        if start.shape not in ((rows.shape[1],), rows.shape):
            raise ValueError(
                f"baseline has the shape {start.shape}; it must be one row of {rows.shape[1]} features, or one per row."
            )
        if not np.isfinite(start).all():
            raise ValueError("baseline contains NaN or an infinite value.")
        contributions, decision, baseline_decision = attribute(self._exact_model(), rows, start)
        return Attribution(
            like_input(contributions, X) if contributions.ndim == 2 else contributions,
            decision,
            baseline_decision,
            rows,
            feature_names(self),
        )

    def explain_global(self, X, baseline=None) -> GlobalExplanation:
        """Summarise what the model does on many rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, such as the training data.
        baseline : array-like of shape (n_features,), default=None
            Row with which all rows are compared; None is their mean.

        Returns
        -------
        explanation : GlobalExplanation
            importance (the mean absolute share of each feature), the regions in use with their rows and classes, and
            the pieces in use. `print` shows them.
        """
        rows = check_rows(self, X)
        start = rows.mean(axis=0) if baseline is None else np.asarray(baseline, dtype=float)
        return overview(self._exact_model(), rows, self.predict(X), feature_names(self), start)

    def _question(self, X, time_limit: float, **allowed) -> tuple[np.ndarray, Question]:
        rows = check_rows(self, X)
        if not time_limit > 0:
            raise ValueError(f"time_limit={time_limit} must be positive.")
        domain = make_domain(feature_names(self), **allowed)
        return rows, Question(searchable(self._exact_model()), self._tau, self.classes_, domain, time_limit)

    def _target_numbers(self, target, n_rows: int) -> np.ndarray:
        labels = np.broadcast_to(np.asarray(target), (n_rows,))
        unknown = [label for label in labels.tolist() if label not in self.classes_.tolist()]
        if unknown:
            raise ValueError(f"target {unknown[0]!r} is not one of the classes {self.classes_.tolist()}.")
        return np.searchsorted(self.classes_, labels)


class ExactPieces(ExactAnswers):
    """Mixin of single models, whose pieces can be listed."""

    def simplify(self, X=None):
        """Drop the pieces that are nowhere the largest.

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
        return simplified(self, *box_of(rows, self.n_features_in_))

    def rules(self, X=None, *, scaler=None, units=None, digits=4, max_terms=8) -> RuleSheet:
        """Write the model as a sheet of rules, without redundant conditions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows, as for `predict`. The rules then hold in the smallest box that contains them, and can be shorter.
            None covers all rows.
        scaler : StandardScaler, default=None
            Scaler that the rows went through. The rules are then about the features before it.
        units : dict, default=None
            Units of features, to print.
        digits : int, default=4
            Digits of the printed numbers.
        max_terms : int, default=8
            Number of features that a printed condition names. The others are counted.

        Returns
        -------
        rules : RuleSheet
            The rules in full precision; `print` shows them, with a statement of which rows they cover.
        """
        check_is_fitted(self)
        rows = None if X is None else check_rows(self, X)
        low, high = box_of(rows, self.n_features_in_)
        sheet = rule_sheet(maxima(self), self.classes_, feature_names(self), low, high, scaler)
        sheet = replace(sheet, units=units or {}, digits=digits, max_terms=max_terms)
        return sheet if rows is None else with_agreement(sheet, rows, self.predict(X), scaler)
