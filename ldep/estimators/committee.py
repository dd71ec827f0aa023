"""A committee: the mean of tau over the models of a cross-validation."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from ldep._sklearn import HasMethods, fit_context
from ldep.estimators.base import TauClassifier
from ldep.estimators.ldep import LDEPClassifier
from ldep.explanation import average, like_input
from ldep.seeds import draw_seeds, set_random_states


def _members_explain(committee) -> bool:
    members = getattr(committee, "estimators_", None) or [committee._member()]
    return all(hasattr(member, "explain") for member in members)


class LDEPCommittee(TauClassifier):
    """Committee of linear dilation-erosion perceptrons: tau is the mean over the models of a cross-validation.

    Each member is trained on one training part of the cross-validation [1]_, with a seed of its own. The mean has less
    variance than any member, and is still piecewise affine: `explain` stays exact.

    Parameters
    ----------
    estimator : estimator, default=None
        A binary classifier with `decision_function`; None is `LDEPClassifier()`. The committee has `explain` if the
        estimator has it.
    cv : int, splitter or iterable of (train, test), default=5
        An int is the number of folds of a stratified, shuffled k-fold over the rows whose weight is not zero. When a
        class has fewer rows than that, there are as many folds as it has rows; when it has one row, the committee is a
        single model on all rows. Splitters and iterables are used unchanged.
    n_jobs : int, default=None
        Number of members to fit at a time. The numbers do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the members: it replaces each `random_state` of `estimator`.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    classes_ : ndarray of shape (2,)
        The classes; the second one is predicted where tau >= 0.
    n_features_in_, feature_names_in_
        Number and names of the features, as elsewhere in scikit-learn.

    References
    ----------
    .. [1] A. Krogh and J. Vedelsby, "Neural network ensembles, cross validation, and active learning", Advances in
       Neural Information Processing Systems 7 (1995), 231-238.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from ldep import LDEPClassifier, LDEPCommittee
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> committee = LDEPCommittee(LDEPClassifier(alpha=0.1), random_state=0).fit(X, y)
    >>> len(committee.estimators_)
    5
    >>> committee.score(X, y) > 0.98
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "decision_function"]), None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(self, estimator=None, *, cv=5, n_jobs=None, random_state=None):
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _member(self):
        return LDEPClassifier() if self.estimator is None else self.estimator

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Train one member per training part.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, of which there must be two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, passed on to the members.

        Returns
        -------
        self : LDEPCommittee
            The fitted estimator.
        """
        member = self._member()
        if sample_weight is not None and not has_fit_parameter(member, "sample_weight"):
            raise ValueError(f"sample_weight was given, but {type(member).__name__}.fit does not take it.")
        X, signs, weight = self._check_rows(X, y, sample_weight)
        y = self.classes_[(signs > 0).astype(int)]
        random_state = check_random_state(self.random_state)
        parts = self._training_parts(X, y, weight, random_state)
        members = [set_random_states(clone(member), seed) for seed in draw_seeds(random_state, len(parts))]
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit)(member, X[rows], y[rows], None if sample_weight is None else weight[rows])
            for member, rows in zip(members, parts)
        )
        return self

    def _training_parts(self, X, y, weight, random_state) -> list[np.ndarray]:
        """The rows of each training part."""
        if self.cv is not None and not isinstance(self.cv, Integral):
            parts = [train for train, _ in check_cv(self.cv, y, classifier=True).split(X, y)]
            for number, rows in enumerate(parts):
                if len(np.unique(y[rows])) < 2:
                    raise ValueError(f"cv: training part {number} has samples of one class only.")
            return parts
        present = np.flatnonzero(weight > 0)
        folds = min(5 if self.cv is None else self.cv, np.unique(y[present], return_counts=True)[1].min())
        # Drawn even when there are no folds, so that the members' seeds do not depend on their number.
        seed = draw_seeds(random_state, 1)[0]
        if folds < 2:
            return [present]
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
        return [present[train] for train, _ in splitter.split(X[present], y[present])]

    def _tau(self, X: np.ndarray) -> np.ndarray:
        return np.mean([member.decision_function(X) for member in self.estimators_], axis=0)

    @available_if(_members_explain)
    def explain(self, X):
        """Compute the exact contribution of each feature to the decision value of each row: the mean over the members.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        explanation : Explanation or DataFrame
            As for `LDEPClassifier.explain`, with the active pieces of each member: `dilation` and `erosion` have one
            column per member. Contributions and bias sum to `decision_function(X)`.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return like_input(average([member.explain(rows) for member in self.estimators_]), X)


def _fit(member, X, y, sample_weight):
    return member.fit(X, y) if sample_weight is None else member.fit(X, y, sample_weight=sample_weight)
