"""The linear dilation-erosion perceptron, for two and more classes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from ldep._utils import Interval, StrOptions, feature_names, fit_context, single_thread
from ldep.estimators._base import SingleModelClassifier
from ldep.model import FittedModel, Link, SetLimits, fit_slope, folded, leads, own_link
from ldep.search import PENALTY_TOL, PenaltyPath, choose_penalty
from ldep.solvers import DENSE_ROWS, SOLVERS, Solver, best_of_starts, check_options
from ldep.training import (
    LINEAR_STARTS,
    LOSSES,
    RANDOM_FEATURES,
    ROTATE_UP_TO,
    MissingValues,
    Samples,
    by_class,
    check_monotone,
    condition,
    linear_starts,
    merge,
    own_class,
    scaled_alpha,
    start_at,
)

# Number of folds that the link to probabilities of the hinge is cross-validated in.
LINK_FOLDS = 5


class LDEPClassifier(SingleModelClassifier):
    """Linear dilation-erosion perceptron: differences of two maxima of affine functions.

    With two classes tau(x) = max_i(w_i . x + c_i) - max_j(m_j . x + d_j), and the class is its sign [1]_. With more,
    class k has such a difference s_k as its score, and the largest is predicted. Training minimises a loss, plus
    `alpha / 2` times the squared norm of the slopes.

    Parameters
    ----------
    r1, r2 : int, default=20
        Number of affine pieces of the dilation (first maximum) and of the erosion (second maximum). With more than two
        classes every class has r1 and r2 of them.
    loss : {"logistic", "hinge"}, default="logistic"
        "logistic" is log(1 + exp(-y tau)), and with more than two classes the negative logarithm of the softmax of the
        scores: probabilities come from the model itself. "hinge" is max(0, 1 - y tau), the loss of the paper, and that
        of [2]_ with more than two classes.
    alpha : float, "auto" or "scale", default="auto"
        Weight of the penalty. 0 is the problem of the paper. The loss is a sum over the samples, not a mean: with
        r1 = r2 = 1 and the hinge the model is a linear `SVC` with C = 2 / alpha. "scale" is 0.15 times the sum of the
        variances of the features, and with penalty="variance" 0.15 times the number of features that vary: the same on
        standardised features. With more than two classes it is min(n, 40) / 10 times that, where n is the number of
        features that vary. "auto" is 0.001, 0.03, 0.3, 1, 3 or 10 times "scale": the log-loss of rows that are held
        out decides, in three folds or, from 2000 rows on, with a third of at most 1000 rows per class; of penalties
        that differ by less than half a standard error it takes the strongest. It is "scale" with fewer than 30
        different rows, with more than 600 features, and with the solvers "ccp" and "dccp". The next fit with
        `warm_start` keeps the choice.
    penalty : {"norm", "variance"}, default="norm"
        "norm" penalises the squared norm of the slopes and, like any norm, depends on the scale of the features.
        "variance" penalises the variance of the pieces over the training data, which is "norm" on PCA-whitened
        features. The model is then the same in all affine coordinates, and no scaler is needed.
    solver : {"anneal", "ccp", "dccp"}, default="anneal"
        "anneal" smooths the problem and lowers the temperature; it is fast. "ccp" is the convex-concave procedure with
        exact subproblems. "dccp" is the paper's program in CVXPY and DCCP; it is slow, and serves as a reference. The
        last two take two classes and loss="hinge" only.
    solver_options : dict, default=None
        Further options of the solver, such as `{"cvx_solver": "MOSEK"}` for "dccp".
    init : {"auto", "kmeans", "random", "random_features"}, default="auto"
        Where training starts: "kmeans" makes one piece per cluster of each class, "random" draws small weights, and
        "auto" alternates between the two. "random" draws in the solver's coordinates, in which the features are
        uncorrelated; "random_features" draws in those of X, as the paper does.
    n_init : int, default=1
        Number of starts. The lowest objective is kept.
    max_iter : int, default=None
        Largest number of iterations from each start; None is the solver's own default.
    tol : float, default=None
        A solver stops when an iteration (of `anneal`: five together) lowers the objective by less than this share. None
        is the solver's own default: 0.02 for "anneal", 0.05 for "anneal" with more than two classes, and 0.001 for the
        others.
    class_weight : dict or "balanced", default=None
        Weights of the classes. "balanced" gives all classes the same total weight, sample weights included.
    monotone : dict or array-like of shape (n_features,), default=None
        Directions of features, for two classes and `penalty="norm"`: +1 where the decision value must never fall when
        the feature grows, -1 where it must never rise, 0 for no constraint. The keys of a dict are names or indices of
        features.
    warm_start : bool, default=False
        Whether the next `fit` begins at the present solution, as with more rows or another `alpha`. The classes, the
        features, r1 and r2 must be the same. `init` and `n_init` are then not used.
    probability : bool, default=False
        Whether to fit the link that `predict_proba` needs with loss="hinge". It takes five more fits: the link is
        fitted to decision values of rows that a model has not seen. `predict_set` is calibrated on them too. The model
        itself is the same. With the logistic loss there is nothing to fit.
    random_state : int, RandomState or None, default=None
        Seed of the starts. The same seed gives the same bits, whatever the number of threads and the order of the rows.
    verbose : int, default=0
        1 prints every tenth iteration, 2 prints each one.

    Attributes
    ----------
    coefs_, intercepts_ : list of ndarrays of shape (n_pieces, n_features), (n_pieces,)
        Pieces of each maximum. With two classes the erosion, which speaks for the first class, and the dilation, which
        speaks for the second; with more the dilations, then the erosions, in the order of `classes_`.
    W_, c_ : ndarray of shape (r1, n_features), (r1,)
        Pieces of the dilation. With two classes only.
    M_, d_ : ndarray of shape (r2, n_features), (r2,)
        Pieces of the erosion. With two classes only.
    model_ : FittedModel
        The fitted model, of which the attributes above and below are views, with the link to probabilities.
    center_ : ndarray of shape (n_features,)
        Origin from which the scores and their explanation are computed: the training mean of features that lie more
        than 1000 standard deviations from zero, and 0 for all others.
    beta_, R1_, a_, R2_, b_ : float and ndarrays
        The same model as the paper writes it: beta max(R1 x + a) + (1 - beta) min(R2 x + b). With two classes only.
    monotone_ : ndarray of shape (n_features,) or None
        Direction of each feature; None when `monotone` constrains none.
    set_limits_ : SetLimits
        What `predict_set` is calibrated with, after `calibrate` or with `probability=True` and the hinge.
    classes_ : ndarray of shape (n_classes,)
        The classes. Of two, the second one is predicted where tau >= 0.
    alpha_ : float
        Weight of the penalty.
    objective_ : float
        The value of the training problem at the solution.
    history_ : dict
        "objective" and "seconds", one entry per iteration of the best start.
    n_iter_ : int
        Number of iterations of the best start.
    n_features_in_, feature_names_in_
        Number and names of the features, as elsewhere in scikit-learn.

    References
    ----------
    .. [1] A. L. Oliveira and M. E. Valle, "Linear dilation-erosion perceptron trained using a convex-concave
       procedure", arXiv:2011.06512, 2020.
    .. [2] K. Crammer and Y. Singer, "On the algorithmic implementation of multiclass kernel-based vector machines",
       Journal of Machine Learning Research 2 (2001), 265-292.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from ldep import LDEPClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = LDEPClassifier(alpha=0.1, random_state=0).fit(X, y)
    >>> model.score(X, y)
    0.99
    >>> model.predict_proba(X).shape
    (200, 2)
    """

    _accept_missing = True
    _parameter_constraints: ClassVar[dict] = {
        "r1": [Interval(Integral, 1, None, closed="left")],
        "r2": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions(set(LOSSES))],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto", "scale"})],
        "penalty": [StrOptions({"norm", "variance"})],
        "solver": [StrOptions(set(SOLVERS))],
        "solver_options": [dict, None],
        "init": [StrOptions({"auto", RANDOM_FEATURES, *LINEAR_STARTS})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "monotone": [dict, "array-like", None],
        "warm_start": ["boolean"],
        "probability": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        r1=20,
        r2=20,
        *,
        loss="logistic",
        alpha="auto",
        penalty="norm",
        solver="anneal",
        solver_options=None,
        init="auto",
        n_init=1,
        max_iter=None,
        tol=None,
        class_weight=None,
        monotone=None,
        warm_start=False,
        probability=False,
        random_state=None,
        verbose=0,
    ):
        self.r1 = r1
        self.r2 = r2
        self.loss = loss
        self.alpha = alpha
        self.penalty = penalty
        self.solver = solver
        self.solver_options = solver_options
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.monotone = monotone
        self.warm_start = warm_start
        self.probability = probability
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Train the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples. Sparse ones need `solver="anneal"` and `penalty="norm"`, and never become dense. Dense ones may
            have missing values (NaN): see "Missing values" in docs/model.md.
        y : array-like of shape (n_samples,)
            Their classes, two or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples' losses; None is 1.

        Returns
        -------
        self : LDEPClassifier
            The fitted estimator.
        """
        solver = check_options(self.solver, self.solver_options)
        if sparse.issparse(X) and self.penalty != "norm":
            raise ValueError(
                f"penalty={self.penalty!r} needs a dense X, and X is sparse. Pass X.toarray(), or use penalty='norm'."
            )
        resume = self.warm_start and hasattr(self, "model_")
        if resume:
            self._check_present_pieces()
        X, y, weight = self._check_rows(X, y, sample_weight, resume=resume)
        known = self._maxima.missing if resume else None
        missing = MissingValues.in_rows(X, weight, feature_names(self), known)
        samples = merge(missing.with_indicators(X), y, weight)
        group_sizes, self.monotone_ = self._group_sizes(), self._check_monotone()
        monotone = missing.with_free_indicators(self.monotone_)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        if not (resume and self.alpha == "auto"):
            self.alpha_ = self._choose_alpha(samples, solver, monotone, rng.spawn(1)[0])
        with single_thread():
            problem, coordinates = condition(samples, group_sizes, self.alpha_, self.penalty, monotone, self.loss)
        starts = linear_starts(self.init, self.n_init, problem, coordinates)
        if resume:
            starts = [start_at(coordinates.theta_of(missing.unfitted(self._maxima)))]
            solver = solver.resumed()
        solution = best_of_starts(
            problem,
            starts,
            rng,
            solver=solver,
            max_iter=self.max_iter,
            tol=self.tol,
            verbose=self.verbose,
            estimator=type(self).__name__,
        )
        maxima = coordinates.fitted(solution.theta, group_sizes, monotone=monotone is not None)
        self._warn_if_constant(maxima.decision(samples.X))
        link = own_link(len(self.classes_)) if self.loss == "logistic" else None
        self.model_ = FittedModel.single(missing.fitted(maxima), link=link)
        self.objective_ = solution.objective
        self.history_ = solution.history
        self.n_iter_ = solution.n_iter
        if self.probability and self.loss == "hinge":
            decision, own, of_rows = self._out_of_fold(samples, monotone, rng)
            slope = fit_slope(leads(decision), own, of_rows)
            link = Link("leads", slope, np.zeros(len(self.classes_)))
            self.model_ = FittedModel.single(missing.fitted(maxima), link=link)
            unit = float(weight.sum() / np.count_nonzero(weight))
            self.set_limits_ = SetLimits.of(decision, own, of_rows, unit=unit)
        return self

    def _choose_alpha(
        self, rows: Samples, solver: Solver, monotone: np.ndarray | None, rng: np.random.Generator
    ) -> float:
        """The weight of the penalty that the parameter `alpha` stands for."""
        if not isinstance(self.alpha, str):
            return float(self.alpha)
        with single_thread():
            scale = scaled_alpha(rows, self.penalty, len(self.classes_))
        if self.alpha == "scale" or not solver.fast or rows.X.shape[1] > ROTATE_UP_TO:
            return scale
        path = PenaltyPath(
            self._group_sizes(),
            self.loss,
            self.penalty,
            scale,
            monotone,
            tol=PENALTY_TOL if self.tol is None else self.tol,
            max_iter=self.max_iter,
        )
        return choose_penalty(rows, path, len(self.classes_), rng)

    def _for_part(self, **params) -> LDEPClassifier:
        """A model like this one for a part of the checked rows, whose weights include those of the classes."""
        return clone(self).set_params(probability=False, warm_start=False, class_weight=None, verbose=0, **params)

    def _out_of_fold(
        self, rows: Samples, monotone: np.ndarray | None, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The decision values of models that have not seen the rows, with their classes and weights."""
        X, y, weight = rows
        own = own_class(y, len(self.classes_))
        n_folds = min(LINK_FOLDS, np.bincount(own[weight > 0]).min())
        if n_folds < 2:
            raise ValueError(
                "probability=True needs two different rows of each class with positive weight, because the link is "
                f"cross-validated, but {self.classes_[np.bincount(own[weight > 0]).argmin()]!r} has one."
            )
        used = np.flatnonzero(weight > 0)
        shuffle = int(rng.integers(2**31))
        values = folded(np.zeros((len(own), len(self.classes_))))
        for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=shuffle).split(used, own[used]):
            model = self._for_part(alpha=self.alpha_, monotone=monotone, random_state=int(rng.integers(2**31)))
            model.fit(X[used[train]], own[used[train]], sample_weight=weight[used[train]])
            values[used[test]] = model.decision_function(X[used[test]])
        return values[used], own[used], weight[used]

    def _has_probability(self) -> bool:
        if self.loss == "hinge" and not self.probability:
            raise AttributeError("predict_proba needs loss='logistic', or LDEPClassifier(probability=True).")
        return True

    def _check_present_pieces(self) -> None:
        """Refuse to begin at pieces of which there are more or fewer than r1 and r2."""
        present, wanted = by_class(self._maxima.sizes), self._group_sizes()
        if present != wanted:
            half = len(present) // 2
            raise ValueError(
                f"warm_start continues the last fit, but r1={self.r1} and r2={self.r2}, and the maxima of the fitted "
                f"model have {present[0]} and {present[half]} pieces. Set warm_start=False to begin anew."
            )

    def _check_monotone(self) -> np.ndarray | None:
        """Direction of each feature, or None when none is constrained."""
        names = getattr(self, "feature_names_in_", None)
        monotone = check_monotone(self.monotone, self.n_features_in_, names, len(self.classes_))
        if monotone is not None and self.penalty != "norm":
            raise ValueError(
                f"monotone needs penalty='norm', but it is {self.penalty!r}: the variance penalty mixes the features, "
                "and bounds on the slopes of one of them cannot be kept."
            )
        return monotone

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        solver = SOLVERS.get(self.solver)
        tags.input_tags.sparse = self.penalty == "norm" and solver is not None and DENSE_ROWS not in solver().needs
        return tags
