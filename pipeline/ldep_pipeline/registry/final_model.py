"""The final model of a data set: the selected model, fitted on all rows, with a calibrated score and a threshold.

The threshold is the decision value from which the second of two classes is answered. `train` has chosen it, and has
measured the model with thresholds that were chosen the same way (`execution.thresholds`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from ldep.estimators import FittedModelClassifier
from ldep.model import class_numbers, folded
from ldep_pipeline.common import progress
from ldep_pipeline.common.digests import digest, file_digest
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.data.stage_files import encoder_file, read_encoder, read_raw
from ldep_pipeline.execution import plan as training
from ldep_pipeline.execution import results, thresholds
from ldep_pipeline.execution.code_version import library_digest, room_digest
from ldep_pipeline.execution.plan import TrainingPlan
from ldep_pipeline.execution.scheduler import tune_on_all_rows
from ldep_pipeline.fitting import ensemble, models
from ldep_pipeline.fitting.fit import constant
from ldep_pipeline.fitting.models import one_core
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics.evaluation import CHOOSES_THRESHOLD, decision_values
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.serving import calibration, mlflow_folder
from ldep_pipeline.serving.calibration import Calibration
from ldep_pipeline.serving.prediction_sets import ServedSets
from ldep_pipeline.serving.served_model import is_calibrated
from ldep_pipeline.serving.training_profile import TrainingProfile, choose_example, profile_of


class UselessModel(Exception):
    """The model, fitted on all rows, says the same about all of them."""


@dataclass(frozen=True)
class Threshold:
    """A threshold, a metric of classes, and its mean over the folds with such thresholds and with 0."""

    value: float
    metric: str
    metric_at_threshold: float
    metric_at_default: float


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
    decisions: np.ndarray | None
    """The decision values of each row by the fit that had not seen it; None if the model has none."""


@dataclass(frozen=True)
class Fitted:
    """A pipeline that takes raw rows, the link from its decision values to probabilities, if it needs one, and more.

    `profile` describes the raw rows of training.
    """

    pipe: Pipeline
    link: Calibration | None
    class_path: str
    profile: TrainingProfile
    threshold: float
    """What a served model subtracts from decision values; 0 if the model itself does."""
    sets: ServedSets | None
    """What makes prediction sets of served decision values; None if the model has none of unseen rows."""


def plan(trained: TrainingPlan, params: Params, root: Path) -> FinalModel:
    """Plan the final fit of the only model of a plan of `train`.

    It takes the settings of params.yaml or, for a tuned model, those of a study of all rows, as `ldep tune` runs it.
    """
    dataset, (model,) = trained.dataset, trained.models
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
        classes = len(np.unique(rows.y))
        settings = models.settings_for(entry, outcome.get("chosen", {}), *shape, classes=classes)
    seed = models.derive_seed(params.execution.seed, dataset, model, None, "fit")
    files = [paths.imputed(dataset, folder), paths.folds(dataset, folder), encoder_file(dataset, folder)]
    data_digest = digest([file_digest(path) for path in files])
    decisions = results.decisions_of(model, results.read_decisions(dataset, root / paths.RESULTS))
    threshold = threshold_of(model, results.read(dataset, root / paths.RESULTS), params, rows, decisions)
    training_key = trained.key(model)  # it also covers the model's class and its code
    key = digest(
        "final",
        training_key,
        settings,
        seed,
        params.impute.model_dump(),
        data_digest,
        room_digest(*mlflow_folder.ROOMS),
        library_digest(*mlflow_folder.PACKAGES),
        params.register_.ship_code,
        params.register_.example_row,
        file_digest(paths.raw(dataset, folder)),
        None if threshold is None else threshold.value,
    )
    return FinalModel(dataset, model, settings, seed, data_digest, training_key, threshold, key, decisions)


def fit(work: FinalModel, params: Params, root: Path) -> Fitted:
    """Fit on all rows, behind the encoder, and calibrate on the decision values that train kept for unseen rows."""
    folder = root / paths.DATA
    rows = load_training_data(work.dataset, folder)
    encoder = read_encoder(work.dataset, folder)
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
                models.fit_pipeline(pipe, rows.X, rows.y, rows.partition, rows.train_rows(None), work.seed)
                pipe = models.explained(pipe, entry, rows.X)
    values, link = work.decisions, None
    if values is not None and not is_calibrated(pipe[-1]):
        tested = ~np.isnan(values).any(axis=1)  # the first block by time never is
        link = calibration.fit(folded(values[tested]), rows.y[tested], pipe.classes_)
    subtracted, sets = 0.0, None
    if values is not None:
        moved = 0.0 if work.threshold is None else work.threshold.value
        sets = ServedSets.fit(values, rows.y, pipe.classes_, moved)
    if work.threshold is not None:
        link = link and link.shifted(work.threshold.value)
        subtracted = 0.0 if absorb(pipe[-1], work.threshold.value) else work.threshold.value
    check_answers(pipe, subtracted, rows)
    whole = Pipeline([("encode", encoder), *pipe.steps])
    raw = read_raw(work.dataset, folder)
    example = choose_example(whole, raw, rows.y) if params.register_.example_row else None
    return Fitted(whole, link, entry.class_, profile_of(encoder, raw, example), subtracted, sets)


def threshold_of(
    model: str, table: pd.DataFrame, params: Params, data: TrainingData, decisions: Any
) -> Threshold | None:
    """The threshold that the results were measured with, and what it gained; None if it is that of the model itself.

    table: the results of the data set. decisions: the decision values of the model on rows that it had not seen.
    """
    rows = table[table["model"] == model]
    if decisions is None or not rows["served_threshold"].any():
        return None
    value = float(rows["served_threshold"].iloc[0])
    metric = params.metric if METRICS[params.metric].needs == "classes" else CHOOSES_THRESHOLD
    measured = float(rows[rows["metric"] == metric]["value"].mean())
    return Threshold(value, metric, measured, thresholds.value_at_zero(metric, params.costs, data, decisions))


def check_answers(pipe: Any, subtracted: float, data: TrainingData) -> None:
    """Raise UselessModel if a model that is fitted on all rows says the same about all of them."""
    problem = constant(pipe, data, np.arange(len(data.y)))
    values = decision_values(pipe, data.frame())
    if not problem and values is not None:
        answers = np.unique(class_numbers(values - subtracted))
        if len(answers) == 1:
            problem = f"its answer is ‘{pipe.classes_[answers[0]]}’ for every row"
    if problem:
        raise UselessModel(problem)


def absorb(model: Any, threshold: float) -> bool:
    """Move an ℓ-DEP so that its own decision value is 0 at the threshold; return whether the model allows it.

    Its explanations, counterfactuals, rules and exported forms then follow by themselves.
    """
    if not isinstance(model, FittedModelClassifier):
        return False
    model.model_ = model.model_.with_threshold(threshold)  # the probabilities do not depend on it
    return True
