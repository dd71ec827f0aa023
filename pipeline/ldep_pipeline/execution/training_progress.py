"""The progress of training: bars on a terminal, otherwise lines in the log, at least one per minute.

The time left is estimated from the size of the data first, then from the fits that are done. `ldep new`, which has
announced it before, has timed a pilot: see `pilot.py`.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldep_pipeline.common.progress import Clock, Heartbeat, Silence, duration
from ldep_pipeline.execution import suites
from ldep_pipeline.execution.plan import TrainingPlan
from ldep_pipeline.execution.scheduler import Listener
from ldep_pipeline.fitting.fit import DEGENERATE
from ldep_pipeline.fitting.specs import Tuning
from ldep_pipeline.metrics.metric import METRICS

log = logging.getLogger(__name__)
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


class RemainingWork:
    """The work of a plan. Seconds are divided by the number of workers."""

    def __init__(self, plan: TrainingPlan, features: int, workers: int) -> None:
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


def _work(plan: TrainingPlan, model: str, features: int) -> ModelWork:
    entry, tuning, trials = plan.fits[model, 0].entry, Tuning(), 0
    study = plan.study_of.get((model, 0))
    if study is not None and plan.shown_as(study) == model:
        tuning = plan.studies[study].tuning
        trials = entry.trials or tuning.trials
    timing = suites.estimated(entry, tuning, suites.mean_training_rows(plan.partition), features)
    return ModelWork(plan.folds, trials, timing.fit, timing.trial)


class LogProgress(Listener):
    """A line before the work, one per model when all its folds are done, and one when the log has been silent."""

    def __init__(self, plan: TrainingPlan, estimate: RemainingWork, clock: Clock = time.monotonic) -> None:
        self.plan, self.estimate, self.clock, self.started = plan, estimate, clock, clock()
        self.silence, self.last_event = Silence(clock), self.started
        # The records, not their values: these change when the last fold of a model has decided on its threshold.
        self.records: dict[str, list[dict[str, Any]]] = {model: [] for model in plan.models}
        self.inner_best: dict[str, float] = {}
        self.metric = METRICS[plan.metric]
        self.reused = dict.fromkeys(plan.models, 0)

    def training_started(self) -> None:
        """The finished work has been taken from the store. What is left?"""
        (done, fits), (_, trials) = self.estimate.fits, self.estimate.trials
        work = f"{len(self.plan.models)} models, {self.plan.folds} folds: {fits} fits"
        if trials:
            work += f" and {trials} trials of tuning"
        if done:
            work += f", {done} of the fits stored"
        processes = f"{self.estimate.workers} process{'es' * (self.estimate.workers > 1)}"
        left = duration(self.estimate.seconds_left())
        self.show(f"{self.plan.dataset}: {work}; about {left} with {processes}, estimated from the size of the data")

    def trial_finished(self, model: str, fold: int, best: float) -> None:
        self.estimate.trial_finished(model, fold)
        self.last_event = self.clock()
        known = self.inner_best.get(model)
        if best == best and (known is None or self.metric.better(best, known)):
            self.inner_best[model] = best

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        self.estimate.fit_finished(model, fold, record, stored)
        self.last_event = self.clock()
        self.records[model].append(record)
        self.reused[model] += stored
        if len(self.records[model]) == self.plan.folds:
            self.show(f"{self.plan.dataset}, {model}: {self.summary(model)}")

    def scores(self, model: str) -> list[float]:
        """The metric on the finished folds that have it."""
        values = [record.get("metrics", {}).get(self.plan.metric) for record in self.records[model]]
        return [value for value in values if value is not None]

    def count(self, model: str, status: str) -> int:
        return sum(record["status"] == status for record in self.records[model])

    def beat(self) -> None:
        """Called every few seconds, from another thread."""
        if self.silence.is_too_long():
            self.show(self.state())

    def state(self) -> str:
        """How much is done, the best score so far, and the time left."""
        (fits, all_fits), (trials, all_trials) = self.estimate.fits, self.estimate.trials
        done = f"{fits} of {all_fits} fits"
        if all_trials:
            done += f" and {trials} of {all_trials} trials"
        elapsed = duration(self.clock() - self.started)
        return "; ".join(filter(None, [f"{self.plan.dataset}: {done}", self.best(), f"{elapsed} so far", self.left()]))

    def best(self) -> str:
        """The model with the best mean over its finished folds; before there is one, the best inner score."""
        scores = {model: self.scores(model) for model in self.plan.models}
        means = {model: float(np.mean(values)) for model, values in scores.items() if values}
        values, inner = (means, "") if means else (dict(self.inner_best), "inner ")
        if not values:
            return ""
        model = self.metric.ranked(values)[0]
        return f"best {inner}{self.plan.metric} {self.metric.text(values[model])} ({model})"

    def left(self) -> str:
        """The time left, in words; empty when all fits are done."""
        fits, all_fits = self.estimate.fits
        if fits == all_fits:
            return ""
        since = self.clock() - self.last_event
        seconds = self.estimate.seconds_left() - since
        return f"about {duration(seconds)} left" if seconds > 0 else "longer than estimated"

    def summary(self, model: str) -> str:
        values = self.scores(model)
        text = f"no {self.plan.metric}"
        if values:
            deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            text = f"{self.plan.metric} {self.metric.text(float(np.mean(values)), deviation)}"
        for status, word in (("failed", "FAILED"), (DEGENERATE, "the same answer to every row")):
            if count := self.count(model, status):
                text += f", {word} on {count} of {self.plan.folds} folds"
        if self.reused[model]:
            text += f" ({self.reused[model]} of {self.plan.folds} folds reused)"
        elapsed = f"{self.clock() - self.started:.0f} s since the start"
        return ", ".join(filter(None, [text, elapsed, self.left()]))

    def show(self, text: str) -> None:
        self.silence.broken()
        log.info("%s", text)


class TerminalProgress(LogProgress):
    """One bar per model, with finished trials and fits and the best score so far, and one bar for all of them."""

    def __init__(self, plan: TrainingPlan, estimate: RemainingWork, clock: Clock = time.monotonic) -> None:
        super().__init__(plan, estimate, clock)
        from tqdm import tqdm

        # On the next free line: with several data sets the first line has the bar over the data sets.
        form = "{desc:<32.32} {bar:24} {n_fmt}/{total_fmt} [{elapsed}]{postfix}"
        self.bars = {
            model: tqdm(total=work.fits + work.trials, desc=f"{plan.dataset} {model}", bar_format=form)
            for model, work in estimate.models.items()
        }
        self.total = tqdm(total=estimate.fits[1] + estimate.trials[1], desc=f"{plan.dataset} total", bar_format=form)

    def training_started(self) -> None:
        self.beat()

    def trial_finished(self, model: str, fold: int, best: float) -> None:
        super().trial_finished(model, fold, best)
        self._advance(model, f"best inner {self.metric.text(best)}")

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        super().fit_finished(model, fold, record, stored)
        successful = self.scores(model)
        text = ""
        if successful:
            text = f"best {self.metric.text(max(successful) if self.metric.higher_is_better else min(successful))}"
        elif self.count(model, "failed"):
            text = "failed"
        self._advance(model, text)

    def beat(self) -> None:
        self.total.set_postfix_str(self.left(), refresh=False)
        for bar in (*self.bars.values(), self.total):
            bar.refresh()

    def show(self, text: str) -> None:
        """Print nothing: the bars show it."""

    def close(self) -> None:
        for bar in (*self.bars.values(), self.total):
            bar.close()

    def _advance(self, model: str, text: str) -> None:
        # Not counted here: there is no event for trials that were in the journal already.
        work, bar = self.estimate.models[model], self.bars[model]
        bar.n = work.fits_done + sum(work.trials_done.values())
        bar.set_postfix_str(text)
        self.total.n = self.estimate.fits[0] + self.estimate.trials[0]
        self.total.set_postfix_str(self.left())


@contextmanager
def listening(plan: TrainingPlan, estimate: RemainingWork) -> Iterator[LogProgress]:
    if not sys.stderr.isatty():
        progress = LogProgress(plan, estimate)
        with Heartbeat(progress.beat):
            yield progress
        return
    from tqdm.contrib.logging import logging_redirect_tqdm

    terminal = TerminalProgress(plan, estimate)
    try:
        with logging_redirect_tqdm(), Heartbeat(terminal.beat, seconds=1.0):
            yield terminal
    finally:
        terminal.close()
