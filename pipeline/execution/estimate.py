"""How long the training of a data set will take: estimated from its size first, then from the fits that are done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipeline.execution.affordable import fit_seconds, trial_seconds
from pipeline.execution.plan import Plan

DOUBT = 5.0  # seconds of fits that it takes to correct the estimates of other models: quick ones say little


@dataclass
class ModelWork:
    """The fits and trials of one model: how many there are, how many are done, and what they cost so far."""

    fits: int
    trials_per_fit: int
    expected_fit: float
    """Estimated seconds of one fit."""
    expected_trial: float
    trials_done: dict[int, int] = field(default_factory=dict)
    """The number of finished trials of each fold."""
    fits_done: int = 0
    fit_costs: list[float] = field(default_factory=list)
    trial_costs: list[float] = field(default_factory=list)

    @property
    def trials(self) -> int:
        return self.fits * self.trials_per_fit

    def seconds_left(self, speed: float) -> float:
        """`speed` corrects the estimates of a model that has no finished fit yet."""
        fit = float(np.mean(self.fit_costs)) if self.fit_costs else speed * self.expected_fit
        trial = float(np.mean(self.trial_costs)) if self.trial_costs else speed * self.expected_trial
        return fit * (self.fits - self.fits_done) + trial * (self.trials - sum(self.trials_done.values()))


class Estimate:
    """The work of a plan. Seconds are divided by the number of workers."""

    def __init__(self, plan: Plan, features: int, workers: int) -> None:
        self.workers = workers
        self.models = {model: _work(plan, model, features) for model in plan.models}

    @property
    def fits(self) -> tuple[int, int]:
        """The finished and all fits."""
        works = self.models.values()
        return sum(work.fits_done for work in works), sum(work.fits for work in works)

    @property
    def trials(self) -> tuple[int, int]:
        """The finished and all trials."""
        works = self.models.values()
        return sum(sum(work.trials_done.values()) for work in works), sum(work.trials for work in works)

    def trial_finished(self, model: str, fold: int) -> None:
        work = self.models[model]
        work.trials_done[fold] = min(work.trials_done.get(fold, 0) + 1, work.trials_per_fit)

    def fit_finished(self, model: str, fold: int, record: Mapping[str, Any], stored: bool) -> None:
        """Count a fit. The times of stored ones may come from another machine, but are the best guess for the rest."""
        work = self.models[model]
        work.fits_done += 1
        if work.trials_per_fit:
            work.trials_done[fold] = work.trials_per_fit
        if record.get("fit_seconds") is not None:
            work.fit_costs.append(record["fit_seconds"])
        tuning = record["tuning"]
        if work.trials_per_fit and tuning.get("trials"):
            work.trial_costs.append(tuning["seconds"] / tuning["trials"])

    def seconds_left(self) -> float:
        speed = self._speed()
        return sum(work.seconds_left(speed) for work in self.models.values()) / self.workers

    def _speed(self) -> float:
        """Measured seconds per estimated second, over all finished fits; close to 1 until they amount to something."""
        actual = estimated = DOUBT
        for work in self.models.values():
            actual += sum(work.fit_costs) + sum(work.trial_costs)
            estimated += len(work.fit_costs) * work.expected_fit + len(work.trial_costs) * work.expected_trial
        return actual / estimated


def _work(plan: Plan, model: str, features: int) -> ModelWork:
    entry = plan.fits[model, 0].entry
    rows = int(np.mean([plan.partition.train_rows(fold).sum() for fold in range(plan.folds)]))
    expected_trial, trials = 0.0, 0
    study = plan.study_of.get((model, 0))
    if study is not None and plan.shown_as(study) == model:
        tuning = plan.studies[study].tuning
        trials = entry.trials or tuning.trials
        expected_trial = trial_seconds(entry, tuning, rows, features)
    return ModelWork(plan.folds, trials, fit_seconds(entry, rows, features), expected_trial)
