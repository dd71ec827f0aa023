"""The ℓ-DEP that chooses its own settings."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state

from ldep._utils import Interval, StrOptions, draw_seeds, feature_names, fit_context, single_thread
from ldep.estimators._base import FittedModelClassifier
from ldep.estimators._ldep import LDEPClassifier
from ldep.model import FittedModel, fit_decisions, fit_votes, own_link
from ldep.search import (
    MANY_ROWS,
    CrossValidation,
    Fit,
    Path,
    Plan,
    Scoring,
    Split,
    apportioned,
    check_grid,
    cv_results,
    greedy_weights,
    make_splits,
    right_votes,
    sample_of_rows,
    squared_error,
    squared_errors,
    within_budget,
)
from ldep.training import MissingValues, Samples, check_monotone, merge, own_class

ROUNDS = 40
# The most settings whose models vote where there are more than two classes. A third setting gains nothing, and an exact
# answer about ten models is found in a fraction of the time of one about fifteen: docs/model.md.
MOST_OF_MORE = 2


class LDEPClassifierCV(FittedModelClassifier):
    """Linear dilation-erosion perceptron that chooses its settings by cross-validation, inside `fit`.

    Every setting is trained on the training parts of a cross-validation, which gives decision values for rows that the
    model has not seen. By default the models of several settings vote, each with its decision value clipped to [-1, 1]
    or, with more than two classes, with the sparsemax [2]_ of its scores; of models with the logistic loss with a
    quarter of them. A greedy selection [1]_ picks the settings, some of them several times, so that the mean of their
    out-of-fold votes is closest to the classes; with more than two classes at most two of them. No model is trained
    again.

    Of more than 6,250 rows the settings are compared on 5,000, unless `cv` is a splitter or an iterable. The settings
    that are selected then share the splits of all rows between them, by their weights, and the models that are trained
    on these vote.

    Features should be standardised.

    Parameters
    ----------
    pieces : sequence of (int, int) or "auto", default="auto"
        Pairs (r1, r2) to try. The first is tried with every loss, penalty and alpha, the others with the best loss and
        penalty and the alphas within a factor of ten of the best. (1, 1) is a linear model, and is tried with hardly
        any penalty. "auto" is (10, 10), (1, 1) and (40, 40), and with more than two classes the first two of them.
    alphas : sequence of float, default=(0.01, 0.1, 1.0, 10.0, 100.0)
        Weights of the penalty to try.
    penalties : sequence of {"norm", "variance"}, default=("norm", "variance")
        Kinds of penalty to try; see `LDEPClassifier`. With more than 600 features "variance" is tried only if it is
        the only one. Where both losses are tried, the hinge is not tried with "variance".
    losses : sequence of {"hinge", "logistic"} or "auto", default="auto"
        Losses to try. "auto" is both, and with more than two classes "logistic" alone.
    ensemble : bool, default=True
        Whether the selected models of the cross-validation vote. Otherwise one `LDEPClassifier` is trained on all rows,
        with the best setting.
    cv : int, splitter or iterable of (train, test), default=5
        An int is the number of folds of a stratified, shuffled k-fold over the rows whose weight is not zero. When one
        of two classes has fewer rows than that, there are as many folds as it has rows; when it has one row, an
        `LDEPClassifier` with its defaults is trained, with a warning. With more classes, a rare one is tested in some
        folds only, and one with a single row in none. Splitters and iterables are used unchanged.
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
    monotone : dict or array-like of shape (n_features,), default=None
        Directions of features, as in `LDEPClassifier`. They hold for the votes and hence the probabilities. Only the
        penalty "norm" is then tried.
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
    model_ : FittedModel
        Their votes as one model. Its threshold, or with more than two classes its factors, make the most likely class
        the predicted one, and its link maps decision values to probabilities.
    set_limits_ : SetLimits
        What `predict_set` is calibrated with. None of it if there was no cross-validation.
    best_params_ : dict
        r1, r2, penalty, loss and alpha of the best setting.
    best_score_ : float
        Its mean score over the splits.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict
        Settings and scores as in `GridSearchCV`, and "weight", the share of each setting in the selection.
    n_splits_ : int
        Number of splits; 0 if there was no cross-validation.
    n_fits_ : int
        Number of fits.
    n_iter_ : int
        Largest number of iterations of the models that decide.
    monotone_ : ndarray of shape (n_features,) or None
        Direction of each feature; None when `monotone` constrains none.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As elsewhere in scikit-learn.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection from libraries of models",
       ICML 2004.
    .. [2] A. F. T. Martins and R. F. Astudillo, "From softmax to sparsemax: a sparse model of attention and multi-label
       classification", ICML 2016.

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
    ['alpha', 'loss', 'penalty', 'r1', 'r2']
    """

    _accept_missing = True
    _parameter_constraints: ClassVar[dict] = {
        "pieces": ["array-like", StrOptions({"auto"})],
        "alphas": ["array-like"],
        "penalties": ["array-like"],
        "losses": ["array-like", StrOptions({"auto"})],
        "ensemble": ["boolean"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "max_fits": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "monotone": [dict, "array-like", None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        pieces="auto",
        alphas=(0.01, 0.1, 1.0, 10.0, 100.0),
        penalties=("norm", "variance"),
        losses="auto",
        ensemble=True,
        cv=5,
        scoring=None,
        max_fits=None,
        tol=2e-2,
        max_iter=None,
        class_weight=None,
        monotone=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.pieces = pieces
        self.alphas = alphas
        self.penalties = penalties
        self.losses = losses
        self.ensemble = ensemble
        self.cv = cv
        self.scoring = scoring
        self.max_fits = max_fits
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.monotone = monotone
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Try the settings, and select the models that decide.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples. With sparse ones, which never become dense, the penalty is "norm". Dense ones may have missing
            values (NaN): see "Missing values" in docs/model.md.
        y : array-like of shape (n_samples,)
            Their classes, two or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, in the losses and in the scores; None is 1.

        Returns
        -------
        self : LDEPClassifierCV
            The fitted estimator.
        """
        check_grid(self.pieces, self.alphas, self.penalties, self.losses)
        rows = self._check_rows(X, y, sample_weight)
        pieces, alphas, penalties, losses = check_grid(
            self.pieces, self.alphas, self.penalties, self.losses, len(self.classes_)
        )
        names = getattr(self, "feature_names_in_", None)
        self.monotone_ = check_monotone(self.monotone, self.n_features_in_, names, len(self.classes_))
        missing = MissingValues.in_rows(rows.X, rows.weight, feature_names(self))
        if sparse.issparse(rows.X):
            penalties = _norm_only(penalties, "a sparse X", "X.toarray()")
        if self.monotone_ is not None:
            penalties = _norm_only(penalties, "monotone", "monotone=None")
        fold_seed, start_seed, refit_seed = draw_seeds(check_random_state(self.random_state), 3)
        splits = make_splits(self.cv, rows, self.classes_, fold_seed)
        self.n_splits_ = len(splits)
        if not splits:
            return self._fit_defaults(rows, refit_seed)
        extended = rows._replace(X=missing.with_indicators(rows.X))
        monotone = missing.with_free_indicators(self.monotone_)
        plan = Plan(pieces, alphas, penalties, losses, rows.X.shape[1])
        all_rows = self._cross_validation(extended, splits, plan, start_seed, monotone)
        search, refits = all_rows, 0
        if len(rows.y) > MANY_ROWS and (self.cv is None or isinstance(self.cv, Integral)):
            sample = sample_of_rows(extended, len(self.classes_), len(splits), fold_seed)
            splits = make_splits(self.cv, sample, self.classes_, fold_seed)
            search, refits = self._cross_validation(sample, splits, plan, start_seed, monotone), self.n_splits_
        seen = search.rows._replace(X=missing.without_indicators(search.rows.X))
        scoring = Scoring(self.scoring, seen, self.classes_)
        self._search(search, plan, scoring, refits if self.ensemble else 1)
        if self.ensemble:
            self._select(search, scoring, all_rows, missing)
        else:
            self._refit(search, rows, refit_seed)
        return self

    def _cross_validation(
        self, rows: Samples, splits: list[Split], plan: Plan, seed: int, monotone: np.ndarray | None
    ) -> CrossValidation:
        return CrossValidation(
            rows,
            len(self.classes_),
            splits,
            plan.smallest_alpha,
            seed=seed,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            monotone=monotone,
        )

    def _search(self, search: CrossValidation, plan: Plan, scoring: Scoring, refits: int) -> None:
        """Try the settings of the plan, and set what is known of them. `refits` is the number of fits on all rows."""
        n_splits = len(search.splits)
        n_settings = np.inf if self.max_fits is None else (self.max_fits - refits) // n_splits
        if n_settings < 1:
            raise ValueError(
                f"max_fits={self.max_fits} is too small: one setting takes {n_splits} fits"
                f"{f' and the result {refits} on all rows' if refits else ''}, so that max_fits must be at least "
                f"{n_splits + refits}."
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
        planned = search.n_fits + len(search.splits) * sum(len(path.alphas) for path in paths)
        for _ in search.run(paths):
            if self.verbose:
                print(f"[LDEPClassifierCV] {search.n_fits} of {planned} fits")

    def _select(
        self, search: CrossValidation, scoring: Scoring, all_rows: CrossValidation, missing: MissingValues
    ) -> None:
        """Let the models of the selected settings vote: those of the search, or others that have seen all rows."""
        shares, votes, own, weight = self._shares(search, scoring)
        self.cv_results_["weight"] = shares
        if search is all_rows:
            chosen = [(candidate, share) for candidate, share in zip(search.candidates, shares) if share > 0]
            settings = [(candidate.params, fit) for candidate, _ in chosen for fit in candidate.fits]
            set_limits = search.set_limits(np.tensordot(shares, search.out_of_fold_scaled(), 1))
            weights = np.repeat([share / self.n_splits_ for _, share in chosen], self.n_splits_)
            fits = [fit for candidate in search.candidates for fit in candidate.fits]
        else:
            winners = apportioned(shares, self.n_splits_)
            chosen_params = [search.candidates[winner].params for winner in winners]
            if self.verbose:
                print(f"[LDEPClassifierCV] {self.n_splits_} fits on all rows")
            fits = all_rows.run_once(chosen_params)
            settings = list(zip(chosen_params, fits))
            weights = np.full(self.n_splits_, 1.0 / self.n_splits_)
            tested = all_rows.tested
            own, weight = all_rows.own[tested], all_rows.rows.weight[tested]
            votes, own, weight = _merged(all_rows.votes_of(fits)[tested], own, weight)
            set_limits = all_rows.set_limits(all_rows.scaled_of(fits))
        self._warn_if_constant(votes)
        with single_thread():
            link, threshold, factors = fit_votes(votes, own, weight)
        self.estimators_ = [self._member(params, fit, missing) for params, fit in settings]
        members = [missing.fitted(fit.voter) for _, fit in settings]
        self.model_ = FittedModel.of(members, weights, votes=True, threshold=threshold, factors=factors, link=link)
        self.set_limits_ = set_limits
        self.n_iter_ = max(model.n_iter_ for model in self.estimators_)
        n_unfinished = sum(not fit.solution.converged for fit in fits)
        if n_unfinished:
            warnings.warn(
                f"{n_unfinished} of the {len(fits)} fits of LDEPClassifierCV did not converge: increase max_iter or "
                "tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _shares(
        self, search: CrossValidation, scoring: Scoring
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The weight of each setting, and the mean out-of-fold votes with the classes and the weights of their rows."""
        tested = search.tested
        votes = search.out_of_fold_votes()[:, tested]
        own, weight = search.own[tested], search.rows.weight[tested]
        most = None if search.n_classes == 2 else MOST_OF_MORE
        # One row per row of the data; one column per candidate or, with more than two classes, per class and candidate.
        by_row = np.moveaxis(votes, 0, -1)
        if self.scoring is None:
            by_row, own, weight = _merged(by_row, own, weight)
            losses = squared_error(right_votes(own, search.n_classes), weight)
            shares = greedy_weights(np.moveaxis(by_row, -1, 0), losses, ROUNDS, most)
        else:
            shares = greedy_weights(votes, scoring.losses(np.flatnonzero(tested)), ROUNDS, most)
        return shares, by_row @ shares, own, weight

    def _member(self, params: dict, fit: Fit, missing: MissingValues) -> LDEPClassifier:
        """A model of the cross-validation as an estimator."""
        member = LDEPClassifier(
            **params, init="kmeans", n_init=1, tol=self.tol, max_iter=self.max_iter, monotone=self.monotone_
        )
        link = own_link(len(self.classes_)) if fit.loss == "logistic" else None
        member.model_ = FittedModel.single(missing.fitted(fit.model), link=link)
        member.monotone_, member.alpha_ = self.monotone_, params["alpha"]
        member.objective_, member.history_ = fit.solution.objective, fit.solution.history
        member.n_iter_ = fit.solution.n_iter
        member.classes_, member.n_features_in_ = self.classes_, self.n_features_in_
        return member

    def _refit(self, search: CrossValidation, rows: Samples, seed: int) -> None:
        """Train one model on all rows with the best setting."""
        model = LDEPClassifier(**self.best_params_, monotone=self.monotone_, random_state=seed)
        decision = search.out_of_fold_decisions()[self.best_index_][search.tested]
        self._set_single(model, rows, decision, search.own[search.tested], search.rows.weight[search.tested])
        self.set_limits_ = search.set_limits(search.out_of_fold_decisions()[self.best_index_])

    def _fit_defaults(self, rows: Samples, seed: int) -> LDEPClassifierCV:
        """Train one model without cross-validation."""
        warnings.warn(
            "LDEPClassifierCV cannot cross-validate, because too few samples have a positive weight: one class of two, "
            "or each of more, has a single one. An LDEPClassifier with its defaults is trained.",
            UserWarning,
            stacklevel=3,
        )
        model = LDEPClassifier(monotone=self.monotone_, random_state=seed)
        own = own_class(rows.y, len(self.classes_))
        self._set_single(model, rows, None, own, rows.weight)
        self.best_params_ = {name: getattr(model, name) for name in ("r1", "r2", "penalty", "loss", "alpha")}
        self.best_index_, self.best_score_, self.n_fits_ = 0, np.nan, 1
        self.cv_results_ = {"params": [self.best_params_], "mean_test_score": np.array([np.nan])}
        return self

    def _set_single(self, model: LDEPClassifier, rows: Samples, decision, own: np.ndarray, weight: np.ndarray) -> None:
        """Train one model on all rows, and fit its link to decision values; None are those of the model itself."""
        labels = self.classes_[own_class(rows.y, len(self.classes_))]
        self.estimators_ = [model.fit(rows.X, labels, sample_weight=rows.weight)]
        decision = model.decision_function(rows.X) if decision is None else decision
        decision, own, weight = _merged(decision, own, weight)
        with single_thread():
            link, threshold = fit_decisions(decision, own, weight)
        self.model_ = FittedModel.single(model.model_.members[0], threshold=threshold, link=link)
        self.n_iter_ = model.n_iter_

    @property
    def weights_(self) -> np.ndarray:
        return self.model_.weights

    def _adapt(self, X) -> None:
        self.estimators_ = [model.simplify(X) for model in self.estimators_]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = "norm" in self.penalties
        return tags


def _merged(values: np.ndarray, own: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values of rows with their classes and weights, the same whatever the order of the rows and their repetitions."""
    table, own, weight = merge(values.reshape(len(values), -1), own, weight)
    return table.reshape(-1, *values.shape[1:]), own, weight


def _norm_only(penalties: list[str], cause: str, remedy: str) -> list[str]:
    """The penalties without "variance", which mixes the features."""
    if "norm" not in penalties:
        raise ValueError(f"penalties={penalties} cannot be used with {cause}. Pass {remedy}, or add 'norm'.")
    return ["norm"]
