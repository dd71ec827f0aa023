"""The ℓ-DEP that chooses its own settings."""

from __future__ import annotations

import copy
import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ldep._sklearn import Interval, StrOptions, fit_context
from ldep.cross_validation import CrossValidation, Path, make_splits
from ldep.cv_results import cv_results, squared_errors
from ldep.estimators.base import TauClassifier
from ldep.estimators.exact import ExactAnswers
from ldep.estimators.ldep import LDEPClassifier
from ldep.exact.models import Average, Maxima, average_or_maxima
from ldep.exact.rows import check_rows
from ldep.exact.simplification import box_of, simplified
from ldep.explanation import Explanation, like_input
from ldep.export.mixin import ExportMixin
from ldep.out_of_fold import Scoring
from ldep.probability import fit_link, probabilities, vote_log_odds, votes_at
from ldep.samples import Samples, merge
from ldep.search_plan import Plan, check_grid, within_budget
from ldep.seeds import draw_seeds
from ldep.selection import greedy_weights, squared_error
from ldep.threads import single_thread

ROUNDS = 40
# Where the values say nothing, all rows are on one side of the threshold: at this argument of the link, and not beyond.
FAR = 20.0


class LDEPClassifierCV(ExactAnswers, ExportMixin, TauClassifier):
    """Linear dilation-erosion perceptron that chooses its settings by cross-validation, inside `fit`.

    Every setting is trained on the training parts of a cross-validation, which gives decision values for rows that the
    model has not seen. By default the models of several settings vote, each with its decision value clipped to [-1, 1].
    A greedy selection [1]_ picks the settings, some of them several times, so that the mean of their out-of-fold votes
    is closest to the classes. No model is trained again.

    Features should be standardised.

    Parameters
    ----------
    pieces : sequence of (int, int), default=((10, 10), (1, 1), (40, 40))
        Pairs (r1, r2) to try. The first is tried with every penalty and alpha, the others with the best penalty and
        the alphas within a factor of ten of the best. (1, 1) is a linear model, and is tried with hardly any penalty.
    alphas : sequence of float, default=(0.01, 0.1, 1.0, 10.0, 100.0)
        Weights of the penalty to try.
    penalties : sequence of {"norm", "variance"}, default=("norm", "variance")
        Kinds of penalty to try; see `LDEPClassifier`. With more than 600 features "variance" is tried only if it is
        the only one.
    ensemble : bool, default=True
        Whether the selected models of the cross-validation vote. Otherwise one `LDEPClassifier` is trained on all rows,
        with the best setting.
    cv : int, splitter or iterable of (train, test), default=5
        An int is the number of folds of a stratified, shuffled k-fold over the rows whose weight is not zero. When a
        class has fewer rows than that, there are as many folds as it has rows; when it has one row, an `LDEPClassifier`
        with its defaults is trained, with a warning. Splitters and iterables are used unchanged.
    scoring : str, callable or None, default=None
        Which score is best, as elsewhere in scikit-learn; scores that need probabilities get them. None chooses the
        best setting by its accuracy, and selects the ensemble by the squared error of its votes.
    max_fits : int, default=None
        Largest number of fits: a setting takes one per split. None has no limit.
    tol : float, default=2e-2
        A solver stops when five iterations together lower the objective by less than this share.
    max_iter : int, default=None
        Largest number of iterations per fit; None is 480.
    class_weight : dict or "balanced", default=None
        Weights of the classes, as elsewhere in scikit-learn. They count in the scores and probabilities too.
    n_jobs : int, default=None
        Number of processes. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the starts.
    verbose : int, default=0
        1 prints a line with the progress after every few fits.

    Attributes
    ----------
    estimators_ : list of LDEPClassifier
        The models that decide.
    weights_ : ndarray of shape (n_estimators,)
        Their weights, with the sum 1.
    threshold_ : float
        What is subtracted from the mean vote, so that a decision value of 0 is a probability of one half.
    link_ : tuple of float
        Slope and intercept of the link from votes to probabilities.
    best_params_ : dict
        r1, r2, alpha and penalty of the best setting.
    best_score_ : float
        Its mean score over the splits.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict
        Settings and scores as in `GridSearchCV`, and "weight", the share of each setting in the ensemble.
    n_splits_ : int
        Number of splits; 0 if there was no cross-validation.
    n_fits_ : int
        Number of fits.
    n_iter_ : int
        Largest number of iterations of the models that decide.
    classes_ : ndarray of shape (2,)
        The classes; decision values that are not negative are the second.
    n_features_in_, feature_names_in_
        As elsewhere in scikit-learn.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection from libraries of models",
       ICML 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from ldep import LDEPClassifierCV
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = LDEPClassifierCV(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.predict_proba(X).shape
    (200, 2)
    >>> sorted(model.best_params_)
    ['alpha', 'penalty', 'r1', 'r2']
    """

    _parameter_constraints: ClassVar[dict] = {
        "pieces": ["array-like"],
        "alphas": ["array-like"],
        "penalties": ["array-like"],
        "ensemble": ["boolean"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "max_fits": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        pieces=((10, 10), (1, 1), (40, 40)),
        alphas=(0.01, 0.1, 1.0, 10.0, 100.0),
        penalties=("norm", "variance"),
        ensemble=True,
        cv=5,
        scoring=None,
        max_fits=None,
        tol=2e-2,
        max_iter=None,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.pieces = pieces
        self.alphas = alphas
        self.penalties = penalties
        self.ensemble = ensemble
        self.cv = cv
        self.scoring = scoring
        self.max_fits = max_fits
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Try the settings, and select the models that decide.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, of which there must be two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, in the losses and in the scores; None is 1.

        Returns
        -------
        self : LDEPClassifierCV
            The fitted estimator.
        """
        pieces, alphas, penalties = check_grid(self.pieces, self.alphas, self.penalties)
        rows = self._check_rows(X, y, sample_weight)
        fold_seed, start_seed, refit_seed = draw_seeds(check_random_state(self.random_state), 3)
        splits = make_splits(self.cv, rows, self.classes_, fold_seed)
        self.n_splits_ = len(splits)
        if not splits:
            return self._fit_defaults(rows, refit_seed)
        plan = Plan(pieces, alphas, penalties, rows.X.shape[1])
        search = CrossValidation(
            rows,
            splits,
            plan.smallest_alpha,
            seed=start_seed,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        scoring = Scoring(self.scoring, rows, self.classes_)
        self._search(search, plan, scoring)
        if self.ensemble:
            self._select(search, scoring)
        else:
            self._refit(search, refit_seed)
        return self

    def _search(self, search: CrossValidation, plan: Plan, scoring: Scoring) -> None:
        """Try the settings of the plan, and set what is known of them."""
        refits = 0 if self.ensemble else 1
        n_settings = np.inf if self.max_fits is None else (self.max_fits - refits) // self.n_splits_
        if n_settings < 1:
            raise ValueError(
                f"max_fits={self.max_fits} is too small: one setting takes {self.n_splits_} fits"
                f"{' and one on all rows' if refits else ''}, so that max_fits must be at least "
                f"{self.n_splits_ + refits}."
            )
        self._run(search, within_budget(plan.first_paths(), n_settings))
        closest = search.candidates[int(np.argmin(squared_errors(search)))]
        self._run(search, within_budget(plan.later_paths(closest.params), n_settings - len(search.candidates)))
        self.cv_results_ = cv_results(search, scoring)
        rank, errors = self.cv_results_["rank_test_score"], squared_errors(search)
        self.best_index_ = int(np.lexsort((errors, rank))[0])
        self.best_params_ = dict(search.candidates[self.best_index_].params)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.n_fits_ = search.n_fits + refits
        if self.verbose:
            print(f"[LDEPClassifierCV] best: {self.best_params_}, score {self.best_score_:.4f}")

    def _run(self, search: CrossValidation, paths: list[Path]) -> None:
        planned = search.n_fits + self.n_splits_ * sum(len(path.alphas) for path in paths)
        for _ in search.run(paths):
            if self.verbose:
                print(f"[LDEPClassifierCV] {search.n_fits} of {planned} fits")

    def _select(self, search: CrossValidation, scoring: Scoring) -> None:
        """Let the models of the selected settings vote."""
        votes = search.out_of_fold(clipped=True)
        tested = ~np.isnan(votes[0])
        y, weight = search.rows.y[tested], search.rows.weight[tested]
        if self.scoring is None:
            # Merged rows make the choice independent of the order of the rows, and a weight the same as a repetition.
            merged = merge(votes[:, tested].T, y, weight)
            shares = greedy_weights(merged.X.T, squared_error(merged.y, merged.weight), ROUNDS)
        else:
            merged = Samples(votes[:, tested].T, y, weight)
            shares = greedy_weights(votes[:, tested], scoring.losses(np.flatnonzero(tested)), ROUNDS)
        self.cv_results_["weight"] = shares
        self.estimators_, weights = [], []
        for candidate, share in zip(search.candidates, shares):
            if share > 0:
                self.estimators_ += [fit.model for fit in candidate.fits]
                weights += [share / self.n_splits_] * self.n_splits_
        self.weights_ = np.array(weights)
        for model in self.estimators_:
            model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
        self._set_link(merged.X @ shares, merged.y, merged.weight, clipped=True)
        self._warn_of(sum(not fit.converged for candidate in search.candidates for fit in candidate.fits))

    def _refit(self, search: CrossValidation, seed: int) -> None:
        """Train one model on all rows with the best setting."""
        rows = search.rows
        self._set_single(LDEPClassifier(**self.best_params_, random_state=seed), rows)
        decision = search.out_of_fold(clipped=False)[self.best_index_]
        tested = ~np.isnan(decision)
        values = merge(decision[tested, None], rows.y[tested], rows.weight[tested])
        self._set_link(values.X[:, 0], values.y, values.weight, clipped=False)

    def _fit_defaults(self, rows: Samples, seed: int) -> LDEPClassifierCV:
        """Train one model without cross-validation."""
        warnings.warn(
            "LDEPClassifierCV cannot cross-validate, because one class has a single sample with positive weight: an "
            "LDEPClassifier with its defaults is trained.",
            UserWarning,
            stacklevel=3,
        )
        model = LDEPClassifier(random_state=seed)
        self._set_single(model, rows)
        self.best_params_ = {name: getattr(model, name) for name in ("r1", "r2", "alpha", "penalty")}
        self.best_index_, self.best_score_, self.n_fits_ = 0, np.nan, 1
        self.cv_results_ = {"params": [self.best_params_], "mean_test_score": np.array([np.nan])}
        values = merge(model.decision_function(rows.X)[:, None], rows.y, rows.weight)
        self._set_link(values.X[:, 0], values.y, values.weight, clipped=False)
        return self

    def _set_single(self, model: LDEPClassifier, rows: Samples) -> None:
        labels = self.classes_[(rows.y > 0).astype(int)]
        self.estimators_ = [model.fit(rows.X, labels, sample_weight=rows.weight)]
        self.weights_ = np.ones(1)

    def _set_link(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray, *, clipped: bool) -> None:
        """Fit the link to out-of-fold values, and move the threshold to where it is one half."""
        with single_thread():
            self.link_ = fit_link(vote_log_odds(values) if clipped else np.arcsinh(values), y, weight)
        slope, intercept = self.link_
        even = float(np.clip(-intercept / slope, -FAR, FAR))
        self.threshold_ = votes_at(even) if clipped else float(np.sinh(even))
        self._clipped = clipped
        self.n_iter_ = max(model.n_iter_ for model in self.estimators_)

    def _tau(self, X: np.ndarray) -> np.ndarray:
        tau = np.full(len(X), -self.threshold_)
        for model, weight in zip(self.estimators_, self.weights_):
            decision = model._tau(X)
            tau += weight * (np.clip(decision, -1.0, 1.0) if self._clipped else decision)
        return tau

    def _exact_model(self) -> Average | Maxima:
        return average_or_maxima(self.estimators_, self.weights_, self.threshold_, self._clipped)

    def simplify(self, X=None):
        """Drop the pieces of the models that are nowhere the largest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows; decision values stay the same in the smallest box that contains them. None keeps them everywhere.

        Returns
        -------
        model : LDEPClassifierCV
            A copy with fewer pieces.
        """
        check_is_fitted(self)
        rows = None if X is None else check_rows(self, X)
        smaller = copy.copy(self)
        box = box_of(rows, self.n_features_in_)
        smaller.estimators_ = [simplified(model, *box) for model in self.estimators_]
        return smaller

    def predict_proba(self, X):
        """Compute the probabilities of the two classes for each row.

        A logistic link, fitted to the out-of-fold values, maps the mean vote to a probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            One column per class, in the order of `classes_`. The class with the larger one is predicted.
        """
        values = self.decision_function(X) + self.threshold_
        return probabilities(vote_log_odds(values) if self._clipped else np.arcsinh(values), *self.link_)

    def explain(self, X):
        """Compute the contribution of each feature to the decision value of each row.

        The contributions of a model are those of `LDEPClassifier.explain`. Where its decision value is clipped, all are
        scaled down by the same factor, so that they sum to its vote. The result is the weighted mean over the models;
        contributions and bias sum to `decision_function(X)`, with nothing left over.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        explanation : Explanation or DataFrame
            As `LDEPClassifier.explain`; `dilation` and `erosion` have one column per model. The bias includes the
            threshold.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        contributions, bias = np.zeros(rows.shape), np.full(len(rows), -self.threshold_)
        dilation, erosion = [], []
        for model, weight in zip(self.estimators_, self.weights_):
            part = model.explain(rows)
            factor = weight / np.maximum(np.abs(part.decision), 1.0) if self._clipped else weight
            contributions += part.contributions * np.reshape(factor, (-1, 1))
            bias += part.bias * factor
            dilation.append(part.dilation)
            erosion.append(part.erosion)
        decision = contributions.sum(axis=1) + bias
        pieces = np.column_stack(dilation), np.column_stack(erosion)
        return like_input(Explanation(contributions, bias, decision, *pieces), X)

    def _warn_of(self, n_unfinished: int) -> None:
        if n_unfinished:
            warnings.warn(
                f"{n_unfinished} of the {self.n_fits_} fits of LDEPClassifierCV did not converge: increase max_iter or "
                "tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
