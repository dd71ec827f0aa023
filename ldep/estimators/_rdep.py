"""The reduced dilation-erosion perceptron: a DEP on the decision values of support vector classifiers."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from ldep._utils import Interval, StrOptions, draw_seeds, fit_context, interruptible, set_random_states, single_thread
from ldep.estimators._base import TauClassifier
from ldep.estimators._dep import LARGEST_SPREAD, DEPClassifier

KERNELS = ("linear", "rbf", "poly")
# Iterations of a default SVC. Scaled data need some hundred per sample at most; without a bound libsvm may never end.
SVC_MAX_ITER = 1_000_000
# Root mean square of a feature beyond which the features are standardised.
LARGEST_RMS = 10.0
# The same, in standard deviations of the feature: the kernels divide by the variance, and the polynomial one raises the
# quotient to the third power.
LARGEST_OFFSET = 100.0
# A bootstrap draws a sample at most this often on average, however large the weights.
MAX_DRAWS = 10**6


class RDEPClassifier(TauClassifier):
    """Reduced dilation-erosion perceptron: tau(x) = beta max_j(rho_j(x) + a_j) + (1 - beta) min_j(rho_j(x) + b_j).

    rho_j(x) is the decision value of the j-th of several support vector classifiers, which are trained first [1]_.
    These values are larger where the positive class is likelier, in units of the margin: the order and the scale that a
    DEP presupposes and that features seldom have. The DEP is then trained on the values of the same samples.

    Features with a root mean square beyond 10 are standardised first, with a warning: the classifiers might not
    converge on them.

    Parameters
    ----------
    mapping : {"ensemble", "bagging"}, default="ensemble"
        "ensemble" trains each of `estimators` on all samples. "bagging" trains `n_estimators` of them, in turn, on
        bootstrap samples, drawn within each class.
    estimators : list of estimators, default=None
        Binary classifiers with `decision_function` whose `fit` takes `sample_weight`. None is SVCs with a linear, an
        RBF and a polynomial kernel for "ensemble", and one with an RBF kernel for "bagging", of at most a million
        iterations each.
    n_estimators : int, default=10
        Size of the bag. An ensemble is as large as `estimators`.
    loss, solver, solver_options, init, n_init, max_iter, tol, verbose
        As for `DEPClassifier`, of the training of the DEP.
    class_weight : dict or "balanced", default=None
        Weights of the classes, in the estimators and in the DEP.
    n_jobs : int, default=None
        Number of estimators to fit at a time. The numbers do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the bootstrap, of the estimators and of the starts.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted rho_j.
    center_, scale_ : ndarray of shape (n_features,)
        What the features are standardised by; 0 and 1 where no feature is large.
    dep_ : DEPClassifier
        The DEP on their decision values.
    beta_, a_, b_ : float, ndarray of shape (n_estimators,)
        Its parameters.
    classes_ : ndarray of shape (2,)
        The classes; the second one is predicted where tau >= 0.
    objective_, history_, n_iter_ : float, dict, int
        Its loss, the course of its training and the number of its iterations.
    n_features_in_, feature_names_in_
        Number and names of the features, as elsewhere in scikit-learn.

    References
    ----------
    .. [1] M. E. Valle, "Reduced dilation-erosion perceptron for binary classification", Mathematics 8 (2020), 512.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from ldep import RDEPClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> RDEPClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "mapping": [StrOptions({"ensemble", "bagging"})],
        "estimators": [list, None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        **DEPClassifier._parameter_constraints,
    }

    def __init__(
        self,
        mapping="ensemble",
        *,
        estimators=None,
        n_estimators=10,
        loss="hinge",
        solver="anneal",
        solver_options=None,
        init="auto",
        n_init=2,
        max_iter=None,
        tol=1e-3,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.mapping = mapping
        self.estimators = estimators
        self.n_estimators = n_estimators
        self.loss = loss
        self.solver = solver
        self.solver_options = solver_options
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Train the estimators, then the DEP on their decision values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, of which there must be two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, in the estimators and in the DEP; None is 1. A support vector classifier multiplies
            its C by them: keep their mean near 1.

        Returns
        -------
        self : RDEPClassifier
            The fitted estimator.
        """
        X, signs, weight = self._check_samples(X, y, sample_weight)
        random_state = check_random_state(self.random_state)
        self.center_, self.scale_ = self._choose_scale(X, weight)
        scaled = self._scaled(X)
        models = self._unfitted()
        weights = [weight] * len(models)
        if self.mapping == "bagging":
            rng = np.random.default_rng(random_state.randint(2**31, size=4))
            weights = [bootstrap(signs, weight, rng) for _ in models]
        *seeds, dep_seed = draw_seeds(random_state, len(models) + 1)
        models = [set_random_states(clone(model), seed) for model, seed in zip(models, seeds)]
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit)(model, scaled[drawn > 0], signs[drawn > 0], drawn[drawn > 0])
            for model, drawn in zip(models, weights)
        )
        with single_thread():
            rho = self._rho(X)
        _check_size(rho, self.estimators_, weight)
        shared = ("loss", "solver", "solver_options", "init", "n_init", "max_iter", "tol", "verbose")
        dep = DEPClassifier(**{name: getattr(self, name) for name in shared}, random_state=dep_seed)
        self.dep_ = dep.fit(rho, signs, sample_weight=weight)
        self.beta_, self.a_, self.b_ = self.dep_.beta_, self.dep_.a_, self.dep_.b_
        self.objective_, self.history_, self.n_iter_ = self.dep_.objective_, self.dep_.history_, self.dep_.n_iter_
        return self

    def _unfitted(self) -> list:
        """The estimators to clone and fit."""
        if self.estimators is None:
            kernels = KERNELS if self.mapping == "ensemble" else ("rbf",)
            models = [SVC(kernel=kernel, max_iter=SVC_MAX_ITER) for kernel in kernels]
        else:
            models = self.estimators
        if not models:
            raise ValueError("estimators: the list is empty. Use None for the default.")
        for model in models:
            if not hasattr(model, "decision_function"):
                raise ValueError(f"estimators: {type(model).__name__} has no decision_function.")
            if not has_fit_parameter(model, "sample_weight"):
                raise ValueError(f"estimators: the fit of {type(model).__name__} does not take sample_weight.")
        if self.mapping == "ensemble":
            return models
        return [models[j % len(models)] for j in range(self.n_estimators)]

    def _rho(self, X: np.ndarray) -> np.ndarray:
        """The decision values of the estimators, one column each."""
        scaled = self._scaled(X)
        return np.column_stack([model.decision_function(scaled) for model in self.estimators_])

    def _choose_scale(self, X: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation to standardise by, with a warning; 0 and 1 where no feature is large or far from 0."""
        with single_thread():
            share = weight / weight.sum()
            size = np.sqrt(share @ np.square(X))
            center = share @ X
            deviation = np.sqrt(share @ np.square(X - center))
        varies = deviation > 1e-14 * np.abs(center)
        unsuitable = (size > LARGEST_RMS) | (varies & (size > LARGEST_OFFSET * deviation))
        if not unsuitable.any():
            return np.zeros(X.shape[1]), np.ones(X.shape[1])
        column = int(np.where(unsuitable, size, -1.0).argmax())
        warnings.warn(
            f"RDEPClassifier standardised the features: column {column} of X has the root mean square "
            f"{size[column]:.4g} and the standard deviation {deviation[column]:.4g}, and support vector classifiers "
            "need features around 0 of size 1. Standardise them yourself, for example with "
            "sklearn.preprocessing.StandardScaler, to avoid this warning.",
            DataConversionWarning,
            stacklevel=4,
        )
        return center, np.where(varies, deviation, 1.0)

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """The features as the estimators see them."""
        return (X - self.center_) / self.scale_

    def _tau(self, X: np.ndarray) -> np.ndarray:
        return self.dep_.decision_function(self._rho(X))


def _check_size(rho: np.ndarray, estimators: list, weight: np.ndarray) -> None:
    """Refuse decision values that are so large that the margin of the DEP is lost to rounding."""
    sizes = np.abs(rho).max(axis=0)
    if sizes.max() > LARGEST_SPREAD / 2:
        raise ValueError(
            f"The decision values of {estimators[int(sizes.argmax())]} reach {sizes.max():.3g}, beside which the "
            f"margin of 1 is lost to rounding. The weights of the samples have the mean {weight.mean():.3g}: divide "
            "them by it."
        )


def bootstrap(signs: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the weights of a bootstrap sample within each class, so that each class keeps its total weight.

    Integer weights count as repetitions: as many draws are made as there are samples to draw from.
    """
    drawn = np.zeros_like(weight)
    for sign in (-1.0, 1.0):
        rows = np.flatnonzero(signs == sign)
        total = weight[rows].sum()
        draws = int(np.clip(np.rint(total), len(rows), MAX_DRAWS * len(rows)))
        drawn[rows] = rng.multinomial(draws, weight[rows] / total) * (total / draws)
    return drawn


def _fit(model, X, y, sample_weight):
    with single_thread():
        return interruptible(model.fit, X, y, sample_weight=sample_weight)
