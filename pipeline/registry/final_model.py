"""The final model of a data set: the selected model, fitted on all rows, with a calibrated score."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pipeline.common import progress
from pipeline.common.digests import digest, file_digest
from pipeline.common.errors import UserError, first_line
from pipeline.config import paths
from pipeline.config.params import Params
from pipeline.data.stage_files import read_raw
from pipeline.encoding.encoder import RawEncoder
from pipeline.execution import plan as training
from pipeline.execution import results
from pipeline.execution.code_version import room_digest
from pipeline.execution.full_study import tune_on_all_rows
from pipeline.execution.inputs import load_training_data
from pipeline.fitting import ensemble, inner_cv, models, seeds
from pipeline.fitting.one_core import one_core
from pipeline.registry import threshold
from pipeline.registry.threshold import Threshold
from pipeline.serving import calibration, example_row, mlflow_folder
from pipeline.serving.calibration import Link, Sigmoid
from pipeline.serving.training_profile import TrainingProfile, profile_of


@dataclass(frozen=True)
class FinalModel:
    """What is to be fitted, and the key of everything it depends on."""

    dataset: str
    model: str
    settings: dict[str, Any]
    seed: int
    data_digest: str
    training_key: str
    """The key of the cross-validation, from which the metrics and the probabilities come."""
    threshold: Threshold | None
    key: str


@dataclass(frozen=True)
class Fitted:
    """A pipeline that takes raw rows, the link from its decision values to probabilities, if it needs one, and more.

    `profile` describes the raw rows of training.
    """

    pipe: Pipeline
    link: Link | None
    class_path: str
    profile: TrainingProfile
    threshold: float
    """What a served model subtracts from decision values; 0 if the model itself does."""


def plan(dataset: str, model: str, params: Params, root: Path) -> FinalModel:
    """Take the settings of params.yaml or, for a tuned model, those of a study of all rows, as `ldep tune` runs it."""
    entry, outcome = params.classifiers[model], {}
    if entry.search:
        outcome = tune_on_all_rows(dataset, training.tuned_model(model, params), params, root)
    folder = root / paths.DATA
    rows = load_training_data(dataset, folder)
    if entry.ensemble is not None:
        settings = outcome["ensemble"]
    else:
        # The size of a training fold decides on the solver, so that the model is fitted as it was measured.
        shape = rows.largest_training_part(), rows.X.shape[1]
        settings = models.settings_for(entry, outcome.get("chosen", {}), *shape)
    seed = seeds.derive(params.execution.seed, dataset, model, None, "fit")
    files = [paths.imputed(dataset, folder), paths.folds(dataset, folder), _existing_encoder(dataset, folder)]
    data_digest = digest([file_digest(path) for path in files])
    values = results.decisions_of(model, results.read_decisions(dataset, root / paths.RESULTS))
    chosen = threshold.choose(params.metric, params.costs, rows, values, params.register_.tolerance)
    # This key also covers the model's class and its code.
    training_key = training.make(dataset, params, rows.partition, folder, root / paths.STATE).key(model)
    key = digest(
        "final",
        training_key,
        settings,
        seed,
        params.impute.model_dump(),
        data_digest,
        room_digest(*mlflow_folder.ROOMS),
        params.register_.ship_code,
        params.register_.example_row,
        file_digest(paths.raw(dataset, folder)),
        None if chosen is None else chosen.value,
    )
    return FinalModel(dataset, model, settings, seed, data_digest, training_key, chosen, key)


def fit(work: FinalModel, params: Params, root: Path) -> Fitted:
    """Fit on all rows, behind the encoder, and calibrate on the decision values that train kept for unseen rows."""
    folder = root / paths.DATA
    rows = load_training_data(work.dataset, folder)
    encoder = _load_encoder(work.dataset, folder)
    entry = params.classifiers[work.model]
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # train has reported them for the same model
        with progress.of_one_step(f"{work.dataset}, {work.model}: fitting on all rows"):
            if entry.ensemble is not None:
                pipe = ensemble.fit(
                    work.settings,
                    entry,
                    params.impute,
                    rows,
                    fold=None,
                    wanted_folds=params.tuning.folds,
                    seed=training.study_seed(work.dataset, entry.ensemble, None, params),
                )
            else:
                pipe = models.pipeline(entry, work.settings, params.impute, work.seed)
                inner_cv.fit(pipe, rows.X, rows.y, rows.partition, rows.train_rows(None), work.seed)
    decisions = results.read_decisions(work.dataset, root / paths.RESULTS)
    values = results.decisions_of(work.model, decisions)
    link = None
    if values is not None and not calibration.is_calibrated(pipe[-1]):
        tested = ~np.isnan(values).reshape(len(values), -1).any(axis=1)  # the first block by time never is
        link = calibration.fit(values[tested], rows.y[tested], pipe.classes_)
    subtracted = 0.0
    if work.threshold is not None:
        link = link.shifted(work.threshold.value) if isinstance(link, Sigmoid) else link
        subtracted = 0.0 if threshold.absorb(pipe[-1], work.threshold.value) else work.threshold.value
    whole = Pipeline([("encode", encoder), *pipe.steps])
    raw = read_raw(work.dataset, folder)
    example = example_row.choose(whole, raw, rows.y) if params.register_.example_row else None
    return Fitted(whole, link, entry.class_, profile_of(encoder, raw, example), subtracted)


def _existing_encoder(dataset: str, folder: Path) -> Path:
    path = paths.encoder(dataset, folder)
    if not path.is_file():
        raise UserError(f"{path} is missing; run `ldep impute {dataset}` first, or `dvc repro`.")
    return path


def _load_encoder(dataset: str, folder: Path) -> RawEncoder:
    path = _existing_encoder(dataset, folder)
    try:
        return RawEncoder.load(path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise UserError(f"{path} is damaged ({reason}); run `ldep impute {dataset}` again.") from None
