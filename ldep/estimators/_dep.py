"""The morphological perceptrons: dilation, erosion, and their convex combination."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from ldep._utils import Interval, StrOptions, fit_context, single_thread
from ldep.estimators._base import TauClassifier
from ldep.solvers import AFFINE_PIECES, SOLVERS, best_of_starts, check_options
from ldep.training import LOSSES, MORPHOLOGICAL_STARTS, MorphologicalPieces, Problem, morphological_starts

# Rows per chunk, so that their sums stay in the processor's cache.
CHUNK = 512


def dilate(X: np.ndarray, a: np.ndarray) -> np.ndarray:
    """max_j(x_j + a_j) of each row: it commutes with the supremum."""
    return _in_chunks(X, lambda rows: (rows + a).max(axis=1))


def erode(X: np.ndarray, b: np.ndarray) -> np.ndarray:
    """min_j(x_j + b_j) of each row: it commutes with the infimum."""
    return _in_chunks(X, lambda rows: (rows + b).min(axis=1))


def _in_chunks(X: np.ndarray, operator) -> np.ndarray:
    result = np.empty(len(X))
    for first in range(0, len(X), CHUNK):
        result[first : first + CHUNK] = operator(X[first : first + CHUNK])
    return result


# Beyond this spread of a feature, a margin of 1 is lost to rounding in double precision.
LARGEST_SPREAD = 1e15


class MorphologicalPerceptron(TauClassifier):
    """Base class of the morphological perceptrons. Subclasses say which beta they fix, if any."""

    _fixed_beta: ClassVar[float | None] = None

    _parameter_constraints: ClassVar[dict] = {
        "loss": [StrOptions(set(LOSSES))],
        "solver": [StrOptions({name for name, solver in SOLVERS.items() if AFFINE_PIECES not in solver().needs})],
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
        loss="hinge",
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
        self.loss = loss
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
        solver = check_options(self.solver, self.solver_options)
        X, y, weight = self._check_samples(X, y, sample_weight)
        _check_spread(X, type(self).__name__)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        # tau(x; a, b) = tau(x - mean; a + mean, b + mean): around the mean, beta and the offsets hardly interact.
        with single_thread():
            mean = weight @ X / weight.sum()
        n = X.shape[1]
        pieces = MorphologicalPieces(n, self._fixed_beta)
        problem = Problem(X - mean, y, weight, pieces, np.zeros(n), self.loss)
        solution = best_of_starts(
            problem,
            morphological_starts(self.init, self.n_init),
            rng,
            solver=solver,
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


class DilationPerceptron(MorphologicalPerceptron):
    """Dilation-based morphological perceptron: tau(x) = max_j(x_j + a_j).

    The class is the sign of tau [1]_: the negatives (`classes_[0]`) are what lies in the box x_j < -a_j. Training
    minimises the loss. The slopes are 1 and are not learned: standardise the features, because their scale decides what
    the margin means. A larger feature can only be evidence for the positive class. Where the data do not have that
    order, no offsets help: use `RDEPClassifier` or `LDEPClassifier` instead.

    Parameters
    ----------
    loss, solver, solver_options, init, n_init, max_iter, tol, class_weight, random_state, verbose
        As for `DEPClassifier`.

    Attributes
    ----------
    a_ : ndarray of shape (n_features,)
        Offsets of the dilation.
    classes_, objective_, history_, n_iter_, n_features_in_, feature_names_in_
        As for `DEPClassifier`.

    References
    ----------
    .. [1] V. Charisopoulos and P. Maragos, "Morphological perceptrons: geometry and training algorithms", Mathematical
       Morphology and Its Applications to Signal and Image Processing, 2017, 3-15.

    Examples
    --------
    >>> import numpy as np
    >>> from ldep import DilationPerceptron
    >>> X = np.random.default_rng(0).uniform(-3, 3, (200, 2))
    >>> y = (X > 1).any(axis=1)
    >>> DilationPerceptron(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _fixed_beta = 1.0

    def _set_offsets(self, beta: float, a: np.ndarray, b: np.ndarray, mean: np.ndarray) -> None:
        self.a_ = a - mean

    def _tau(self, X: np.ndarray) -> np.ndarray:
        return dilate(X, self.a_)


class ErosionPerceptron(MorphologicalPerceptron):
    """Erosion-based morphological perceptron: tau(x) = min_j(x_j + b_j).

    The class is the sign of tau [1]_: the positives (`classes_[1]`) are what lies in the box x_j >= -b_j. Training
    minimises the loss. The slopes are 1 and are not learned: standardise the features, because their scale decides what
    the margin means. A larger feature can only be evidence for the positive class. Where the data do not have that
    order, no offsets help: use `RDEPClassifier` or `LDEPClassifier` instead.

    Parameters
    ----------
    loss, solver, solver_options, init, n_init, max_iter, tol, class_weight, random_state, verbose
        As for `DEPClassifier`.

    Attributes
    ----------
    b_ : ndarray of shape (n_features,)
        Offsets of the erosion.
    classes_, objective_, history_, n_iter_, n_features_in_, feature_names_in_
        As for `DEPClassifier`.

    References
    ----------
    .. [1] V. Charisopoulos and P. Maragos, "Morphological perceptrons: geometry and training algorithms", Mathematical
       Morphology and Its Applications to Signal and Image Processing, 2017, 3-15.

    Examples
    --------
    >>> import numpy as np
    >>> from ldep import ErosionPerceptron
    >>> X = np.random.default_rng(0).uniform(-3, 3, (200, 2))
    >>> y = (X > -1).all(axis=1)
    >>> ErosionPerceptron(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _fixed_beta = 0.0

    def _set_offsets(self, beta: float, a: np.ndarray, b: np.ndarray, mean: np.ndarray) -> None:
        self.b_ = b - mean

    def _tau(self, X: np.ndarray) -> np.ndarray:
        return erode(X, self.b_)


class DEPClassifier(MorphologicalPerceptron):
    """Dilation-erosion perceptron: tau(x) = beta max_j(x_j + a_j) + (1 - beta) min_j(x_j + b_j).

    beta in [0, 1] is learned with the offsets [1]_. Training minimises the loss. The slopes are not learned:
    standardise the features, because their scale decides what the margin means. A larger feature can only be evidence
    for the positive class. Where the data do not have that order, no offsets help: use `RDEPClassifier` or
    `LDEPClassifier` instead.

    Parameters
    ----------
    loss : {"hinge", "logistic"}, default="hinge"
        "hinge" is max(0, 1 - y tau), "logistic" is log(1 + exp(-y tau)).
    solver : {"anneal", "ccp"}, default="anneal"
        "anneal" smooths the problem and lowers the temperature; it is fast. "ccp" is the convex-concave procedure with
        exact subproblems, for the hinge only.
    solver_options : dict, default=None
        Further options of the solver.
    init : {"auto", "box", "random"}, default="auto"
        Where training starts: "box" from a box around each class, "random" from small random offsets, and "auto" from
        the boxes first and then from random offsets.
    n_init : int, default=2
        Number of starts. The lowest objective is kept. The boxes are always the same, and "box" starts once.
    max_iter : int, default=None
        Largest number of iterations from each start; None is the solver's own default.
    tol : float, default=1e-3
        Relative decrease of the objective below which the solver stops.
    class_weight : dict or "balanced", default=None
        Weights of the classes. "balanced" gives both classes the same total weight, sample weights included.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    verbose : int, default=0
        1 prints every tenth iteration, 2 prints each one.

    Attributes
    ----------
    beta_ : float
        Share of the dilation.
    a_, b_ : ndarray of shape (n_features,)
        Offsets of the dilation and of the erosion. Where `beta_` is 0 the dilation does not enter tau, and `a_` is
        zero; where it is 1 the erosion does not, and `b_` is zero.
    classes_ : ndarray of shape (2,)
        The classes; the second one is predicted where tau >= 0.
    objective_ : float
        The loss at the solution.
    history_ : dict
        "objective" and "seconds", one entry per iteration of the best start.
    n_iter_ : int
        Number of iterations of the best start.
    n_features_in_, feature_names_in_
        Number and names of the features, as elsewhere in scikit-learn.

    References
    ----------
    .. [1] R. de A. Araujo, "A class of hybrid morphological perceptrons with application in time series forecasting",
       Knowledge-Based Systems 24 (2011), 513-529.

    Examples
    --------
    >>> import numpy as np
    >>> from ldep import DEPClassifier
    >>> X = np.random.default_rng(0).uniform(-3, 3, (200, 2))
    >>> y = X.max(axis=1) + X.min(axis=1) > 0.5
    >>> DEPClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def _set_offsets(self, beta: float, a: np.ndarray, b: np.ndarray, mean: np.ndarray) -> None:
        self.beta_ = beta
        self.a_ = a - mean if beta > 0 else a
        self.b_ = b - mean if beta < 1 else b

    def _tau(self, X: np.ndarray) -> np.ndarray:
        return self.beta_ * dilate(X, self.a_) + (1.0 - self.beta_) * erode(X, self.b_)
