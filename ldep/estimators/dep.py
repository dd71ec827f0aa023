"""The morphological perceptrons: dilation, erosion, and their convex combination."""

from __future__ import annotations

import numpy as np

from ldep.estimators.morphological import MorphologicalPerceptron
from ldep.morphology import dilate, erode


class DilationPerceptron(MorphologicalPerceptron):
    """Dilation-based morphological perceptron: tau(x) = max_j(x_j + a_j).

    The class is the sign of tau [1]_: the negatives (`classes_[0]`) are what lies in the box x_j < -a_j. Training
    minimises the hinge loss, with the margin 1. The slopes are 1 and are not learned: standardise the features, because
    their scale decides what the margin means. A larger feature can only be evidence for the positive class. Where the
    data do not have that order, no offsets help: use `RDEPClassifier` or `LDEPClassifier` instead.

    Parameters
    ----------
    solver : {"anneal", "ccp"}, default="anneal"
        "anneal" smooths the problem and lowers the temperature; it is fast. "ccp" is the convex-concave procedure with
        exact subproblems.
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
    a_ : ndarray of shape (n_features,)
        Offsets of the dilation.
    classes_ : ndarray of shape (2,)
        The classes; the second one is predicted where tau >= 0.
    objective_ : float
        The hinge loss at the solution.
    history_ : dict
        "objective" and "seconds", one entry per iteration of the best start.
    n_iter_ : int
        Number of iterations of the best start.
    n_features_in_, feature_names_in_
        Number and names of the features, as elsewhere in scikit-learn.

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
    minimises the hinge loss, with the margin 1. The slopes are 1 and are not learned: standardise the features, because
    their scale decides what the margin means. A larger feature can only be evidence for the positive class. Where the
    data do not have that order, no offsets help: use `RDEPClassifier` or `LDEPClassifier` instead.

    Parameters
    ----------
    solver : {"anneal", "ccp"}, default="anneal"
        "anneal" smooths the problem and lowers the temperature; it is fast. "ccp" is the convex-concave procedure with
        exact subproblems.
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
    b_ : ndarray of shape (n_features,)
        Offsets of the erosion.
    classes_ : ndarray of shape (2,)
        The classes; the second one is predicted where tau >= 0.
    objective_ : float
        The hinge loss at the solution.
    history_ : dict
        "objective" and "seconds", one entry per iteration of the best start.
    n_iter_ : int
        Number of iterations of the best start.
    n_features_in_, feature_names_in_
        Number and names of the features, as elsewhere in scikit-learn.

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

    beta in [0, 1] is learned with the offsets [1]_. Training minimises the hinge loss, with the margin 1. The slopes
    are not learned: standardise the features, because their scale decides what the margin means. A larger feature can
    only be evidence for the positive class. Where the data do not have that order, no offsets help: use
    `RDEPClassifier` or `LDEPClassifier` instead.

    Parameters
    ----------
    solver : {"anneal", "ccp"}, default="anneal"
        "anneal" smooths the problem and lowers the temperature; it is fast. "ccp" is the convex-concave procedure with
        exact subproblems.
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
        The hinge loss at the solution.
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
