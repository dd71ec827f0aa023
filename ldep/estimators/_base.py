"""What all classifiers with a decision function share, and what those with a fitted ℓ-DEP have beyond it."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ldep._utils import check_collected, check_rows, feature_names
from ldep.estimators._sets import PredictsSets
from ldep.explain import ExactAnswers, Sheet, rule_sheet, simplified
from ldep.export import ExportMixin
from ldep.model import FittedModel, Maxima, class_numbers
from ldep.training import (
    Samples,
    by_class,
    check_all_present,
    check_weights,
    encode_classes,
    group_sizes_of,
    merge,
    two_classes,
)

LARGEST_VALUE = 1e150
# Decision values whose range is a smaller share of their size than this hardly vary.
NO_SPREAD = 1e-2


class TauClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base class of classifiers by a decision value: with two classes, the second is predicted where tau >= 0.

    Subclasses implement `fit` and `_tau`. Those that take more than two classes set `_multi_class`; `_tau` then returns
    one column per class, and the largest is predicted.
    """

    classes_: np.ndarray
    _multi_class = False
    # Whether sparse rows are accepted, as `validate_data` takes it, and whether missing values are.
    _accept_sparse: str | bool = False
    _accept_missing = False

    @abstractmethod
    def _tau(self, X: np.ndarray) -> np.ndarray:
        """Decision value of each row of a checked X."""

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The classes, and y as `Samples` has it."""
        encode = encode_classes if self._multi_class else two_classes
        return encode(y, type(self).__name__)

    def _check_rows(self, X, y, sample_weight, *, resume: bool = False) -> Samples:
        """Check the input of a fit, set classes_, and return the rows in their order.

        With `resume` the features and the classes must be those of the last fit.
        """
        check_collected(X)
        X, y = validate_data(self, X, y, reset=not resume, **self._accepted())
        name = type(self).__name__
        classes, encoded = self._encode(y)
        if resume and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start continues the last fit, but y has the classes {classes.tolist()} and {name} was fitted to "
                f"{self.classes_.tolist()}. Set warm_start=False to begin anew."
            )
        self.classes_ = classes
        weight = check_weights(sample_weight, y, getattr(self, "class_weight", None))
        check_all_present(encoded, weight, self.classes_, name)
        check_magnitude(X, name)
        return Samples(X, encoded, weight)

    def _check_samples(self, X, y, sample_weight, *, resume: bool = False) -> Samples:
        """Check the input of a fit, set classes_, and return the distinct rows, which are all that a fit depends on."""
        return merge(*self._check_rows(X, y, sample_weight, resume=resume))

    def _check_new_rows(self, X):
        """Check rows for a fitted model."""
        check_is_fitted(self)
        check_collected(X)
        return validate_data(self, X, reset=False, **self._accepted())

    def _accepted(self) -> dict[str, Any]:
        """The rows that are accepted, as `validate_data` takes it."""
        finite = "allow-nan" if self._accept_missing else True
        return {"accept_sparse": self._accept_sparse, "dtype": np.float64, "order": "C", "ensure_all_finite": finite}

    def decision_function(self, X):
        """Compute the decision values of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes tau: `classes_[1]` is predicted where it is not negative. With more, one column per class:
            the largest is predicted.
        """
        return self._tau(self._check_new_rows(X))

    def predict(self, X):
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted classes.
        """
        numbers = class_numbers(self.decision_function(X))
        return self.classes_[numbers]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multi_class
        tags.input_tags.allow_nan = self._accept_missing
        return tags


class FittedModelClassifier(PredictsSets, ExactAnswers, ExportMixin, TauClassifier):
    """Base class of estimators whose `fit` sets `model_`, a fitted ℓ-DEP: it decides, explains and is exported."""

    _multi_class = True
    _accept_sparse = "csr"
    model_: FittedModel

    def _tau(self, X) -> np.ndarray:
        return self.model_.decision(X)

    def _check_rows(self, X, y, sample_weight, *, resume: bool = False) -> Samples:
        self._forget_limits()
        return super()._check_rows(X, y, sample_weight, resume=resume)

    def _check_new_rows(self, X):
        X = super()._check_new_rows(X)
        if self._accept_missing:
            self._check_missing(X)
        return X

    def _check_missing(self, X) -> None:
        """Refuse values that are missing where the training rows had them all: nothing was learned for that."""
        is_missing = np.isnan(X.data if sparse.issparse(X) else X)
        if not is_missing.any():
            return
        if sparse.issparse(X):
            raise ValueError("A sparse X must not have missing values. Fill them in, or pass X.toarray().")
        unexpected = np.argwhere(is_missing & ~self.model_.takes_missing)
        if len(unexpected):
            row, column = unexpected[0]
            raise ValueError(
                f"Row {row} has NaN in {feature_names(self)[column]!r}, which had no missing values in training: "
                "nothing was learned about them. Fill in the value, or train on rows in which it is missing too."
            )

    def _warn_if_constant(self, decision: np.ndarray) -> None:
        """Warn of a model with these decision values for the training rows, if it says nearly the same of all."""
        spread, size = np.ptp(decision, axis=0).max(), np.abs(decision).max()
        if spread <= NO_SPREAD * max(size, 1.0):
            warnings.warn(
                f"{type(self).__name__} has learned next to nothing: its decision values hardly vary over the training "
                "rows. "
                "Try a smaller alpha, class_weight='balanced' where a class is rare, or the logistic loss.",
                UserWarning,
                stacklevel=4,
            )

    def _has_probability(self) -> bool:
        """Whether `predict_proba` exists; an AttributeError can say why not."""
        return True

    @available_if(lambda self: self._has_probability())
    def predict_proba(self, X):
        """Compute the probabilities of the classes for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`. The class with the largest one is predicted.
        """
        return self.probabilities_at(self.decision_function(X))

    @available_if(lambda self: self._has_probability())
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
        return self.model_.probabilities(decision)

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
        if self.model_.takes_missing.any():
            raise ValueError(
                f"{type(self).__name__} was trained on rows with missing values. Pieces that complete rows do without "
                "may be needed where a value is missing. Fill the values in before the training."
            )
        smaller = copy.deepcopy(self)
        smaller.model_ = simplified(self.model_, None if X is None else check_rows(self, X))
        smaller._adapt(X)
        return smaller

    def _adapt(self, X) -> None:
        """Set what follows from the model after pieces were dropped that the rows X do not need."""


def check_magnitude(X, estimator: str) -> None:
    """Refuse features whose squares overflow: no variance can be computed from them."""
    values = X.data if sparse.issparse(X) else X
    sizes = np.nan_to_num(np.abs(values), posinf=np.inf)
    if values.size and sizes.max() > LARGEST_VALUE:
        position = sizes.argmax()
        if sparse.issparse(X):
            row, column = np.searchsorted(X.indptr, position, side="right") - 1, X.indices[position]
        else:
            row, column = np.unravel_index(position, X.shape)
        raise ValueError(
            f"{estimator} cannot use values beyond {LARGEST_VALUE:g}: X[{row}, {column}] is {values.flat[position]:g}. "
            "Rescale the feature, or treat the value as missing."
        )


class SingleModelClassifier(FittedModelClassifier):
    """Base class of single models: tau(x) = max_i(w_i . x + c_i) - max_j(m_j . x + d_j) with two classes.

    With more, every class has such a difference as its score, and the largest is predicted. Subclasses implement `fit`
    and have the parameters r1 and r2.
    """

    def _group_sizes(self) -> tuple[int, ...]:
        """Number of pieces in each maximum, in the order of training."""
        return group_sizes_of(self.r1, self.r2, len(self.classes_))

    def _adapt(self, X) -> None:
        """Set r1 and r2 after pieces were dropped."""
        sizes = by_class(self._maxima.sizes)
        half = len(sizes) // 2
        self.r1, self.r2 = max(sizes[:half]), max(sizes[half:])

    def rules(self, X=None, *, scaler=None, units=None, digits=4, max_terms=8) -> Sheet:
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
        rules : RuleSheet or ScoreSheet
            The rules in full precision; `print` shows them, with a statement of which rows they cover. A model of more
            than two classes has one score per class instead, of which the largest decides.
        """
        check_is_fitted(self)
        rows = None if X is None else check_rows(self, X)
        shown = {"units": units or {}, "digits": digits, "max_terms": max_terms}
        return rule_sheet(self.model_, self.classes_, feature_names(self), rows, scaler, **shown)

    @property
    def _maxima(self) -> Maxima:
        check_is_fitted(self)
        return self.model_.members[0]

    coefs_ = property(lambda self: self._maxima.slopes)
    intercepts_ = property(lambda self: self._maxima.intercepts)
    center_ = property(lambda self: self._maxima.center)

    def _of_two_classes(self, attribute: str) -> Maxima:
        """Return the maxima, or raise an error when they have no such view because of the number of classes."""
        if self._maxima.n_classes != 2:
            raise AttributeError(
                f"{attribute} belongs to a model with two classes, and this one has {self._maxima.n_classes}. Its "
                "pieces are in coefs_ and intercepts_."
            )
        return self._maxima

    # The letters of two classes.
    W_ = property(lambda self: self._of_two_classes("W_").slopes[1])
    c_ = property(lambda self: self._of_two_classes("c_").intercepts[1])
    M_ = property(lambda self: self._of_two_classes("M_").slopes[0])
    d_ = property(lambda self: self._of_two_classes("d_").intercepts[0])

    # The paper's form. Any beta in (0, 1) gives the same tau; halving and doubling are exact.
    @property
    def beta_(self) -> float:
        self._of_two_classes("beta_")
        return 0.5

    R1_ = property(lambda self: self.W_ / self.beta_)
    a_ = property(lambda self: self.c_ / self.beta_)
    R2_ = property(lambda self: self.M_ / (self.beta_ - 1.0))
    b_ = property(lambda self: self.d_ / (self.beta_ - 1.0))
