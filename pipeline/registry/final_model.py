"""The final model of a set: the family that won the cross-validation, fitted on all rows, with a calibrated score."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from pipeline.common.digests import digest, file_digest
from pipeline.common.errors import UserError
from pipeline.config import paths
from pipeline.config.params import Params
from pipeline.encoding.encoder import RawEncoder
from pipeline.execution import plan as training
from pipeline.execution.code_version import room_digest
from pipeline.execution.full_study import tune_on_all_rows
from pipeline.execution.inputs import load_training_data
from pipeline.fitting import models, seeds
from pipeline.fitting.decisions import decision_values
from pipeline.fitting.metrics import METRICS
from pipeline.fitting.training_data import TrainingData
from pipeline.serving import calibration
from pipeline.serving.calibration import Sigmoid

SERVED_ROOMS = ("common", "encoding", "fitting", "serving")  # their code decides what a served model answers


@dataclass(frozen=True)
class Selection:
    """A model, the mean of each metric over the folds, and how the candidates stand, best first."""

    model: str
    metrics: dict[str, float]
    standing: dict[str, float]


def winner(name: str, table: pd.DataFrame, params: Params) -> Selection:
    """The best candidate by its mean over the folds; of equal ones the first in `models`."""
    wanted = [model for model in params.models if model in (params.register_.candidates or params.models)]
    means = {}
    for model in wanted:
        rows = table[table["model"] == model]
        if rows.empty or (rows["status"] != "ok").any():
            continue
        values = rows.groupby("metric")["value"].agg(lambda folds: folds.mean(skipna=False))
        means[model] = {metric: float(values[metric]) for metric in METRICS if pd.notna(values.get(metric))}
    metric = params.register_.metric
    able = [model for model in means if metric in means[model]]
    if not able:
        raise UserError(
            f"{name}: none of the candidates ({', '.join(wanted) or 'none'}) has a {metric} for every fold in "
            f"results/{name}; train them, or change register.candidates."
        )
    able.sort(key=lambda model: -means[model][metric])  # stable
    return Selection(able[0], means[able[0]], {model: means[model][metric] for model in able})


@dataclass(frozen=True)
class FinalModel:
    """What is to be fitted, and the key of all it depends on."""

    dataset: str
    model: str
    settings: dict[str, Any]
    seed: int
    data_digest: str
    trained: str
    """The key of the cross-validation: its metrics and the sigmoid are those of the folds."""
    key: str


def plan(name: str, model: str, params: Params, root: Path) -> FinalModel:
    """Settings for all rows: those of params.yaml, or chosen by a study of all rows, the same that `ldep tune` runs."""
    base = params.classifiers[model].of or model
    chosen = tune_on_all_rows(name, base, params, root)["chosen"] if params.classifiers[base].search else {}
    folder = root / paths.DATA
    rows = load_training_data(name, folder)
    settings = models.settings_for(model, params.classifiers, chosen, *rows.X.shape)
    seed = seeds.derive(params.execution.seed, name, model, None, "fit")
    files = [paths.imputed(name, folder), paths.folds(name, folder), paths.encoder(name, folder)]
    data = digest([file_digest(path) for path in files])
    own = room_digest(*SERVED_ROOMS)
    # Of the classes and their code, too.
    trained = training.make(name, params, int(rows.fold.max()) + 1, folder, root / paths.STATE).key(model)
    key = digest("final", trained, settings, seed, params.impute.model_dump(), data, own)
    return FinalModel(name, model, settings, seed, data, trained, key)


def fit(work: FinalModel, table: pd.DataFrame, params: Params, root: Path) -> tuple[Pipeline, Sigmoid | None]:
    """Fit on all rows, behind the encoder; and calibrate by decision values of the outer folds' test rows."""
    folder = root / paths.DATA
    rows = load_training_data(work.dataset, folder)
    encoder = RawEncoder.load(paths.encoder(work.dataset, folder))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fits of train said theirs
        pipe = models.pipeline(params.classifiers[work.model], work.settings, params.impute, work.seed)
        pipe.fit(rows.X, rows.y)
        values = unseen_decisions(work, rows, table, params)
    sigmoid = None if values is None else calibration.fit(values, rows.y == pipe.classes_[1])
    return Pipeline([("encode", encoder), *pipe.steps]), sigmoid


def unseen_decisions(work: FinalModel, rows: TrainingData, table: pd.DataFrame, params: Params) -> np.ndarray | None:
    """The decision value of each row by the fold's model that had not seen it: train's fits, made again."""
    settings = table[table["model"] == work.model].drop_duplicates("fold").set_index("fold")["settings"]
    values = np.empty(len(rows.y))
    for fold in np.unique(rows.fold):
        train = rows.fold != fold
        seed = seeds.derive(params.execution.seed, work.dataset, work.model, int(fold), "fit")
        pipe = models.pipeline(params.classifiers[work.model], json.loads(settings[fold]), params.impute, seed)
        found = decision_values(pipe.fit(rows.X[train], rows.y[train]), rows.X[~train])
        if found is None:
            return None
        values[~train] = found
    return values
