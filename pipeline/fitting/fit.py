"""One fit of one model on one outer training fold, scored on its test fold."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import confusion_matrix
from threadpoolctl import threadpool_limits

from pipeline.fitting import metrics, models
from pipeline.fitting.decisions import decision_values
from pipeline.fitting.metrics import finite
from pipeline.fitting.specs import Classifier, Impute
from pipeline.fitting.training_data import TrainingData

CURVE_POINTS = 40
GRID = 80  # cells a side of a decision boundary
MODEL_FOLD = 0  # the fold whose fitted pipeline is kept, for MLflow


@dataclass(frozen=True)
class FitTask:
    """What a fit depends on. `chosen` is what tuning found for the model, or for the one it is `of`."""

    dataset: str
    model: str
    fold: int
    classifiers: dict[str, Classifier]
    impute: Impute
    seed: int
    key: str
    chosen: dict[str, Any]


@dataclass(frozen=True)
class FitResult:
    """What a worker hands back: the record, the decision values of the test rows if the model has any, and the pickled
    pipeline of the one fold whose model is kept.
    """

    record: dict[str, Any]
    decisions: np.ndarray | None = None
    pipeline: bytes | None = None


def run_fit(work: FitTask, rows: TrainingData) -> FitResult:
    """Fit and score. What goes wrong inside the model becomes a record that says so."""
    train = rows.fold != work.fold
    shape = (int(train.sum()), rows.X.shape[1])
    settings = models.settings_for(work.model, work.classifiers, work.chosen, *shape)
    record: dict[str, Any] = {"settings": settings, "solver": _solver(settings)}
    try:
        pipe, done = fit_and_score(work, rows, train, settings)
    except Exception as error:
        return FitResult({**record, "status": "failed", "message": f"{type(error).__name__}: {error}"})
    record |= done
    values = _unless_it_fails(record, "no decision values", lambda: unseen_decisions(pipe, rows, ~train))
    record["has_decisions"] = values is not None
    if work.fold != MODEL_FOLD:
        return FitResult(record, values)
    if rows.X.shape[1] == 2:
        drawn = _unless_it_fails(record, "no boundary", lambda: boundary(pipe, rows))
        record |= {} if drawn is None else {"boundary": drawn}
    return FitResult(record, values, _unless_it_fails(record, "no model kept", lambda: pickle.dumps(pipe)))


def _unless_it_fails(record: dict[str, Any], without: str, make: Callable[[], Any]) -> Any:
    """What goes with a fit. The metrics are there: what else the model cannot do is said, and left out."""
    try:
        return make()
    except Exception as error:
        said = f"{without}: {type(error).__name__}: {error}"[:500]
        record["message"] = "; ".join(filter(None, [record["message"], said]))
        return None


def fit_and_score(
    work: FitTask, rows: TrainingData, train: np.ndarray, settings: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    pipe = models.pipeline(work.classifiers[work.model], settings, work.impute, work.seed)
    fitted, tested = rows.frame(train), rows.frame(~train)
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wall, cpu = time.perf_counter(), time.process_time()
        pipe.fit(fitted, rows.y[train])
        fit_seconds, fit_cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        wall = time.perf_counter()
        predicted = pipe.predict(tested)
        predict_seconds = time.perf_counter() - wall
        measured = metrics.evaluate(pipe, tested, rows.y[~train], predicted)
    model = pipe[-1]
    return pipe, {
        "status": "ok",
        "message": "; ".join(dict.fromkeys(str(item.message) for item in caught))[:500],
        "metrics": measured,
        "fit_seconds": fit_seconds,
        "fit_cpu_seconds": fit_cpu_seconds,
        "predict_seconds": predict_seconds,
        "objective": finite(getattr(model, "objective_", getattr(model, "loss_", None))),
        "iterations": iterations(model),
        "curve": curve(model),
        "classes": [str(label) for label in pipe.classes_],
        "confusion": confusion_matrix(rows.y[~train], predicted, labels=pipe.classes_).tolist(),
    }


def unseen_decisions(pipe: Any, rows: TrainingData, test: np.ndarray) -> np.ndarray | None:
    """The decision values of the test rows, in the order of the data."""
    with threadpool_limits(1):
        values = decision_values(pipe, rows.frame(test))
    if values is not None and (values.shape != (int(test.sum()),) or not np.isfinite(values).all()):
        raise ValueError("they are not one finite number per row")
    return values


def all_finite(values: Any) -> list[float]:
    """The numbers of an array or list, or none of them."""
    found = [finite(value) for value in np.ravel(np.asarray(values, dtype=object))]
    return [] if None in found else found  # type: ignore[return-value]


def iterations(model: Any) -> int | None:
    counts = all_finite(getattr(model, "n_iter_", None))
    return int(sum(counts)) if counts else None


def curve(model: Any) -> dict[str, list[float]]:
    """The objective at a few iterations, dense at the beginning, where it falls."""
    history = getattr(model, "history_", None)
    held = history if isinstance(history, Mapping) else {}  # skorch's is a list
    objective = all_finite(held.get("objective", getattr(model, "loss_curve_", None)))
    if not objective:
        return {"iteration": [], "objective": []}
    points = np.unique(np.rint(np.geomspace(1, len(objective), CURVE_POINTS)).astype(int))
    return {"iteration": points.tolist(), "objective": [objective[point - 1] for point in points]}


def boundary(pipe: Any, rows: TrainingData) -> dict[str, list[float]]:
    """For two features: the decision value (or the class, 0 or 1) on a grid, row by row of the second feature."""
    low, high = np.nanmin(rows.X, axis=0), np.nanmax(rows.X, axis=0)
    margin = 0.05 * (high - low)
    axes = [np.linspace(a - m, b + m, GRID) for a, b, m in zip(low, high, margin)]
    grid = pd.DataFrame(dict(zip(rows.columns, (axis.ravel() for axis in np.meshgrid(*axes)))))
    with threadpool_limits(1):
        if hasattr(pipe, "decision_function"):
            value = pipe.decision_function(grid)
        else:
            value = (pipe.predict(grid) == pipe.classes_[1]) - 0.5
    if np.shape(value) != (len(grid),) or not np.isfinite(value).all():
        raise ValueError("the decision values are not a finite number a row")
    return {"x": axes[0].tolist(), "y": axes[1].tolist(), "value": np.round(value, 6).tolist()}


def _solver(settings: dict[str, Any]) -> str | None:
    """The solver that was used, where the model has several: its own, or its members'."""
    member = settings.get("estimator")
    inner = (member.get("params") or {}) if isinstance(member, dict) else {}
    return settings.get("solver") or inner.get("solver")
