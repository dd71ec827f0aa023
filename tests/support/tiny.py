"""A small prepared set and quick models, for tests of training; and classifiers that misbehave in known ways."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_moons
from sklearn.naive_bayes import GaussianNB

from ldep_pipeline.config import params, paths
from ldep_pipeline.data import folds
from ldep_pipeline.stages import split

COLUMNS = ["left", "right"]


def prepare(root: Path, rows: int = 90, missing: bool = False, repeats: int = 1) -> None:
    """The files that impute and split would have written."""
    X, y = make_moons(rows, noise=0.25, random_state=0)
    frame = pd.DataFrame(X, columns=COLUMNS)
    if missing:
        frame.iloc[::7, 0] = np.nan
    frame["label"] = pd.Categorical(np.where(y == 1, "yes", "no"))
    path = paths.imputed("tiny", root / paths.DATA)
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(path, index=False)
    partition = split.assign(frame["label"], params.Split(folds=3, repeats=repeats))
    folds.write("tiny", partition, root / paths.DATA)


def values(**sections: Any) -> dict[str, Any]:
    """params.yaml with three quick models: a plain one, a tuned one, and one that tunes itself."""
    return {
        "datasets": ["tiny"],
        "own_data": {"tiny": {"path": "tiny.csv", "target": "label"}},
        "models": ["svc", "ldep", "ldep_cv"],
        "classifiers": {
            "svc": {"class": "sklearn.svm.SVC"},
            "ldep": {
                "class": "ldep.LDEPClassifier",
                "params": {"n_init": 1, "max_iter": 20},
                "search": {
                    "r1": {"choices": [1, 2, 4]},
                    "r2": {"choices": [1, 2, 4]},
                    "alpha": {"low": 0.01, "high": 10.0, "log": True},
                },
                "first": [{"r1": 2, "r2": 2, "alpha": 1.0}],
                "trials": 3,
            },
            "ldep_cv": {
                "class": "ldep.LDEPClassifierCV",
                "params": {"pieces": [[2, 2]], "alphas": [0.1, 1.0], "penalties": ["norm"], "cv": 2},
            },
        },
        "tracking": {"enabled": False},
        "execution": {"n_jobs": 1},
        **sections,
    }


def checked(**sections: Any) -> params.Params:
    return params.check(values(**sections))


def write(root: Path, **sections: Any) -> None:
    (root / "params.yaml").write_text(yaml.safe_dump(values(**sections), sort_keys=False))


class FailsOnFold(ClassifierMixin, BaseEstimator):
    """Refuses training parts of a given number of rows."""

    def __init__(self, rows: int = 0) -> None:
        self.rows = rows

    def fit(self, X: Any, y: Any) -> FailsOnFold:
        if len(y) == self.rows:
            raise RuntimeError(f"{self.rows} rows are too many")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.where(np.asarray(X)[:, 0] > 0, self.classes_[0], self.classes_[-1])


class Unstorable(GaussianNB):
    """Can be pickled, and not stored by skops."""

    def __reduce__(self) -> Any:
        return type(self), (), self.__dict__

    def __getstate__(self) -> Any:
        raise TypeError("it holds a generator")


class Killed(FailsOnFold):
    """Is ended by the system, as a process that takes too much memory is."""

    def fit(self, X: Any, y: Any) -> FailsOnFold:
        deadline = time.monotonic() + 120
        while not list(Path(".ldep/fits").rglob("*.json")) and time.monotonic() < deadline:
            time.sleep(0.1)  # until what the workers did before has come back and is stored
        os.kill(os.getpid(), signal.SIGKILL)
        return self


class Counting(GaussianNB):
    """Counts its fits, in this process."""

    fits = 0

    def __init__(self, var_smoothing: float = 1e-9, priors: Any = None) -> None:
        super().__init__(priors=priors, var_smoothing=var_smoothing)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Counting:
        Counting.fits += 1
        return super().fit(X, y, sample_weight)


class Unkept(GaussianNB):
    """Predicts well; but cannot be pickled, nor asked about as many rows as a picture has."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Unkept:
        self.open_ = lambda: None
        return super().fit(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        if len(X) > 1000:
            raise MemoryError("too many rows")
        return super().predict(X)


class Odd(GaussianNB):
    """Has attributes of other libraries' kinds where ours have numbers."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Odd:
        self.objective_ = "binary"  # LightGBM
        self.history_ = [{"train_loss": 0.5}]  # skorch
        self.n_iter_ = {"outer": 3}
        self.loss_curve_ = [[1.0], [0.5, 0.25]]
        return super().fit(X, y, sample_weight)


class OutOfMemory(GaussianNB):
    """Fails while `full` is set, in this process."""

    full = True

    def __init__(self, var_smoothing: float = 1e-9, priors: Any = None) -> None:
        super().__init__(priors=priors, var_smoothing=var_smoothing)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OutOfMemory:
        if OutOfMemory.full:
            raise MemoryError("no memory left")
        return super().fit(X, y, sample_weight)
