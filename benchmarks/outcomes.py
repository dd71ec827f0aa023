"""Do the intervals of `ldep evaluate` cover, and how often is a promise called missed that holds, or one that does not?

Twelve data sets of the paper with 500 rows or more, of which at most 1,200 are used, are cut into halves at random,
three times each. On one half a model is cross-validated, calibrated and fitted, as `train` and `register` do. The other
half are the rows after deployment: their metrics are estimated from the probabilities, and then measured. At last the
classes of a share of these rows are exchanged, as if the world had changed.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tqdm import tqdm

from benchmarks import data
from benchmarks.competitors import ldep_default
from benchmarks.report import Report
from ldep_pipeline.commands import measured
from ldep_pipeline.commands.measured import Answers
from ldep_pipeline.fitting.training_data import Partition, TrainingData, stratified_folds
from ldep_pipeline.metrics.evaluation import classes_of
from ldep_pipeline.registry.origin import Promise
from ldep_pipeline.registry.skill import standard_error
from ldep_pipeline.serving import calibration

SETS = (
    *("australian", "banana", "blood-transfusion", "credit-g", "diabetes", "ilpd"),
    *("monks-problems-2", "phoneme", "spambase", "tic-tac-toe", "titanic", "wdbc"),
)
REPEATS, FOLDS, MOST_ROWS, DRAWS = 3, 5, 1200, 150
METRICS = ("accuracy", "balanced_accuracy", "f1", "log_loss")
CHANGED = 0.15  # share of the rows whose class is exchanged
MODELS = {"ldep": ldep_default.make, "svc": SVC}


def case(name: str, model: str, seed: int) -> list[dict[str, Any]]:
    """One row per metric: what was promised, estimated and measured on one half of a data set."""
    X, y, _ = data.load(name)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(y))[:MOST_ROWS]
    first, later = np.array_split(chosen, 2)
    pipe = make_pipeline(StandardScaler(), MODELS[model]())
    values, decisions = cross_validated(pipe, X[first], y[first], seed)
    link = calibration.fit(decisions, y[first], np.array([0, 1]))
    fitted = clone(pipe).fit(X[first], y[first])
    answers = answered(fitted, link, X[later], y[later])
    partition = Partition(stratified_folds(y[first], FOLDS, seed)[:, None])
    rows = TrainingData(X[first], y[first], partition, [str(k) for k in range(X.shape[1])], "class")
    promise = Promise(float(np.mean(values)), standard_error(values, rows))
    classes = classes_of(y[first])
    estimate = measured.estimate(answers, classes, len(first)).metrics
    found = measured.measure(answers, classes).metrics
    changed = answers.truth.copy() if answers.truth is not None else np.empty(0, dtype=int)
    exchanged = rng.random(len(changed)) < CHANGED
    changed[exchanged] = 1 - changed[exchanged]
    after = measured.measure(answered(fitted, link, X[later], changed), classes).metrics
    missed = [measured.verdict("accuracy", part["accuracy"], promise, FOLDS).is_missed for part in (found, after)]
    return [
        {
            "set": name,
            "model": model,
            "seed": seed,
            "metric": metric,
            "estimate": estimate[metric].value,
            "low": (estimate[metric].interval or (np.nan, np.nan))[0],
            "high": (estimate[metric].interval or (np.nan, np.nan))[1],
            "measured": found[metric].value,
            "promised": promise.mean if metric == "accuracy" else np.nan,
            "missed": missed[0],
            "missed_after_change": missed[1],
        }
        for metric in METRICS
    ]


def cross_validated(pipe: ClassifierMixin, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The accuracy of each fold, and the decision values of the rows by the fit that had not seen them."""
    folds = stratified_folds(y, FOLDS, seed)
    decisions, values = np.empty(len(y)), []
    for fold in range(FOLDS):
        test = folds == fold
        fitted = clone(pipe).fit(X[~test], y[~test])
        decisions[test] = fitted.decision_function(X[test])
        values.append(float(np.mean((decisions[test] >= 0) == y[test])))
    return np.array(values), decisions


def answered(fitted: ClassifierMixin, link: calibration.Calibration, X: np.ndarray, y: np.ndarray) -> Answers:
    decisions = fitted.decision_function(X)
    return Answers(np.array([0, 1]), (decisions >= 0).astype(int), decisions, link(decisions), y.astype(int))


def run() -> Report:
    report = Report("outcomes", "Intervals and verdicts of `ldep evaluate` on real data")
    cases = [(name, model, seed) for name in SETS for model in MODELS for seed in range(REPEATS)]
    with patch.multiple(measured, DRAWS=DRAWS, FEWEST_DRAWS=DRAWS):
        rows = [row for chosen in tqdm(cases, desc="outcomes", disable=None) for row in case(*chosen)]
    frame = pd.DataFrame(rows)
    frame["covered"] = frame["measured"].between(frame["low"], frame["high"])
    frame["error"] = frame["estimate"] - frame["measured"]
    summary = frame.groupby("metric", sort=False).agg(
        cases=("covered", "size"),
        covered=("covered", "mean"),
        mean_error=("error", "mean"),
        mean_absolute_error=("error", lambda errors: errors.abs().mean()),
        mean_width=("high", lambda high: (high - frame.loc[high.index, "low"]).mean()),
    )
    report.table("metrics", summary.reset_index())
    report.table("cases", frame)
    for metric, covered in summary["covered"].items():
        report.claim(
            f"intervals of the estimated {metric} that hold the measured one", covered, "≥ 0.9", covered >= 0.9
        )
    verdicts = frame[frame["metric"] == "accuracy"]
    missed, after = verdicts["missed"].mean(), verdicts["missed_after_change"].mean()
    report.claim(
        "promises of accuracy that are called missed although nothing changed", missed, "≤ 0.05", missed <= 0.05
    )
    report.claim(f"the same after {CHANGED:.0%} of the classes were exchanged", after, "≥ 0.5", after >= 0.5)
    return report
