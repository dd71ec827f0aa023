"""The ℓ-DEP for more rows than memory holds."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ldep._utils import Interval, StrOptions, fit_context, single_thread
from ldep.estimators._base import SingleModelClassifier, check_magnitude
from ldep.estimators._ldep import LDEPClassifier
from ldep.model import FittedModel, Maxima, own_link
from ldep.solvers import Reservoir, RunningCovariance, StreamedProblem, refine
from ldep.training import (
    LINEAR_STARTS,
    LOSSES,
    LinearPieces,
    alpha_by_variance,
    by_class,
    choose_coordinates,
    encoded,
    signs_of,
)

# partial_fit fits its sample again when the number of rows has grown by this factor, or a class is new.
GROWTH = 1.5
# Default tolerance of the descent on all rows.
TOL = 1e-3
# By how much the score of a class without rows is below that of another one.
ABSENT = 1.0


class StreamingLDEPClassifier(SingleModelClassifier):
    """Linear dilation-erosion perceptron trained on batches of rows, in memory that does not grow with their number.

    The problem is that of `LDEPClassifier`. `fit_batches` reads the rows once for their mean, their covariance and a
    uniform sample of them, solves the problem on the sample in memory, and from there descends on the problem of all
    rows, with one pass over the batches per evaluation. The order of the rows only decides which of them are in the
    sample. Where the sample holds all rows the model is that of `LDEPClassifier` with the same alpha, to the last bit.

    `partial_fit` sees each row once. It keeps the sample, and fits it again when the number of rows has grown by half
    or a class has appeared.

    Parameters
    ----------
    r1, r2 : int, default=20
        Number of affine pieces of the dilation and of the erosion; with more than two classes, of each class.
    loss : {"logistic", "hinge"}, default="logistic"
        As in `LDEPClassifier`. With the logistic loss the model has probabilities.
    alpha : float or "scale", default="scale"
        Weight of the penalty, as in `LDEPClassifier`: the loss is a sum over all rows.
    penalty : {"norm", "variance"}, default="norm"
        As in `LDEPClassifier`.
    sample_size : int, default=100_000
        Number of rows to keep in memory.
    init : {"auto", "kmeans", "random"}, default="auto"
        Where the training on the sample starts, as in `LDEPClassifier`.
    n_init : int, default=1
        Number of starts on the sample. The lowest objective is kept.
    max_iter : int, default=100
        Largest number of iterations on all rows; most of them cost one pass.
    tol : float, default=None
        Training stops when five iterations together lower the objective by less than this share of it. None is the
        default of `LDEPClassifier` on the sample, and 0.001 on all rows.
    random_state : int, RandomState or None, default=None
        Seed of the sample and of the starts.
    verbose : int, default=0
        1 prints every tenth iteration, 2 prints each one.

    Attributes
    ----------
    coefs_, intercepts_, W_, c_, M_, d_, center_, beta_, R1_, a_, R2_, b_, classes_
        As in `LDEPClassifier`.
    alpha_ : float
        Weight of the penalty.
    objective_ : float
        The value of the training problem at the solution: over all rows after `fit` and `fit_batches`, estimated from
        the sample after `partial_fit`.
    n_samples_seen_ : int
        Number of rows.
    n_iter_ : int
        Number of iterations on all rows; 0 where the sample holds them all.
    sample_ : tuple or None
        The rows, labels and keys that `partial_fit` keeps.
    n_features_in_, feature_names_in_
        Number and names of the features, as elsewhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from ldep import StreamingLDEPClassifier
    >>> batches = [make_moons(1000, noise=0.1, random_state=seed) for seed in range(5)]
    >>> model = StreamingLDEPClassifier(sample_size=500, random_state=0).fit_batches(batches)
    >>> X, y = batches[0]
    >>> model.score(X, y) > 0.99
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **{name: LDEPClassifier._parameter_constraints[name] for name in ("r1", "r2", "penalty", "n_init", "verbose")},
        "loss": [StrOptions(set(LOSSES))],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"scale"})],
        "sample_size": [Interval(Integral, 2, None, closed="left")],
        "init": [StrOptions({"auto", *LINEAR_STARTS})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        r1=20,
        r2=20,
        *,
        loss="logistic",
        alpha="scale",
        penalty="norm",
        sample_size=100_000,
        init="auto",
        n_init=1,
        max_iter=100,
        tol=None,
        random_state=None,
        verbose=0,
    ):
        self.r1 = r1
        self.r2 = r2
        self.loss = loss
        self.alpha = alpha
        self.penalty = penalty
        self.sample_size = sample_size
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y):
        """Train on one batch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, two or more.

        Returns
        -------
        self : StreamingLDEPClassifier
            The fitted estimator.
        """
        return self.fit_batches([(X, y)])

    @fit_context(prefer_skip_nested_validation=True)
    def fit_batches(self, batches):
        """Train on batches of rows.

        Parameters
        ----------
        batches : iterable of (X, y)
            It is iterated several times and must yield the same rows each time: a list, or an object whose `__iter__`
            reads them again. A generator ends after one pass and is refused.

        Returns
        -------
        self : StreamingLDEPClassifier
            The fitted estimator.
        """
        if isinstance(batches, Iterator):
            raise TypeError(
                "The batches are read several times, but a generator or iterator can be read only once. Pass a list or "
                "an object whose __iter__ starts again; for rows that come only once, call partial_fit."
            )
        seed, inner = self._seeds()
        reservoir, covariance, labels = Reservoir(self.sample_size, seed), None, np.empty(0)
        with single_thread():
            for number, (X, y) in enumerate(batches):
                X, y = self._check_batch(X, y, first=number == 0)
                covariance = covariance or RunningCovariance(X.shape[1])
                covariance.add(X)
                reservoir.add(X, y)
                labels = np.unique(np.concatenate([labels, y]) if number else y)
        if covariance is None:
            raise ValueError("There is no batch to train on.")
        self.classes_, _ = self._encode(labels)
        self.n_samples_seen_, self.sample_ = covariance.count, None
        absent = np.setdiff1d(self.classes_, reservoir.y)
        if len(absent):
            raise ValueError(
                f"No row of class {absent.tolist()[0]!r} is in the sample of {self.sample_size} rows: "
                "increase sample_size."
            )
        self._fit_sample(reservoir, inner)
        if covariance.count > len(reservoir.key):
            self._refine(batches, covariance)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None):
        """Update the model with one batch.

        A class of which no row has arrived is never predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,), default=None
            All classes. Needed in the first call, unless y has all of them.

        Returns
        -------
        self : StreamingLDEPClassifier
            The updated estimator.
        """
        sample: tuple[np.ndarray, np.ndarray, np.ndarray] | None = getattr(self, "sample_", None)
        first = sample is None
        X, y = self._check_batch(X, y, first=first)
        if first:
            self.classes_, _ = self._encode(np.unique(y if classes is None else classes))
            self.seed_, self.inner_seed_ = self._seeds()
            self.n_samples_seen_ = self.n_samples_fitted_ = self.n_classes_fitted_ = 0
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"The classes were {self.classes_.tolist()} in the first call and are {list(classes)} in this one."
            )
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y contains {unknown.tolist()[0]!r}, but the classes are {self.classes_.tolist()}.")
        reservoir = Reservoir(self.sample_size, self.seed_)
        if sample is not None:
            reservoir.seen = self.n_samples_seen_
            reservoir.X, reservoir.y, reservoir.key = sample
        reservoir.add(X, y)
        self.n_samples_seen_ = reservoir.seen
        self.sample_ = (reservoir.X, reservoir.y, reservoir.key)
        present = np.unique(reservoir.y)
        if len(present) == 1:
            known = np.eye(len(self.classes_))[self.classes_ == present[0]][0]
            self._set_model(*self._constant_pieces(known, X.shape[1]), np.zeros(X.shape[1]))
            self.objective_, self.n_iter_ = 0.0, 0
        elif self.n_samples_seen_ >= GROWTH * self.n_samples_fitted_ or len(present) > self.n_classes_fitted_:
            self._fit_sample(reservoir, self.inner_seed_)
            self.n_samples_fitted_, self.n_classes_fitted_ = self.n_samples_seen_, len(present)
        return self

    def _has_probability(self) -> bool:
        if self.loss == "hinge":
            raise AttributeError("StreamingLDEPClassifier has probabilities with loss='logistic' only.")
        return True

    def _seeds(self) -> tuple[int, int]:
        """Seed of the sample, and seed of the starts, which are those of LDEPClassifier with this random_state."""
        random_state = check_random_state(self.random_state)
        inner = self.random_state if isinstance(self.random_state, Integral) else random_state.randint(2**31)
        return int(random_state.randint(2**31)), int(inner)

    def _check_batch(self, X, y, first: bool) -> tuple[np.ndarray, np.ndarray]:
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", reset=first)
        check_classification_targets(y)
        check_magnitude(X, type(self).__name__)
        return X, y

    def _fit_sample(self, reservoir: Reservoir, seed: int) -> None:
        """Solve the problem on the sample, weighted so that it stands for all rows."""
        shared = ("r1", "r2", "loss", "alpha", "penalty", "init", "n_init", "tol", "verbose")
        model = LDEPClassifier(**{name: getattr(self, name) for name in shared}, random_state=seed)
        weight = np.full(len(reservoir.key), reservoir.seen / len(reservoir.key))
        model.fit(reservoir.X, reservoir.y, sample_weight=weight)
        self._adopt_pieces(model)
        self.alpha_, self.objective_, self.n_iter_ = model.alpha_, model.objective_, 0

    def _adopt_pieces(self, model: LDEPClassifier) -> None:
        """Take the pieces of a model of the classes in the sample.

        A class that is absent from it gets the pieces of another class, lowered by ABSENT. It is then never predicted.
        """
        fitted = model.model_.members[0]
        absent = ~np.isin(self.classes_, model.classes_)
        if not absent.any():
            self._set_maxima(fitted)
            return
        # The maxima that are added, one for each class of the sample, and those that are subtracted, if there are any.
        source = np.where(absent, 0, np.searchsorted(model.classes_, self.classes_))
        slopes, offsets = self._constant_pieces(np.zeros(len(source)), len(fitted.center))
        for number, k in enumerate(source):
            slopes[number], offsets[number] = fitted.slopes[k], fitted.offsets[k] - ABSENT * absent[number]
            if len(model.classes_) > 2:
                subtracted = len(model.classes_) + k
                slopes[len(source) + number] = fitted.slopes[subtracted]
                offsets[len(source) + number] = fitted.offsets[subtracted]
        self._set_model(slopes, offsets, fitted.center)

    def _constant_pieces(self, values: np.ndarray, n_features: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Slopes and offsets with which each class has one of these values as its score everywhere."""
        sizes = by_class(self._group_sizes())
        constants = np.append(values, np.zeros(len(sizes) - len(values)))
        return [np.zeros((size, n_features)) for size in sizes], [np.full(*pair) for pair in zip(sizes, constants)]

    def _set_model(self, slopes: Sequence[np.ndarray], offsets: Sequence[np.ndarray], center: np.ndarray) -> None:
        """Set the model with these pieces."""
        intercepts = [c - w @ center for w, c in zip(slopes, offsets)]
        self._set_maxima(Maxima(slopes, offsets, intercepts, center, signs_of(len(slopes))))

    def _set_maxima(self, maxima: Maxima) -> None:
        self.model_ = FittedModel.single(maxima, link=own_link(maxima.n_classes) if self.loss == "logistic" else None)

    def _refine(self, batches: Iterable, covariance: RunningCovariance) -> None:
        """Descend from the solution of the sample on the problem of all rows."""
        n_rows, group_sizes = covariance.count, self._group_sizes()
        self.alpha_ = self.alpha
        if isinstance(self.alpha, str):
            self.alpha_ = alpha_by_variance(
                covariance.mean, covariance.variance, penalty=self.penalty, n_classes=len(self.classes_)
            )
        with single_thread():
            coordinates, ridge = choose_coordinates(
                covariance.mean,
                covariance.variance,
                covariance.covariance,
                total_weight=n_rows,
                n_pieces=sum(group_sizes),
                alpha=self.alpha_,
                penalty=self.penalty,
            )
            pieces = LinearPieces(group_sizes, coordinates.n_directions)
            checked = CheckedBatches(self, batches)
            problem = StreamedProblem(checked, n_rows, coordinates, pieces, ridge / n_rows, self.loss)
            theta = coordinates.theta_of(self._maxima)
            tol = TOL if self.tol is None else self.tol
            solution = refine(problem, theta, max_iter=self.max_iter, tol=tol, verbose=self.verbose)
        self._set_maxima(coordinates.fitted(solution.theta, group_sizes))
        self.objective_, self.n_iter_ = n_rows * solution.objective, solution.n_iter
        if not solution.converged:
            warnings.warn(
                f"StreamingLDEPClassifier did not converge in {solution.n_iter} iterations: {solution.advice}.",
                ConvergenceWarning,
                stacklevel=3,
            )


class CheckedBatches:
    """The batches of a later pass, checked as in the first one, with y as `Samples` has it."""

    def __init__(self, model: StreamingLDEPClassifier, batches: Iterable):
        self.model, self.batches = model, batches

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        classes = self.model.classes_
        for X, y in self.batches:
            X, y = self.model._check_batch(X, y, first=False)
            yield X, encoded(np.searchsorted(classes, y), len(classes))
