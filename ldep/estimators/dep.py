"""The morphological perceptrons: dilation, erosion, and their convex combination."""

from __future__ import annotations

import numpy as np

from ldep.estimators.morphological import MorphologicalPerceptron
from ldep.morphology import dilate, erode


class DilationPerceptron(MorphologicalPerceptron):
    """Dilation-based morphological perceptron: tau(x) = max_j(x_j + a_j).

    The class is the sign of tau, so that the negatives (`classes_[0]`) are what lies in the box x_j < -a_j. Training
    minimises the hinge loss, with the margin 1. The slopes are 1 and are not learned: the scale of the features sets
    what the margin means, so standardise them. And a larger feature can only speak for the positive class: where the
    data do not have that order, no offsets help, and `RDEPClassifier` or `LDEPClassifier` is the model to take.

    Parameters
    ----------
    solver : {"anneal", "ccp"}, default="anneal"
        "anneal" smooths the problem and lowers the temperature: fast. "ccp" is the convex-concave procedure with exact
        subproblems.
    solver_options : dict, default=None
        Further options of the solver.
    init : {"auto", "box", "random"}, default="auto"
        Where training starts: from the boxes of the two classes, from small random offsets, or from the boxes and then
        at random.
    n_init : int, default=2
        Number of starts. The lowest objective is kept. "box" is always the same, and starts once.
    max_iter : int, default=None
        Iterations of the solver from each start; None is the solver's own default.
    tol : float, default=1e-3
        Relative decrease of the objective below which the solver stops.
    class_weight : dict or "balanced", default=None
        Weights of the classes, as elsewhere in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    verbose : int, default=0
        1 prints every tenth iteration, 2 each one.

    Attributes
    ----------
    a_ : ndarray of shape (n_features,)
        Offsets of the dilation.
    classes_ : ndarray of shape (2,)
        The classes; tau >= 0 is the second.
    objective_ : float
        The hinge loss at the solution.
    history_ : dict
        "objective" and "seconds", one entry for each iteration of the start that was kept.
    n_iter_ : int
        Iterations of the start that was kept.
    n_features_in_, feature_names_in_
        As elsewhere in scikit-learn.

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

    def _keep(self, beta: float, a: np.ndarray, b: np.ndarray, mean: np.ndarray) -> None:
        self.a_ = a - mean

    def _tau(self, X: np.ndarray) -> np.ndarray:
        return dilate(X, self.a_)


class ErosionPerceptron(MorphologicalPerceptron):
    """Erosion-based morphological perceptron: tau(x) = min_j(x_j + b_j).

    The class is the sign of tau, so that the positives (`classes_[1]`) are what lies in the box x_j >= -b_j. Training
    minimises the hinge loss, with the margin 1. The slopes are 1 and are not learned: the scale of the features sets
    what the margin means, so standardise them. And a larger feature can only speak for the positive class: where the
    data do not have that order, no offsets help, and `RDEPClassifier` or `LDEPClassifier` is the model to take.

    Parameters
    ----------
    solver : {"anneal", "ccp"}, default="anneal"
        "anneal" smooths the problem and lowers the temperature: fast. "ccp" is the convex-concave procedure with exact
        subproblems.
    solver_options : dict, default=None
        Further options of the solver.
    init : {"auto", "box", "random"}, default="auto"
        Where training starts: from the boxes of the two classes, from small random offsets, or from the boxes and then
        at random.
    n_init : int, default=2
        Number of starts. The lowest objective is kept. "box" is always the same, and starts once.
    max_iter : int, default=None
        Iterations of the solver from each start; None is the solver's own default.
    tol : float, default=1e-3
        Relative decrease of the objective below which the solver stops.
    class_weight : dict or "balanced", default=None
        Weights of the classes, as elsewhere in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    verbose : int, default=0
        1 prints every tenth iteration, 2 each one.

    Attributes
    ----------
    b_ : ndarray of shape (n_features,)
        Offsets of the erosion.
    classes_ : ndarray of shape (2,)
        The classes; tau >= 0 is the second.
    objective_ : float
        The hinge loss at the solution.
    history_ : dict
        "objective" and "seconds", one entry for each iteration of the start that was kept.
    n_iter_ : int
        Iterations of the start that was kept.
    n_features_in_, feature_names_in_
        As elsewhere in scikit-learn.

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

    def _keep(self, beta: float, a: np.ndarray, b: np.ndarray, mean: np.ndarray) -> None:
        self.b_ = b - mean

    def _tau(self, X: np.ndarray) -> np.ndarray:
        return erode(X, self.b_)


class DEPClassifier(MorphologicalPerceptron):
    """Dilation-erosion perceptron: tau(x) = beta max_j(x_j + a_j) + (1 - beta) min_j(x_j + b_j).

    beta in [0, 1] is learned with the offsets. Training minimises the hinge loss, with the margin 1. The slopes are not
    learned: the scale of the features sets what the margin means, so standardise them. And a larger feature can only
    speak for the positive class: where the data do not have that order, no offsets help, and `RDEPClassifier` or
    `LDEPClassifier` is the model to take.

    Parameters
    ----------
    solver : {"anneal", "ccp"}, default="anneal"
        "anneal" smooths the problem and lowers the temperature: fast. "ccp" is the convex-concave procedure with exact
        subproblems.
    solver_options : dict, default=None
        Further options of the solver.
    init : {"auto", "box", "random"}, default="auto"
        Where training starts: from the boxes of the two classes, from small random offsets, or from the boxes and then
        at random.
    n_init : int, default=2
        Number of starts. The lowest objective is kept. "box" is always the same, and starts once.
    max_iter : int, default=None
        Iterations of the solver from each start; None is the solver's own default.
    tol : float, default=1e-3
        Relative decrease of the objective below which the solver stops.
    class_weight : dict or "balanced", default=None
        Weights of the classes, as elsewhere in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    verbose : int, default=0
        1 prints every tenth iteration, 2 each one.

    Attributes
    ----------
    beta_ : float
        Share of the dilation.
    a_, b_ : ndarray of shape (n_features,)
        Offsets of the dilation and of the erosion. Where `beta_` is 0 the dilation has no part in tau, and `a_` is
        zero; where it is 1 the erosion has none, and `b_` is zero.
    classes_ : ndarray of shape (2,)
        The classes; tau >= 0 is the second.
    objective_ : float
        The hinge loss at the solution.
    history_ : dict
        "objective" and "seconds", one entry for each iteration of the start that was kept.
    n_iter_ : int
        Iterations of the start that was kept.
    n_features_in_, feature_names_in_
        As elsewhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from ldep import DEPClassifier
    >>> X = np.random.default_rng(0).uniform(-3, 3, (200, 2))
    >>> y = X.max(axis=1) + X.min(axis=1) > 0.5
    >>> DEPClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def _keep(self, beta: float, a: np.ndarray, b: np.ndarray, mean: np.ndarray) -> None:
        self.beta_ = beta
        self.a_ = a - mean if beta > 0 else a
        self.b_ = b - mean if beta < 1 else b

    def _tau(self, X: np.ndarray) -> np.ndarray:
        return self.beta_ * dilate(X, self.a_) + (1.0 - self.beta_) * erode(X, self.b_)
