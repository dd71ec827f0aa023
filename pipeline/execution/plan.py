"""What is to be computed for one data set: a fit for each model and fold, some after a study, each with its key."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna

from pipeline.common.digests import digest, file_digest
from pipeline.config import paths
from pipeline.config.params import Params
from pipeline.execution.code_version import code_digest
from pipeline.execution.manifest import settings_digest
from pipeline.execution.store import Store
from pipeline.fitting import models, seeds
from pipeline.fitting.fit import FitTask
from pipeline.fitting.specs import Classifier
from pipeline.fitting.study import StudyTask


@dataclass
class Plan:
    dataset: str
    models: list[str]
    folds: int
    data_digest: str
    store: Store
    settings: dict[str, str] = field(default_factory=dict)
    """Digest of the settings of each model, as params.yaml has them."""
    md5: dict[str, str] = field(default_factory=dict)
    """Of the files that the numbers come from, as dvc.lock has them."""
    studies: dict[tuple[str, int], StudyTask] = field(default_factory=dict)
    fits: dict[tuple[str, int], FitTask] = field(default_factory=dict)
    after: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    """The study whose choice a fit needs, if any."""

    def key(self, model: str) -> str:
        """The digest of all that the numbers of one model depend on."""
        return digest([self.fits[model, fold].key for fold in range(self.folds)])


def make(name: str, params: Params, folds: int, folder: Path = paths.DATA, state: Path = paths.STATE) -> Plan:
    """Plan every model of params.models on one prepared set."""
    files = {"imputed": paths.imputed(name, folder), "folds": paths.folds(name, folder)}
    data = digest([file_digest(path) for path in files.values()])
    plan = Plan(name, list(params.models), folds, data, Store(state / "fits"))
    plan.settings = {model: settings_digest(model, params) for model in params.models}
    plan.md5 = {kind: file_digest(path, "md5") for kind, path in files.items()}
    for model in params.models:
        base = params.classifiers[model].of or model
        for fold in range(folds):
            tune_key = ""
            if params.classifiers[base].search:
                work = plan.studies.setdefault((base, fold), study(name, base, fold, params, data, state))
                plan.after[model, fold] = (base, fold)
                tune_key = work.key
            plan.fits[model, fold] = _fit(name, model, fold, params, data, tune_key)
    return plan


def study(name: str, model: str, fold: int | None, params: Params, data: str, state: Path = paths.STATE) -> StudyTask:
    entry, tuning = params.classifiers[model], params.tuning
    seed = seeds.derive(params.execution.seed, name, model, fold, "tune")
    # The journal does not depend on the budget: with more trials a study goes on where it ended.
    depends = [
        _plain(entry, {"class_", "params", "search", "first", "while_tuning"}),
        tuning.model_dump(include={"folds", "metric", "behind"}),
        optuna.__version__,
        *_shared([entry], params, data, fold, seed),
    ]
    journal = digest("study", *depends)
    key = digest(journal, entry.trials or tuning.trials, tuning.seconds)
    path = state / "studies" / f"{journal}.journal"
    return StudyTask(model, fold, entry, params.impute, tuning, seed, key, path)


def _fit(name: str, model: str, fold: int, params: Params, data: str, tune_key: str) -> FitTask:
    entries = [params.classifiers[model]]
    if entries[0].of is not None:
        entries.append(params.classifiers[entries[0].of])
    seed = seeds.derive(params.execution.seed, name, model, fold, "fit")
    depends = [
        [_plain(entry, {"class_", "params", "while_tuning", "budget"}) for entry in entries],
        *_shared(entries, params, data, fold, seed),
    ]
    key = digest("fit", tune_key, *depends)
    needed = {model: entries[0], **({entries[0].of: entries[1]} if entries[0].of else {})}
    return FitTask(name, model, fold, needed, params.impute, seed, key, {})


def _shared(entries: list[Classifier], params: Params, data: str, fold: int | None, seed: int) -> list[Any]:
    # With scope `dataset` the data's digest holds all that imputation did.
    impute = params.impute.model_dump() if params.impute.scope == "fold" else None
    code = [code_digest(path) for entry in entries for path in models.classes(entry)]
    return [code, impute, data, fold, seed]


def _plain(entry: Classifier, fields: set[str]) -> dict[str, Any]:
    return entry.model_dump(include=fields)  # mode="json" would make null of .inf
