"""The comparison of estimators: its summary, and that an interrupted run continues."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from benchmarks import data, estimators


@pytest.fixture
def two_models(monkeypatch):
    """Two models that cost nothing, on a data set in memory."""
    models = {
        estimators.TUNED: lambda seed: DummyClassifier(),
        estimators.MLP: lambda seed: DummyClassifier(strategy="uniform", random_state=seed),
    }
    X, y = data.synthetic(0, 100, 2)
    part = data.Fold(X[:80], y[:80], X[80:], y[80:])
    monkeypatch.setattr(estimators, "MODELS", models)
    monkeypatch.setattr(data, "load", lambda name: (X, y, np.arange(100) % 5))
    monkeypatch.setattr(data, "fold", lambda name, number: part)


def test_only_missing_fits_are_made(two_models, tmp_path, monkeypatch):
    file = tmp_path / "fits.csv"
    fits = estimators.measure_all(("one",), seeds=1, n_jobs=1, file=file)
    assert len(fits) == 2 * estimators.FOLDS
    file.write_text("\n".join(file.read_text().splitlines()[:-3]) + "\n")
    calls = []
    measure = estimators.measure
    monkeypatch.setattr(estimators, "measure", lambda *arguments: calls.append(arguments) or measure(*arguments))
    again = estimators.measure_all(("one",), seeds=2, n_jobs=1, file=file)
    assert len(calls) == 3 + estimators.FOLDS
    assert not again.duplicated(estimators.KEYS).any()
    assert len(again) == len(fits) + estimators.FOLDS


def test_wins_and_losses_are_counted_per_data_set():
    index = pd.Index(["a", "b", "c", "d"], name="data_set")
    accuracy = pd.DataFrame({estimators.TUNED: [90.0, 80, 70, 60], estimators.MLP: [80.0, 80, 71, 50]}, index=index)
    table = estimators.summary(dict.fromkeys(("accuracy", "cpu_seconds", "log_loss", "calibration_error"), accuracy))
    row = table.set_index("model").loc[estimators.MLP]
    assert (row["wins"], row["losses"], row["ties"]) == (2, 1, 1)
    assert row["total_seconds"] == estimators.FOLDS * accuracy[estimators.MLP].sum()
