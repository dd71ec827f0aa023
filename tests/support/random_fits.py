"""Random fits of every estimator, to check what the documentation promises of all of them.

Each seed makes one problem and one estimator with settings of its own: features with offsets and scales from 1e-6 to
1e12, constant and duplicate columns, duplicate rows, weights of very different sizes, extreme penalties. `check` fits
it and raises AssertionError when a promise is broken.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from ldep import (
    DEPClassifier,
    DilationPerceptron,
    ErosionPerceptron,
    LDEPClassifier,
    LDEPClassifierCV,
    MaxoutClassifier,
    RDEPClassifier,
    StreamingLDEPClassifier,
)

SECONDS = 10.0  # the longest that one fit may take
EXPLANATION_TOL = 1e-9  # relative to max(|tau|, 1)


class Case(NamedTuple):
    """An estimator and what to fit it on."""

    estimator: Any
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None


def draw(seed: int) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(4, 80)), int(rng.integers(1, 6))
    X = rng.normal(size=(m, n))
    score = X[:, 0] + rng.normal(0.0, rng.choice([0.1, 1.0]), m)
    name = rng.choice(list(ESTIMATORS))
    n_classes = int(rng.integers(3, 5)) if name.endswith("many classes") else 2
    y = np.digitize(score, np.linspace(-0.5, 0.5, n_classes - 1) if n_classes > 2 else [0.0])
    y[:n_classes] = np.arange(n_classes)
    if name in SCALE_FREE:
        X = X * 10.0 ** rng.uniform(-6, 12, n) ** rng.integers(0, 2, n)
        X = X + rng.choice([0.0, 1.0, 1920.0, 1e6, 1e12], n) * rng.choice([-1.0, 1.0], n)
    if rng.random() < 0.3:
        X[:, rng.integers(n)] = rng.choice([0.0, 3.3, 1e9])
    if rng.random() < 0.3:
        X = X[rng.integers(m, size=m)]
    estimator = ESTIMATORS[name](rng)
    if getattr(estimator, "solver", "anneal") == "anneal" and hasattr(estimator, "loss"):
        estimator.set_params(loss=str(np.random.default_rng([seed, 1]).choice(["hinge", "logistic"])))
    return Case(estimator, X, y, _weights(rng, m, y, largest_exponent=3 if name == "RDEPClassifier" else 80))


def _weights(rng: np.random.Generator, m: int, y: np.ndarray, largest_exponent: int) -> np.ndarray | None:
    """Weights, or None. An RDEPClassifier asks for a mean near 1: a support vector classifier multiplies C by them."""
    kind = rng.integers(4)
    if kind == 0:
        return None
    if kind == 1:
        weight = rng.integers(0, 4, m).astype(float)
    elif kind == 2:
        weight = rng.uniform(0.1, 3.0, m)
    else:
        weight = 10.0 ** rng.uniform(-largest_exponent, largest_exponent) * 10.0 ** rng.uniform(-3, 3, m)
    for label in np.unique(y):  # all classes must remain
        weight[np.flatnonzero(y == label)[0]] = max(weight.max(), 1e-300)
    return weight


def _ldep(rng: np.random.Generator, **settings) -> LDEPClassifier:
    return LDEPClassifier(
        int(rng.integers(1, 5)),
        int(rng.integers(1, 5)),
        alpha=float(rng.choice([0.0, 1e-300, 1e-6, 0.1, 1.0, 1e3, 1e12])),
        penalty=str(rng.choice(["norm", "variance"])),
        class_weight=[None, "balanced", {0: 1.0, 1: 5.0}][rng.integers(3)],
        random_state=0,
        **settings,
    )


def _many_classes(rng: np.random.Generator) -> LDEPClassifier | StreamingLDEPClassifier:
    r, r2 = (int(size) for size in rng.integers(1, 4, 2))
    settings = {"r2": r2, "alpha": float(rng.choice([0.0, 1e-6, 0.1, 1e3, 1e12])), "random_state": 0}
    if rng.random() < 0.3:
        return StreamingLDEPClassifier(r, sample_size=int(rng.choice([60, 1000])), **settings)
    class_weight = [None, "balanced", {0: 1.0, 1: 5.0}][rng.integers(3)]
    return LDEPClassifier(r, max_iter=50, class_weight=class_weight, **settings)


def _streaming(rng: np.random.Generator) -> StreamingLDEPClassifier:
    alpha = float(rng.choice([0.0, 1e-6, 1.0, 1e3]))
    return StreamingLDEPClassifier(2, 3, alpha=alpha, sample_size=int(rng.choice([40, 1000])), random_state=0)


def _self_tuning(rng: np.random.Generator) -> LDEPClassifierCV:
    return LDEPClassifierCV(
        pieces=[(int(rng.integers(1, 5)), int(rng.integers(1, 5))), (1, 1)],
        alphas=rng.choice([1e-6, 0.1, 1.0, 1e3, 1e12], 2, replace=False).tolist(),
        ensemble=bool(rng.integers(2)),
        cv=3,
        class_weight=[None, "balanced", {0: 1.0, 1: 5.0}][rng.integers(3)],
        random_state=0,
    )


def _solver(rng: np.random.Generator) -> str:
    return str(rng.choice(["anneal", "ccp"]))


ESTIMATORS = {
    "LDEPClassifier": _ldep,
    "LDEPClassifier ccp": lambda rng: _ldep(rng, loss="hinge", solver="ccp", n_init=1),
    "LDEPClassifier, many classes": _many_classes,
    "LDEPClassifierCV": _self_tuning,
    "StreamingLDEPClassifier": _streaming,
    "DilationPerceptron": lambda rng: DilationPerceptron(solver=_solver(rng), random_state=0),
    "ErosionPerceptron": lambda rng: ErosionPerceptron(solver=_solver(rng), random_state=0),
    "DEPClassifier": lambda rng: DEPClassifier(solver=_solver(rng), random_state=0),
    "RDEPClassifier": lambda rng: RDEPClassifier(solver=_solver(rng), random_state=0),
    "MaxoutClassifier": lambda rng: MaxoutClassifier(max_iter=5, random_state=0),
}
# The others have unit slopes, or steps of a fixed size: their documentation asks for standardised features.
SCALE_FREE = {name for name in ESTIMATORS if "LDEP" in name} | {"RDEPClassifier"}


def check(seed: int) -> None:
    """Fit the case of a seed, and check every promise that holds for it."""
    case = draw(seed)
    takes_weights = not isinstance(case.estimator, StreamingLDEPClassifier)
    weight = case.weight if takes_weights else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DataConversionWarning)  # RDEPClassifier standardised the features
        warnings.filterwarnings("ignore", "LDEPClassifierCV cannot cross-validate")
        warnings.filterwarnings("ignore", "LDEPClassifier has learned next to nothing")
        started = time.process_time()
        model = fit(case.estimator, case.X, case.y, weight)
        seconds = time.process_time() - started
        tau = model.decision_function(case.X)
        assert seconds <= SECONDS, f"the fit took {seconds:.1f} s"
        assert np.isfinite(tau).all(), "tau is not finite"
        if hasattr(model, "explain"):
            explanation = model.explain(case.X)
            expected, size = explained(tau), np.abs(tau).reshape(len(tau), -1).max(axis=1)
            error = np.abs(explanation.contributions.sum(axis=1) + explanation.bias - expected)
            worst = (error / np.maximum(size, 1.0)).max()
            assert worst <= EXPLANATION_TOL, f"explain misses tau by {worst:.1e}"
        if not hasattr(model, "cv") and takes_weights:
            order = np.random.default_rng(seed).permutation(len(case.X))
            shuffled = fit(case.estimator, case.X[order], case.y[order], None if weight is None else weight[order])
            np.testing.assert_array_equal(shuffled.decision_function(case.X), tau, "the order of the rows matters")
        if not hasattr(model, "cv") and weight is not None and (weight == np.rint(weight)).all() and weight.max() < 9:
            again = np.repeat(np.arange(len(weight)), weight.astype(int))
            repeated = fit(case.estimator, case.X[again], case.y[again], None)
            np.testing.assert_array_equal(repeated.decision_function(case.X), tau, "a weight is no repetition")


def explained(decision: np.ndarray) -> np.ndarray:
    """What `explain` explains by default: tau or, with many classes, the largest score minus the second largest."""
    if decision.ndim == 1:
        return decision
    ordered = np.sort(decision, axis=1)
    return ordered[:, -1] - ordered[:, -2]


def fit(estimator, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None):
    """A fitted clone."""
    return clone(estimator).fit(X, y) if weight is None else clone(estimator).fit(X, y, sample_weight=weight)
