"""What the three morphological perceptrons share: parameters, training, limits."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from ldep._sklearn import Interval, StrOptions, fit_context
from ldep.estimators.base import TauClassifier
from ldep.initialization import MORPHOLOGICAL_STARTS, morphological_starts
from ldep.pieces import MorphologicalPieces
from ldep.problem import Problem
from ldep.solvers import SOLVERS
from ldep.threads import single_thread
from ldep.training import best_of_starts, check_options

# Beyond this spread of a feature, a margin of 1 is lost to rounding in double precision.
LARGEST_SPREAD = 1e15


class MorphologicalPerceptron(TauClassifier):
    """Base class of the morphological perceptrons. Subclasses say which beta they fix, if any."""

    _fixed_beta: ClassVar[float | None] = None

    _parameter_constraints: ClassVar[dict] = {
        # dccp states the paper's program, which is the ℓ-DEP's.
        "solver": [StrOptions(set(SOLVERS) - {"dccp"})],
        "solver_options": [dict, None],
        "init": [StrOptions({"auto", *MORPHOLOGICAL_STARTS})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        solver="anneal",
        solver_options=None,
        init="auto",
        n_init=2,
        max_iter=None,
        tol=1e-3,
        class_weight=None,
        random_state=None,
        verbose=0,
    ):
        self.solver = solver
        self.solver_options = solver_options
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Train the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, of which there must be two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples' losses; None is 1.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        options = check_options(self.solver, self.solver_options)
        X, y, weight = self._check_samples(X, y, sample_weight)
        _check_spread(X, type(self).__name__)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        # tau(x; a, b) = tau(x - mean; a + mean, b + mean): around the mean, beta and the offsets hardly interact.
        with single_thread():
            mean = weight @ X / weight.sum()
        n = X.shape[1]
        pieces = MorphologicalPieces(n, self._fixed_beta)
        problem = Problem(X - mean, y, weight, pieces, np.zeros(n))
        solution = best_of_starts(
            problem,
            morphological_starts(self.init, self.n_init),
            rng,
            solver=self.solver,
            options=options,
            max_iter=self.max_iter,
            tol=self.tol,
            verbose=self.verbose,
            estimator=type(self).__name__,
        )
        self._set_offsets(*pieces.paper_form(solution.theta), mean)
        self.objective_ = solution.objective
        self.history_ = solution.history
        self.n_iter_ = solution.n_iter
        return self

    @abstractmethod
    def _set_offsets(self, beta: float, a: np.ndarray, b: np.ndarray, mean: np.ndarray) -> None:
        """Set the fitted attributes from the solution for centred data."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Classes that are not ordered as the features are, scikit-learn's blobs among them, cannot be represented.
        tags.classifier_tags.poor_score = True
        return tags


def _check_spread(X: np.ndarray, estimator: str) -> None:
    """Refuse features whose spread is so large that the margin is lost to rounding."""
    spread = np.ptp(X, axis=0)
    if (spread > LARGEST_SPREAD).any():
        column = int(spread.argmax())
        raise ValueError(
            f"{estimator} has unit slopes and a margin of 1, which is lost to rounding beside the spread "
            f"{spread[column]:g} of column {column} of X. Standardise the features, for example with "
            "sklearn.preprocessing.StandardScaler."
        )
