"""Methods that predict sets of classes with a chosen coverage, and the scores that they are calibrated on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ldep._utils import check_rows, feature_names
from ldep.explain import PredictionSets, make_domain, sets_in_ball
from ldep.model import FittedModel, SetLimits, check_coverage


class PredictsSets:
    """Mixin of classifiers that have a fitted ℓ-DEP as `model_`."""

    classes_: np.ndarray
    model_: FittedModel
    set_limits_: SetLimits
    _check_new_rows: Callable

    def predict_set(
        self, X, coverage=0.9, *, classwise=False, radius=None, norm="l2", scale=None, frozen=(), time_limit=1.0
    ) -> PredictionSets:
        """Predict for each row the set of classes that it may have.

        At least the share `coverage` of all rows have their class in their set, if the sets are calibrated on rows that
        took no part in the fit (`calibrate`), and the rows are exchangeable with these. An `LDEPClassifierCV`, and an
        `LDEPClassifier` with the hinge and `probability=True`, are calibrated by `fit` on their out-of-fold decision
        values. The share is then what is measured, and not proven: see "Prediction sets" in docs/model.md.

        A set has no class where even the likeliest class of the row is less likely than those of most rows are. It has
        all classes where the rows for the calibration were too few.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        coverage : float, default=0.9
            The share of rows, above 0 and at most 0.999. Between two thousandths the higher one counts.
        classwise : bool, default=False
            Whether the coverage holds for the rows of each class. Sets are larger, and need more rows of each class.
        radius : float, default=None
            If given, a set contains each class that is in the set of any row within this distance of its row. So it
            stays valid however the row was changed within the radius.
        norm, scale, frozen
            How the distance is measured, and which features do not change, as for `counterfactual`.
        time_limit : float, default=1.0
            Seconds per row with a radius. Where it is reached, the set contains the classes about which nothing was
            proven, and `exact` is False.

        Returns
        -------
        sets : PredictionSets
            contains, with one column per class; labels, sizes and exact. `print` shows them.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from ldep import LDEPClassifierCV
        >>> X, y = make_moons(400, noise=0.4, random_state=0)
        >>> model = LDEPClassifierCV(random_state=0).fit(X[:200], y[:200])
        >>> print(model.predict_set([[0.0, 0.9], [0.5, 0.25]], coverage=0.95))
        row 0: 0
        row 1: 0, 1
        """
        check_is_fitted(self)
        check_coverage(coverage)
        limits = self._limits()
        contains = limits.contains(self.model_.mean_decision(self._check_new_rows(X)), coverage, classwise)
        exact = np.ones(len(contains), dtype=bool)
        if radius is not None:
            if not radius >= 0:
                raise ValueError(f"radius={radius} must not be negative.")
            if not time_limit > 0:
                raise ValueError(f"time_limit={time_limit} must be positive.")
            if sparse.issparse(X):
                raise ValueError("A radius needs a dense X, and X is sparse. Pass X.toarray().")
            domain = make_domain(feature_names(self), norm=norm, scale=scale, frozen=frozen)
            ball = limits.at(coverage, classwise), domain, float(radius), float(time_limit)
            contains, exact = sets_in_ball(self.model_, check_rows(self, X), contains, *ball)
        return PredictionSets(contains, self.classes_, float(coverage), exact)

    def calibrate(self, X, y):
        """Calibrate the prediction sets on rows that took no part in the fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : estimator
            The fitted estimator. Nothing but its prediction sets changes.
        """
        check_is_fitted(self)
        decision, labels = self.model_.mean_decision(self._check_new_rows(X)), column_or_1d(y)
        check_consistent_length(decision, labels)
        unknown = [label for label in np.unique(labels).tolist() if label not in self.classes_.tolist()]
        if unknown:
            raise ValueError(
                f"y has the class {unknown[0]!r}, which is not one of the classes {self.classes_.tolist()}."
            )
        self.set_limits_ = SetLimits.of(decision, np.searchsorted(self.classes_, labels))
        return self

    def _forget_limits(self) -> None:
        """Drop the calibration of an earlier fit."""
        vars(self).pop("set_limits_", None)

    def _limits(self) -> SetLimits:
        if not hasattr(self, "set_limits_"):
            raise ValueError(
                f"This {type(self).__name__} has not been calibrated, because its fit keeps no decision values of rows "
                "that a model has not seen. Call calibrate(X, y) with rows that took no part in the fit, or fit an "
                "LDEPClassifierCV."
            )
        return self.set_limits_
