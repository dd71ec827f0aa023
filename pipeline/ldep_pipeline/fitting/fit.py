"""One fit of one model on the training rows of an outer fold, evaluated on its test rows."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import confusion_matrix

from ldep_pipeline.fitting import ensemble, models
from ldep_pipeline.fitting.models import one_core
from ldep_pipeline.fitting.specs import Classifier, Costs, Impute
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics import evaluation
from ldep_pipeline.metrics.evaluation import decision_columns
from ldep_pipeline.metrics.metric import finite

CURVE_POINTS = 40
GRID = 80  # cells per side of a decision boundary
MODEL_FOLD = 0  # the fold whose fitted pipeline is kept, for MLflow
LONGEST = 500  # characters of a message
ROWS_PER_CLASS = 250  # of the training rows, on which a model must not say the same everywhere
SAME = 1e-6  # decision values whose range is a smaller part of their size are constant
DEGENERATE = "degenerate"


@dataclass(frozen=True)
class FitTask:
    """What a fit depends on.

    `chosen` are the settings that tuning chose. For an ensemble, `ensemble` is the selection of the study that has the
    seed `study_seed` and `inner_folds`.
    """

    dataset: str
    model: str
    fold: int
    entry: Classifier
    impute: Impute
    costs: Costs | None
    seed: int
    key: str
    chosen: dict[str, Any]
    study_seed: int
    inner_folds: int
    ensemble: dict[str, Any] | None = None


@dataclass(frozen=True)
class FitResult:
    """What a worker hands back.

    The record; the decision values of the test rows, if the model has any; and of one fold the pipeline, as a skops
    file.
    """

    record: dict[str, Any]
    decisions: np.ndarray | None = None
    pipeline: bytes | None = None


def run_fit(task: FitTask, data: TrainingData) -> FitResult:
    """Fit and evaluate. An error inside the model becomes a record with the status `failed`.

    A model that says the same about all rows has the status `degenerate`. Its values are there, but it is no candidate.
    """
    train, test = data.train_rows(task.fold), data.test_rows(task.fold)
    shape = (int(train.sum()), data.X.shape[1])
    classes = len(np.unique(data.y))
    settings = task.ensemble or models.settings_for(task.entry, task.chosen, *shape, classes=classes)
    record: dict[str, Any] = {"settings": settings, "solver": _solver(settings)}
    try:
        pipe, measured = fit_and_evaluate(task, data, train, test, settings)
    except Exception as error:
        return FitResult({**record, "status": "failed", "message": f"{type(error).__name__}: {error}"})
    record |= measured
    # The fit has succeeded. What else the model cannot do is left out, with a message.
    values, pipeline = None, None
    try:
        values = unseen_decisions(pipe, data, test)
    except Exception as error:
        add_message(record, "no decision values", error)
    if task.fold == MODEL_FOLD:
        if len(data.columns) == 2 and len(record["classes"]) == 2:
            try:
                record["boundary"] = boundary(pipe, data)
            except Exception as error:
                add_message(record, "no boundary", error)
        import skops.io  # takes most of a second, and only the fits of one fold need it

        try:
            pickle.dumps(pipe)  # skops stores a function by its name, even one that cannot be found by it
            pipeline = skops.io.dumps(pipe)
        except Exception as error:  # anything can go wrong in the state of another library's estimator
            add_message(record, "no model kept", error)
    return FitResult(record, values, pipeline)


def add_message(record: dict[str, Any], what: str, error: Exception) -> None:
    message = f"{what}: {type(error).__name__}: {error}"[:LONGEST]
    record["message"] = "; ".join(filter(None, [record["message"], message]))


def fit_and_evaluate(
    task: FitTask, data: TrainingData, train: np.ndarray, test: np.ndarray, settings: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    test_frame = data.frame(test)
    classes = evaluation.classes_of(data.y, task.costs)
    with one_core(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wall, cpu = time.perf_counter(), time.process_time()
        pipe = _fitted(task, data, train, settings)
        fit_seconds, fit_cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        wall = time.perf_counter()
        predicted = pipe.predict(test_frame)
        predict_seconds = time.perf_counter() - wall
        values = evaluation.evaluate(pipe, test_frame, data.y[test], predicted, classes)
        problem = constant(pipe, data, np.flatnonzero(train))
    model = pipe[-1]
    messages = [problem] if problem else []
    return pipe, {
        "status": DEGENERATE if problem else "ok",
        "message": "; ".join(dict.fromkeys([*messages, *(str(item.message) for item in caught)]))[:LONGEST],
        "metrics": values,
        "fit_seconds": fit_seconds,
        "fit_cpu_seconds": fit_cpu_seconds,
        "predict_seconds": predict_seconds,
        "objective": finite(getattr(model, "objective_", getattr(model, "loss_", None))),
        "iterations": iterations(model),
        "curve": curve(model),
        "classes": classes.labels.tolist(),
        "confusion": confusion_matrix(data.y[test], predicted, labels=classes.labels).tolist(),
    }


def _fitted(task: FitTask, data: TrainingData, train: np.ndarray, settings: dict[str, Any]) -> Any:
    if task.ensemble is not None:
        return ensemble.fit(
            task.ensemble,
            task.entry,
            task.impute,
            data,
            fold=task.fold,
            wanted_folds=task.inner_folds,
            seed=task.study_seed,
        )
    pipe = models.pipeline(task.entry, settings, task.impute, task.seed)
    models.fit_pipeline(pipe, data.frame(train), data.y[train], data.partition, train, task.seed)
    return pipe


def unseen_decisions(pipe: Any, data: TrainingData, test: np.ndarray) -> np.ndarray | None:
    """The decision values of the test rows, in the order of the data, one column for each class of the data set.

    None if the model has none.
    """
    labels = np.unique(data.y)
    with one_core():
        columns = decision_columns(pipe, data.frame(test), labels)
    if columns is not None and (columns.shape != (test.sum(), len(labels)) or not np.isfinite(columns).all()):
        raise ValueError("they are not one finite number per row, or per row and class")
    return columns


def constant(pipe: Any, data: TrainingData, rows: np.ndarray) -> str:
    """What does not vary on training rows, in words: the decision values or, without them, the answers."""
    sample = np.concatenate([rows[data.y[rows] == label][:ROWS_PER_CLASS] for label in np.unique(data.y[rows])])
    frame = data.frame(sample)
    values = evaluation.decision_values(pipe, frame)
    if values is None:
        answers = np.unique(pipe.predict(frame))
        return f"degenerate fit: the answer is ‘{answers[0]}’ for every training row" if len(answers) == 1 else ""
    ranges = np.ptp(values, axis=0)
    if not np.isfinite(values).all() or np.max(ranges) > SAME * max(1.0, float(np.abs(values).max())):
        return ""
    first = ", ".join(f"{value:.4g}" for value in np.atleast_1d(values[0]))
    return f"degenerate fit: the decision value is {first} for every training row"


def all_finite(values: Any) -> list[float]:
    """The numbers of an array or list; an empty list if one of them is not a finite number."""
    numbers = [finite(value) for value in np.ravel(np.asarray(values, dtype=object))]
    return [] if None in numbers else numbers  # type: ignore[return-value]


def iterations(model: Any) -> int | None:
    counts = all_finite(getattr(model, "n_iter_", None))
    return int(sum(counts)) if counts else None


def curve(model: Any) -> dict[str, list[float]]:
    """The objective at a few iterations, densely at the beginning, where it falls."""
    history = getattr(model, "history_", None)
    if not isinstance(history, Mapping):  # skorch's is a list
        history = {}
    objective = all_finite(history.get("objective", getattr(model, "loss_curve_", None)))
    if not objective:
        return {"iteration": [], "objective": []}
    points = np.unique(np.rint(np.geomspace(1, len(objective), CURVE_POINTS)).astype(int))
    return {"iteration": points.tolist(), "objective": [objective[point - 1] for point in points]}


def boundary(pipe: Any, data: TrainingData) -> dict[str, list[float]]:
    """For two features: the decision value (or the class, -0.5 or 0.5) on a grid, row by row of the second feature."""
    low, high = np.nanmin(data.X, axis=0), np.nanmax(data.X, axis=0)
    margin = 0.05 * (high - low)
    axes = [np.linspace(a - m, b + m, GRID) for a, b, m in zip(low, high, margin)]
    grid = pd.DataFrame(dict(zip(data.columns, (axis.ravel() for axis in np.meshgrid(*axes)))))
    with one_core():
        if hasattr(pipe, "decision_function"):
            values = pipe.decision_function(grid)
        else:
            values = (pipe.predict(grid) == pipe.classes_[1]) - 0.5
    if np.shape(values) != (len(grid),) or not np.isfinite(values).all():
        raise ValueError("the decision values are not one finite number per row")
    return {"x": axes[0].tolist(), "y": axes[1].tolist(), "value": np.round(values, 6).tolist()}


def _solver(settings: dict[str, Any]) -> str | None:
    """The solver that was used, if the model has a choice: its own, or that of its members."""
    member = settings.get("estimator")
    member_settings = (member.get("params") or {}) if isinstance(member, dict) else {}
    return settings.get("solver") or member_settings.get("solver")
