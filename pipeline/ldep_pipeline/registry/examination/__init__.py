"""A closer look at the selected model: learning curve, importance of the columns, and some rows explained.

The model is fitted as on one fold of the cross-validation and asked about the test rows of that fold; for the learning
curve, on parts of the training rows of every fold. All numbers are therefore about rows that the model has not seen.
They are stored under a key, as every fit is.

An ℓ-DEP says itself which raw columns it looks at: `explain_global` gives the mean absolute share of each feature in
its decision values. For any other model a column is shuffled among the rows, and the loss of score says what the model
loses without it.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from ldep.answers import Limits, TableModel, answer_rows
from ldep.estimators import FittedModelClassifier
from ldep.table import TableEncoder
from ldep_pipeline.common import progress
from ldep_pipeline.common.digests import digest, file_digest
from ldep_pipeline.common.errors import first_line
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.data.stage_files import read_encoder, read_raw
from ldep_pipeline.execution.code_version import library_digest, room_digest
from ldep_pipeline.execution.plan import TrainingPlan
from ldep_pipeline.fitting import models
from ldep_pipeline.fitting.fit import FitTask, fit_and_evaluate
from ldep_pipeline.fitting.models import one_core
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.registry.examination.explained_rows import Subject, explained_rows

log = logging.getLogger(__name__)
# What decides the record, with the code of the fit, which leaves these packages of ldep out.
CODE, PACKAGES = "registry/examination", ("answers", "explain", "table")
NOTICEABLE = 10  # seconds from which the work is announced
SHARES = (0.1, 0.3)
MOST_FOLDS = 10  # of the learning curve: with more, its fits would take longer than training
FEWEST_PER_CLASS = 3
MOST_ROWS = {"shares": 400, "permutation": 2000}
MOST_WORDS = 20  # that are listed
MOST_RECOURSE, RECOURSE_SECONDS = 200, 60.0  # test rows from which the nearest other class is searched, together
REPEATS, MOST_PREDICTIONS = 5, 250  # shuffles of each column, and of all columns together


def fit(task: FitTask, settings: dict[str, Any], subject: Subject, rows: np.ndarray) -> Any:
    """A pipeline fitted on some rows, with the settings and the seed of the cross-validation."""
    if task.entry.ensemble is not None:
        task = replace(task, ensemble=settings)
    chosen = np.zeros(len(subject.data.y), dtype=bool)
    chosen[rows] = True
    pipe = fit_and_evaluate(task, subject.data, chosen, subject.data.test_rows(subject.fold), settings)[0]
    return models.explained(pipe, task.entry, subject.data.frame(chosen))


def examine(trained: TrainingPlan, table: pd.DataFrame, params: Params, root: Path) -> dict[str, Any]:
    """Return `learning_curve`, `importance` and `rows` as plain values, and `problems`: why one of them is missing.

    trained: the plan of `train` with one model. table: the results of the data set.
    """
    dataset, (model,), folder = trained.dataset, trained.models, root / paths.DATA
    data = load_training_data(dataset, folder)
    fold = _fold(data)
    fitted = table[(table["model"] == model) & (table["fold"] == fold)].iloc[0]
    task = trained.fits[model, fold]
    raw_digest, code = file_digest(paths.raw(dataset, folder)), [room_digest(CODE), library_digest(*PACKAGES)]
    threshold = float(fitted["threshold"])  # all folds decide it
    own = params.own_data.get(dataset)
    asked = ["recourse"] if own is not None and own.grouped else []
    key = digest("examination", task.key, fitted["settings"], params.metric, threshold, raw_digest, code, *asked)
    record = trained.store.get(key)
    if record is None:
        if fitted["fit_seconds"] > NOTICEABLE:
            fits = 1 + sum(SHARES) * min(data.partition.folds_per_repeat, MOST_FOLDS)
            log.info("%s: examining %s, about %.0f s.", dataset, model, fits * fitted["fit_seconds"])
        encoder = read_encoder(dataset, folder)
        texts = frozenset(name for name, kind in encoder.kinds.items() if kind == "text")
        raw, sources = read_raw(dataset, folder), encoder.source_columns
        subject = Subject(data, raw, sources, fold, params.metric, params.costs, texts, threshold)
        with progress.of_one_step(f"{dataset}: examining {model}"):
            record = examine_fold(task, json.loads(fitted["settings"]), subject, encoder if asked else None)
            record |= _curve(trained, table[table["model"] == model], subject, record["problems"])
        trained.store.put(key, record)
    return record


def examine_fold(
    task: FitTask, settings: dict[str, Any], subject: Subject, encoder: TableEncoder | None = None
) -> dict[str, Any]:
    """Fit the model as on the fold of the subject, and examine it on the test rows; with the encoder also recourse."""
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # train has reported them for the same model
        # A class of the user's may raise anything. What cannot be computed is left out of the report, with the reason.
        try:
            pipe = fit(task, settings, subject, subject.train)
        except Exception as error:
            return {"problems": [_reason(f"fit on fold {subject.fold}", error)]}
        parts: dict[str, tuple[str, Callable[[], Any]]] = {
            "importance": ("importance of the columns", lambda: importance(pipe, subject, task.seed)),
            "rows": ("explained rows", lambda: explained_rows(pipe, subject)),
        }
        if encoder is not None and isinstance(pipe[-1], FittedModelClassifier):
            parts["recourse"] = ("recourse", lambda: recourse(pipe, encoder, subject))
        record: dict[str, Any] = {"problems": []}
        for name, (title, compute) in parts.items():
            try:
                record[name] = compute()
            except Exception as error:
                record["problems"].append(_reason(title, error))
        return record


def _fold(data: TrainingData) -> int:
    """The fold of the first repeat with the most training rows: the first one or, with folds by time, the last."""
    sizes = [int(data.train_rows(fold).sum()) for fold in range(data.partition.folds_per_repeat)]
    return len(sizes) - 1 if data.partition.time is not None else int(np.argmax(sizes))


def _reason(part: str, error: Exception) -> str:
    return f"{part}: {type(error).__name__}: {first_line(error)}"


def _curve(trained: TrainingPlan, table: pd.DataFrame, subject: Subject, problems: list[str]) -> dict[str, Any]:
    """The learning curve as a part of the record; a problem is added to the list instead."""
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {"learning_curve": learning_curve(trained, table, subject)}
        except Exception as error:
            problems.append(_reason("learning curve", error))
            return {}


def learning_curve(trained: TrainingPlan, table: pd.DataFrame, subject: Subject) -> list[dict[str, Any]]:
    """The score on each fold of models that were fitted on 10, 30 and 100 % of its training rows.

    The last are the scores of the cross-validation; table: those of the model. The smaller samples are parts of the
    larger ones. A share of which some fold lacks rows of a class is left out. An ensemble has no curve: it belongs to
    the inner folds of a study.
    """
    (model,), data = trained.models, subject.data
    if trained.fits[model, 0].entry.ensemble is not None:
        return []
    fits = table[table["metric"] == subject.metric].set_index("fold")
    folds = range(min(data.partition.folds_per_repeat, MOST_FOLDS))
    points: list[dict[str, Any]] = []
    for share in SHARES:
        parts = [_part(trained.fits[model, fold], data, fold, share) for fold in folds]
        if not all(_has_every_class(data.y, rows) for rows in parts):
            continue
        scores = []
        for fold, rows in zip(folds, parts):
            task, settings = trained.fits[model, fold], json.loads(fits.loc[fold, "settings"])
            of_fold = replace(subject, fold=fold, threshold=float(fits.loc[fold, "threshold"]))
            scores.append(of_fold.score(fit(task, settings, of_fold, rows), data.X[of_fold.test], of_fold.test))
        points.append({"rows": round(float(np.mean([len(rows) for rows in parts]))), "scores": scores})
    whole = round(float(np.mean([data.train_rows(fold).sum() for fold in folds])))
    values = [float(fits.loc[fold, "value"]) for fold in folds]
    return [*points, {"rows": whole, "scores": [value if np.isfinite(value) else None for value in values]}]


def _part(task: FitTask, data: TrainingData, fold: int, share: float) -> np.ndarray:
    order = np.random.default_rng(task.seed).permutation(np.flatnonzero(data.train_rows(fold)))
    return np.sort(order[: round(share * len(order))])


def _has_every_class(y: np.ndarray, rows: np.ndarray) -> bool:
    counts = [int(np.count_nonzero(y[rows] == label)) for label in np.unique(y)]
    return min(counts) >= FEWEST_PER_CLASS


def importance(pipe: Any, subject: Subject, seed: int) -> dict[str, Any]:
    """`method` and `columns`: the importance of each raw column on unseen rows, the largest first.

    With shares also `words`: the most important words of texts.
    """
    method = "shares" if hasattr(pipe[-1], "attribute") else "permutation"
    rows = _sample(subject.test, MOST_ROWS[method])
    measure = _shares if method == "shares" else _losses
    values = measure(pipe, subject, rows, seed)
    order = sorted(values, key=lambda column: -values[column])
    found = {"method": method, "rows": len(rows), "columns": {column: values[column] for column in order}}
    if method == "shares" and subject.texts:
        words = subject.words(_shares_of_features(pipe, subject, rows))
        found["words"] = {word: words[word] for word in sorted(words, key=lambda word: -words[word])[:MOST_WORDS]}
    return found


def _shares(pipe: Any, subject: Subject, rows: np.ndarray, seed: int) -> dict[str, float]:
    """The part of each column in the sum of the mean absolute shares."""
    shares = _shares_of_features(pipe, subject, rows)
    return {column: float(shares[features].sum()) for column, features in subject.groups.items()}


def _shares_of_features(pipe: Any, subject: Subject, rows: np.ndarray) -> np.ndarray:
    X = pipe[:-1].transform(subject.data.frame(rows))
    shares = np.asarray(pipe[-1].explain_global(np.asarray(X)).importance)
    return shares / (float(shares.sum()) or 1.0)


def _losses(pipe: Any, subject: Subject, rows: np.ndarray, seed: int) -> dict[str, float]:
    """The mean loss of score when the cells of a column are shuffled; features of one column stay together."""
    rng = np.random.default_rng(seed)
    X = subject.data.X[rows]
    whole = subject.score(pipe, X, rows)
    repeats = int(np.clip(MOST_PREDICTIONS // len(subject.groups), 1, REPEATS))
    losses = {}
    for column, features in subject.groups.items():
        scores = []
        for _ in range(repeats):
            shuffled = X.copy()
            shuffled[:, features] = X[rng.permutation(len(rows))][:, features]
            scores.append(subject.score(pipe, shuffled, rows))
        known = [score for score in scores if score is not None]
        losses[column] = (
            METRICS[subject.metric].gain(whole, float(np.mean(known))) if known and whole is not None else 0.0
        )
    return losses


def recourse(pipe: Any, encoder: TableEncoder, subject: Subject) -> dict[str, Any]:
    """The distance from some test rows to the nearest row of another class, in raw columns; None if there is none.

    Where the time limit ends a search, the distance is that of the nearest row that was found.
    """
    rows = _sample(subject.test, MOST_RECOURSE)
    frame = subject.raw.iloc[rows]
    model = TableModel(Pipeline([("encode", encoder), *pipe.steps]), subject.threshold)
    found = answer_rows(model, frame, encoder.read(frame)[0], Limits(), RECOURSE_SECONDS)
    distances = [float(answer.distance) for answer in found]
    return {
        "rows": rows.tolist(),
        "predicted": [str(answer.before) for answer in found],
        "distance": [distance if np.isfinite(distance) else None for distance in distances],
        "proven": sum(answer.proven for answer in found),
    }


def _sample(rows: np.ndarray, most: int) -> np.ndarray:
    """At most so many rows, evenly spaced."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]
