"""The examination of the selected model: learning curve, importance of the columns, and some rows explained.

The model is fitted as on one fold of the cross-validation and asked about the test rows of that fold. All numbers are
therefore about rows that the model has not seen. They are stored under a key, as every fit is.
"""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.common import progress
from pipeline.common.digests import digest, file_digest
from pipeline.common.errors import first_line
from pipeline.config import paths
from pipeline.config.params import Params
from pipeline.data.stage_files import read_raw
from pipeline.encoding.encoder import RawEncoder
from pipeline.execution import plan as training
from pipeline.execution.code_version import room_digest
from pipeline.execution.inputs import load_training_data
from pipeline.execution.store import Store
from pipeline.fitting.fit import FitTask
from pipeline.fitting.one_core import one_core
from pipeline.fitting.training_data import TrainingData
from pipeline.registry.examination.explained_rows import explained_rows
from pipeline.registry.examination.importance import importance
from pipeline.registry.examination.learning_curve import learning_curve
from pipeline.registry.examination.subject import Subject, fit

log = logging.getLogger(__name__)
NOTICEABLE = 10  # seconds from which the work is announced


def examine(dataset: str, model: str, metric: str, table: pd.DataFrame, params: Params, root: Path) -> dict[str, Any]:
    """Return `learning_curve`, `importance` and `rows` as plain values, and `problems`: why one of them is missing.

    table: the results of the data set.
    """
    data = load_training_data(dataset, root / paths.DATA)
    fold = _fold(data)
    fitted = table[(table["model"] == model) & (table["fold"] == fold)].iloc[0]
    task = training.make(dataset, params, data.partition, root / paths.DATA, root / paths.STATE).fits[model, fold]
    raw_file = paths.raw(dataset, root / paths.DATA)
    key = digest("examination", task.key, fitted["settings"], metric, file_digest(raw_file), room_digest("registry"))
    store = Store(root / paths.STATE / "fits")
    record = store.get(key)
    if record is None:
        if fitted["fit_seconds"] > NOTICEABLE:
            log.info("%s: examining %s, about %.0f s.", dataset, model, 1.5 * fitted["fit_seconds"])
        subject = Subject(
            data=data,
            raw=read_raw(dataset, root / paths.DATA),
            sources=RawEncoder.load(paths.encoder(dataset, root / paths.DATA)).source_columns,
            fold=fold,
            metric=metric,
            costs=params.costs,
        )
        with progress.of_one_step(f"{dataset}: examining {model}"):
            record = examine_fold(task, json.loads(fitted["settings"]), subject)
        store.put(key, record)
    return record


def examine_fold(task: FitTask, settings: dict[str, Any], subject: Subject) -> dict[str, Any]:
    """Fit the model as on the fold of the subject, and examine it on the test rows."""
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # train has reported them for the same model
        # A class of the user's may raise anything. What cannot be computed is left out of the report, with the reason.
        try:
            pipe = fit(task, settings, subject, subject.train)
        except Exception as error:
            return {"problems": [_reason(f"fit on fold {subject.fold}", error)]}
        record: dict[str, Any] = {"problems": []}
        try:
            record["learning_curve"] = learning_curve(task, settings, subject, pipe)
        except Exception as error:
            record["problems"].append(_reason("learning curve", error))
        try:
            record["importance"] = importance(pipe, subject, task.seed)
        except Exception as error:
            record["problems"].append(_reason("importance of the columns", error))
        try:
            record["rows"] = explained_rows(pipe, subject)
        except Exception as error:
            record["problems"].append(_reason("explained rows", error))
        return record


def _fold(data: TrainingData) -> int:
    """The fold of the first repeat with the most training rows: the first one or, with folds by time, the last."""
    sizes = [int(data.train_rows(fold).sum()) for fold in range(data.partition.folds_per_repeat)]
    return len(sizes) - 1 if data.partition.time is not None else int(np.argmax(sizes))


def _reason(part: str, error: Exception) -> str:
    return f"{part}: {type(error).__name__}: {first_line(error)}"
