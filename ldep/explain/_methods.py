"""Methods that answer questions about decisions exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from ldep._utils import check_rows, feature_names, is_frame, like_input
from ldep.explain._attribution import GlobalExplanation, attribute, overview
from ldep.explain._box import box_of_answer
from ldep.explain._counterfactual import Counterfactuals, Question, counterfactuals, radii, wanted_of
from ldep.explain._domain import make_domain
from ldep.explain._explanation import Explanation, explain, pair_numbers, with_labels
from ldep.explain._least_distance import Deadline
from ldep.explain._several import Levers, Menu, menu, several
from ldep.model import FittedModel


class ExactAnswers:
    """Mixin of classifiers that have a fitted ℓ-DEP as `model_`."""

    classes_: np.ndarray
    model_: FittedModel
    predict: Callable
    _check_new_rows: Callable

    def explain(self, X, pair=None) -> Explanation:
        """Compute the exact contribution of each feature to the decision value of each row.

        With two classes and the active pieces i and j, tau is (w_i - m_j) . x + (c_i - d_j): feature f contributes
        (w_if - m_jf) x_f, the bias is c_i - d_j, and they sum to `decision_function(X)`. For a pair of classes (k, l)
        the same holds of s_k - s_l and the active pieces of all maxima in it. Features with a large offset are measured
        from the centre of the model instead of 0: they contribute (w_if - m_jf) (x_f - center_f). Sparse rows are
        always measured from 0.

        Where several models vote, the contributions to the decision value of a model are scaled down by the same
        factor if that exceeds its vote, so that they sum to the vote. The result is the weighted mean over the models,
        and the bias includes thresholds and factors of the classes. Nothing is left over here either.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        pair : tuple of two classes, default=None
            The classes k and l to compare. None explains tau with two classes and, with more, compares the predicted
            class of each row with the runner-up.

        Returns
        -------
        explanation : Explanation
            contributions, bias and decision, with the compared classes and their active pieces. `plot` draws a row,
            `to_frame` returns a data frame like X.
        """
        rows = self._check_new_rows(X)
        if not sparse.issparse(rows):
            rows = check_rows(self, X)
        numbers = None if pair is None else pair_numbers(pair, self.classes_)
        return with_labels(explain(self.model_, rows, numbers, feature_names(self)), self.classes_, X)

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
        directions=(),
        constraints=(),
        costs=(),
        max_changes=None,
        margin=0.0,
        probability=None,
        answers=1,
        box=False,
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
        directions : dict, default=()
            Features that only rise or only fall: `{"age": "up", "debt": "down"}`.
        constraints : sequence of str, default=()
            Linear constraints between features that the answer satisfies, even where the row does not:
            `["tenure <= 12 * age", "total = parts + labour"]`. A name of several words stands in backticks.
        costs : dict, default=()
            What a change of a feature by one unit of `scale` counts: `{"age": 5}`. The others count 1.
        max_changes : int, default=None
            How many features change at most; those of a category together count as one. None is any number.
        margin : float, default=0.0
            By how much the decision value of the class must lead that of every other class.
        probability : float, default=None
            The probability that the class must have at least, for models with `predict_proba`. Without a `target` it is
            that of another class. With more than two classes the bound is that of a condition that every such row
            fulfils, so that an answer may come with a gap.
        answers : int, default=1
            Answers per row. Each further one is the nearest row that leaves at least one of the features that an
            earlier answer changes as it is.
        box : bool, default=False
            Whether to find how far the numbers that change may go on, each on its own, such that every row in between
            has the class or, without a `target`, another class than the row: `low` and `high` of the answers.
        time_limit : float, default=1.0
            Seconds per row. When they are over, the answer comes with its bound and gap. A single model of two classes
            without integer features and categories needs milliseconds, and is always proven.

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
            directions=directions,
            constraints=constraints,
            costs=costs,
            max_changes=max_changes,
            margin=margin,
            probability=probability,
        )
        if isinstance(answers, bool) or answers != int(answers) or answers < 1:
            raise ValueError(f"answers={answers} must be a whole number, at least 1.")
        targets = None if target is None else self._target_numbers(target, len(rows))
        before = question.predict(rows)
        reached, outcomes = counterfactuals(question, rows, targets)
        source = X
        if answers > 1:
            wanted, found = wanted_of(question, rows, targets), []
            for x, classes, first in zip(rows, wanted, zip(reached.tolist(), outcomes)):
                found += several(Levers(question, x, classes, Deadline.after(time_limit)), first, int(answers))
            numbers = np.repeat(np.arange(len(rows)), answers)
            rows, before = rows[numbers], before[numbers]
            source = _safe_indexing(X, numbers) if is_frame(X) else X
            asked = before if targets is None else targets[numbers]
            reached = np.array([one if one >= 0 else label for (one, _), label in zip(found, asked)])
            outcomes = [outcome for _, outcome in found]
        missing = np.full(rows.shape[1], np.nan)
        Z = np.array([missing if outcome.z is None else outcome.z for outcome in outcomes]).reshape(rows.shape)
        avoided = np.arange(len(self.classes_)) == before[:, None]
        if target is not None:
            avoided = np.arange(len(self.classes_)) != reached[:, None]
        ends = [
            box_of_answer(question, x, z, classes, Deadline.after(time_limit)) if outcome.z is not None else (z, z)
            for x, z, classes, outcome in zip(rows, Z, avoided, outcomes)
            if box
        ]
        return Counterfactuals(
            like_input(Z, source),
            self.classes_[before],
            self.classes_[reached],
            np.array([outcome.distance for outcome in outcomes]),
            np.array([outcome.bound for outcome in outcomes]),
            rows,
            feature_names(self),
            norm,
            int(answers),
            np.array([low for low, _ in ends]) if box else None,
            np.array([high for _, high in ends]) if box else None,
        )

    def menu(self, X, columns=2, target=None, *, time_limit=10.0, **limits) -> Menu:
        """Decide for every set of up to so many columns whether changing these alone reaches another class.

        Parameters
        ----------
        X : array-like of shape (1, n_features)
            The row.
        columns : int, default=2
            Size of the largest sets. 1 is one lever at a time.
        target : class, default=None
            Class to reach; None is the nearest of the other classes.
        time_limit : float, default=10.0
            Seconds for the whole menu.
        **limits
            norm, scale, frozen, bounds, integer, categories, directions, constraints, costs, margin and probability, as
            for `counterfactual`.

        Returns
        -------
        menu : Menu
            The sets with the nearest way of each, the cheapest first; `print` shows them, and says which sets are
            proven to be unable to.
        """
        rows, question = self._question(X, time_limit, **limits)
        if len(rows) != 1:
            raise ValueError(f"A menu is about one row, but X has {len(rows)}.")
        if isinstance(columns, bool) or columns != int(columns) or columns < 1:
            raise ValueError(f"columns={columns} must be a whole number, at least 1.")
        question.domain.check_rows(rows)
        targets = None if target is None else self._target_numbers(target, 1)
        wanted = wanted_of(question, rows, targets)
        if not wanted.any():
            raise ValueError("The row has what is asked for already, so that nothing has to change.")
        levers = Levers(question, rows[0], wanted[0], Deadline.after(time_limit))
        return menu(levers, int(columns), feature_names(self), self.classes_)

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
            A proven lower bound, which is exact unless the time limit was reached: just beyond it the class changes.
            Infinite where no row has another class.
        """
        rows, question = self._question(X, time_limit, norm=norm, scale=scale, frozen=frozen, bounds=bounds)
        return radii(question, rows)

    def attribute(self, X, baseline) -> Explanation:
        """Compute the exact integrated gradients of each row: why it differs from a baseline.

        Unlike the contributions of `explain`, they change continuously with the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        baseline : array-like of shape (n_features,) or (n_samples, n_features)
            The row to compare with, such as the mean of the training rows, or one for each row.

        Returns
        -------
        explanation : Explanation
            Its bias is the decision value of the baseline, to which the contributions are added. With more than two
            classes there is one set of contributions per class, to its decision value.
        """
        rows = check_rows(self, X)
        start = np.asarray(baseline, dtype=float)
        if start.shape not in ((rows.shape[1],), rows.shape):
            raise ValueError(
                f"baseline has the shape {start.shape}; it must be one row of {rows.shape[1]} features, or one per row."
            )
        if not np.isfinite(start).all():
            raise ValueError("baseline contains NaN or an infinite value.")
        decision, of_baseline = self.model_.decision(rows), self.model_.decision(np.atleast_2d(start))
        bias = np.broadcast_to(of_baseline, decision.shape)
        contributions = attribute(self.model_, rows, start)
        frame = X if is_frame(X) else None
        return Explanation(contributions, bias, decision, rows, feature_names(self), frame=frame)

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
        return overview(self.model_, rows, self.predict(X), feature_names(self), start)

    def _question(
        self, X, time_limit: float, margin: float = 0.0, probability: float | None = None, **allowed
    ) -> tuple[np.ndarray, Question]:
        rows = check_rows(self, X)
        if not time_limit > 0:
            raise ValueError(f"time_limit={time_limit} must be positive.")
        domain = make_domain(feature_names(self), **allowed)
        question = Question(self.model_, self.model_.decision, self.classes_, domain, time_limit)
        return rows, question.demanding(margin, probability, self.model_.link)

    def _target_numbers(self, target, n_rows: int) -> np.ndarray:
        labels = np.broadcast_to(np.asarray(target), (n_rows,))
        unknown = [label for label in labels.tolist() if label not in self.classes_.tolist()]
        if unknown:
            raise ValueError(f"target {unknown[0]!r} is not one of the classes {self.classes_.tolist()}.")
        return np.searchsorted(self.classes_, labels)
