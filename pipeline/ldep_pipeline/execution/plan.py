"""What is to be computed for one data set: one fit per model and fold, some after a study, each with its key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna

from ldep_pipeline.common.digests import digest, file_digest
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.execution.code_version import code_digest
from ldep_pipeline.execution.results import input_digests, settings_digest
from ldep_pipeline.execution.store import Store
from ldep_pipeline.fitting.fit import FitTask
from ldep_pipeline.fitting.models import derive_seed
from ldep_pipeline.fitting.specs import Classifier, classes
from ldep_pipeline.fitting.study import StudyTask
from ldep_pipeline.fitting.training_data import Partition
from ldep_pipeline.metrics import evaluation

VOTES = "ldep"  # the package that selects the models of an ensemble and lets them vote


@dataclass
class TrainingPlan:
    dataset: str
    models: list[str]
    partition: Partition
    metric: str
    """The metric that decides."""
    data_digest: str
    """Digest of the rows and of all folds."""
    store: Store
    settings: dict[str, str] = field(default_factory=dict)
    """Digest of the settings of each model in params.yaml."""
    md5: dict[str, str] = field(default_factory=dict)
    """Digests of the input files, as in dvc.lock."""
    studies: dict[tuple[str, int], StudyTask] = field(default_factory=dict)
    """The studies, by the model that they tune and the fold."""
    fits: dict[tuple[str, int], FitTask] = field(default_factory=dict)
    study_of: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    """For each fit that needs the outcome of a study: which. An ensemble needs that of another model."""

    @property
    def folds(self) -> int:
        """The number of folds, those of all repeats together."""
        return self.partition.n_folds

    def shown_as(self, study: tuple[str, int]) -> str:
        """The model under whose name the trials of a study are shown: an ensemble may run without its model."""
        model, fold = study
        return model if model in self.models else next(m for m in self.models if self.study_of.get((m, fold)) == study)

    def key(self, model: str) -> str:
        """Digest of everything that the numbers of one model depend on."""
        keys = [self.fits[model, fold].key for fold in range(self.folds)]
        return digest([*keys, self.metric] if evaluation.depends_on_threshold(self.metric) else keys)


def make(
    name: str,
    params: Params,
    partition: Partition,
    folder: Path = paths.DATA,
    state: Path = paths.STATE,
    models: Sequence[str] | None = None,
) -> TrainingPlan:
    """Plan every model of params.models, or only some `models`, on one prepared data set."""
    rows_digest = file_digest(paths.imputed(name, folder))
    data_digest = digest([rows_digest, file_digest(paths.folds(name, folder))])
    wanted = list(params.models if models is None else models)
    plan = TrainingPlan(name, wanted, partition, params.metric, data_digest, Store(state / "fits"))
    plan.settings = {model: settings_digest(model, params) for model in wanted}
    plan.md5 = input_digests(name, folder)
    for model in wanted:
        for fold in range(plan.folds):
            data_digest, study_key = fold_digest(rows_digest, partition, fold), ""
            if params.classifiers[model].search:
                study = study_task(name, tuned_model(model, params), fold, params, data_digest, state)
                plan.studies[study.model, fold], study_key = study, study.key
                plan.study_of[model, fold] = study.model, fold
            plan.fits[model, fold] = _fit_task(name, model, fold, params, data_digest, study_key)
    return plan


def tuned_model(model: str, params: Params) -> str:
    """The model whose study a model needs: its own, or for an ensemble that of the model that it is made of."""
    return params.classifiers[model].ensemble or model


def fold_digest(rows_digest: str, partition: Partition, fold: int | None) -> str:
    """Digest of the rows and of what decides on the parts of one fold; `fold` None stands for a study of all rows."""
    return digest(rows_digest, partition.identity(fold))


def study_task(
    name: str, model: str, fold: int | None, params: Params, data_digest: str, state: Path = paths.STATE
) -> StudyTask:
    """The study of one model without one outer fold; on all rows if `fold` is None."""
    entry, tuning = params.classifiers[model], params.tuning
    seed = study_seed(name, model, fold, params)
    keep_votes = any(other.ensemble == model for other in params.classifiers.values())
    # The journal does not depend on the number of trials: with more of them a study continues.
    journal = digest(
        "study",
        _dump(entry, {"class_", "params", "search", "first", "while_tuning", "budget"}),
        tuning.model_dump(include={"folds", "behind", "sampler"}),
        params.metric,
        optuna.__version__,
        code_digest(VOTES) if keep_votes else None,
        *_shared_dependencies(entry, params, data_digest, fold, seed),
    )
    return StudyTask(
        model=model,
        fold=fold,
        entry=entry,
        impute=params.impute,
        tuning=tuning,
        metric=params.metric,
        costs=params.costs,
        seed=seed,
        key=digest(journal, entry.trials or tuning.trials, tuning.seconds),
        journal=state / "studies" / f"{journal}.journal",
        keep_votes=keep_votes,
    )


def study_seed(name: str, model: str, fold: int | None, params: Params) -> int:
    """The seed of the study of one model."""
    return derive_seed(params.execution.seed, name, model, fold, "tune")


def _fit_task(name: str, model: str, fold: int, params: Params, data_digest: str, study_key: str) -> FitTask:
    entry = params.classifiers[model]
    seed = derive_seed(params.execution.seed, name, model, fold, "fit")
    key = digest(
        "fit",
        study_key,
        _dump(entry, {"class_", "params", "budget", "ensemble"}),
        code_digest(VOTES) if entry.ensemble else None,
        *_shared_dependencies(entry, params, data_digest, fold, seed),
    )
    return FitTask(
        dataset=name,
        model=model,
        fold=fold,
        entry=entry,
        impute=params.impute,
        costs=params.costs,
        seed=seed,
        key=key,
        chosen={},
        study_seed=study_seed(name, tuned_model(model, params), fold, params),
        inner_folds=params.tuning.folds,
    )


def _shared_dependencies(entry: Classifier, params: Params, data_digest: str, fold: int | None, seed: int) -> list[Any]:
    # With the scope `dataset`, the digest of the data covers imputation.
    impute = params.impute.model_dump() if params.impute.scope == "fold" else None
    code = [code_digest(path) for path in classes(entry)]
    costs = params.costs.model_dump() if params.costs is not None else None
    return [code, impute, data_digest, fold, seed, costs]


def _dump(entry: Classifier, fields: set[str]) -> dict[str, Any]:
    return entry.model_dump(include=fields)  # mode="json" would turn infinity into null
