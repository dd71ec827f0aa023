"""A pilot: small fits of each model on samples of the rows, timed to tell how long the whole training will take.

Constants measured on another machine and other data are wrong by a factor of three and more. A pilot runs what training
will run, with settings that tuning will try, on up to a quarter of the rows, and extrapolates by how the time grew
between the two largest samples. It costs about a twentieth of five folds. Nothing that it computes is kept, so it
changes no number and no key.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna

from ldep_pipeline.common.progress import of_one_step
from ldep_pipeline.execution import suites
from ldep_pipeline.execution.pools import Pool
from ldep_pipeline.execution.suites import Timing
from ldep_pipeline.fitting.fit import MODEL_FOLD, FitTask, run_fit
from ldep_pipeline.fitting.models import settings_for, suggest
from ldep_pipeline.fitting.specs import Classifier, Impute
from ldep_pipeline.fitting.training_data import Partition, TrainingData, stratified_folds
from ldep_pipeline.fitting.trial import TrialTask, run_trial

FOLDS = 5  # of a sample: four are fitted, one is predicted
FOLD = MODEL_FOLD + 1  # in the fold MODEL_FOLD a fit also stores its pipeline
STEP = 4  # a sample has this many times the rows of the sample before
SMALLEST, ENOUGH = 60, 200  # training rows of the smallest sample; of the largest one, if the data have so many
SAMPLES = 3
SETTINGS = 4  # how many are timed of a model with a search
PATIENCE = 3.0  # seconds: a larger sample is not timed if that would take longer
STEEPEST = 2.5  # the largest power of the rows with which a time may grow
METRIC = "accuracy"  # to score trials: every model has it, and no score matters here


@dataclass(frozen=True)
class PilotTask:
    """A model, the rows of one of its training parts, and how many inner folds its trials have, if it is tuned."""

    model: str
    entry: Classifier
    impute: Impute
    rows: int
    inner_folds: int


def measure(tasks: Iterable[PilotTask], pool: Pool) -> dict[str, Timing]:
    """Run pilots in a pool. A model that cannot be fitted to its samples has no timing."""
    running = {pool.submit(run_pilot, task): task.model for task in tasks}
    timings: dict[str, Timing] = {}
    with of_one_step("timing a pilot fit of each model"):
        while running:
            for future in list(pool.wait(list(running))):
                timing = pool.result(future)
                model = running.pop(future)
                if timing is not None:
                    timings[model] = timing
    return timings


def run_pilot(task: PilotTask, data: TrainingData) -> Timing | None:
    """Time a model on samples of growing size, and extrapolate; None if it failed."""
    features = data.X.shape[1]
    entries = [_fixed(task.entry, settings, task.rows, features) for settings in _settings(task.entry)]
    sizes: list[int] = []
    fits: list[float] = []
    trials: list[float] = []

    def expected(seconds: list[float], rows: int) -> float:
        growth = suites.fit_seconds(entries[0], rows, features) / suites.fit_seconds(entries[0], sizes[-1], features)
        return extrapolated(sizes, seconds, rows, growth)

    for rows in sample_sizes(task.rows):
        if sizes and len(entries) * (expected(fits, rows) + expected(trials, rows) / suites.PRUNED) > PATIENCE:
            break
        sample = sample_of(data, rows * FOLDS // (FOLDS - 1))
        if not sizes:
            _timed(task, entries[0], sample)  # the first fit of a process also loads modules
        timings = [timing for entry in entries if (timing := _timed(task, entry, sample)) is not None]
        if not timings:
            return None
        sizes.append(rows)
        fits.append(float(np.mean([timing.fit for timing in timings])))
        trials.append(float(np.mean([timing.trial for timing in timings])))
    return Timing(expected(fits, task.rows), expected(trials, task.rows))


def sample_sizes(rows: int) -> list[int]:
    """The training rows of the samples, in rising order."""
    sizes = [max(rows // STEP, min(rows, ENOUGH))]
    while sizes[-1] > SMALLEST and len(sizes) < SAMPLES:
        sizes.append(max(sizes[-1] // STEP, SMALLEST))
    return sizes[::-1]


def sample_rows(y: np.ndarray, size: int) -> np.ndarray:
    """The numbers of about `size` rows, with all classes in their shares, or with a few rows of a rare one."""
    order = np.random.default_rng(0).permutation(len(y))
    members = [order[y[order] == label] for label in np.unique(y)]
    return np.sort(np.concatenate([part[: max(round(size * len(part) / len(y)), 2 * FOLDS)] for part in members]))


def sample_of(data: TrainingData, size: int) -> TrainingData:
    """About `size` rows with stratified folds, whatever the folds of the data."""
    rows = sample_rows(data.y, size)
    y = data.y[rows]
    folds = min(FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    assigned = stratified_folds(y, folds, 0) if folds > 1 else np.arange(len(y)) % FOLDS
    return TrainingData(data.X[rows], y, Partition(assigned[:, None]), data.columns, data.target)


def _settings(entry: Classifier) -> list[dict[str, Any]]:
    """Settings that a study would try: those that it tries first, or random ones."""
    if not entry.search:
        return [{}]
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    random = [suggest(study.ask(), entry.search) for _ in range(SETTINGS - len(entry.first))]
    return [*entry.first, *random]


def _fixed(entry: Classifier, chosen: dict[str, Any], rows: int, features: int) -> Classifier:
    """An entry with one setting: that of the whole training part, which a budget may make another than on a sample."""
    settings = settings_for(entry, chosen, rows, features)
    return entry.model_copy(update={"params": settings, "budget": None, "ensemble": None})


def _timed(task: PilotTask, entry: Classifier, sample: TrainingData) -> Timing | None:
    """The seconds of a fit with its evaluation, and of a trial, part of which is pruned; None if the fit failed."""
    fit = FitTask("", task.model, FOLD, entry, task.impute, None, 0, "", {}, 0, 0)
    started = time.perf_counter()
    if run_fit(fit, sample).record["status"] == "failed":
        return None
    fit_seconds = time.perf_counter() - started
    if not task.inner_folds:
        return Timing(fit_seconds, 0.0)
    trial = TrialTask(
        entry=entry,
        settings={},
        impute=task.impute,
        fold=FOLD,
        inner_folds=task.inner_folds,
        metric=METRIC,
        costs=None,
        seed=0,
        known_scores={},
        best_scores={},
        margin=1.0,
        batch_seconds=math.inf,
        keep_votes=False,
    )
    return Timing(fit_seconds, suites.PRUNED * run_trial(trial, sample).seconds)


def extrapolated(sizes: Sequence[int], seconds: Sequence[float], rows: int, growth: float) -> float:
    """The seconds with this many rows, by the measured growth between the two largest samples.

    `growth` is the factor that a formula expects from the largest sample to all rows. Neither is exact: small samples
    have fixed costs and few iterations, and a formula knows nothing of the data. So it is their geometric mean.
    """
    if rows <= sizes[-1] or seconds[-1] <= 0:
        return seconds[-1]
    exponents = [math.log(growth) / math.log(rows / sizes[-1])]
    if len(sizes) > 1:
        exponents.append(math.log(seconds[-1] / seconds[-2]) / math.log(sizes[-1] / sizes[-2]))
    return seconds[-1] * (rows / sizes[-1]) ** min(max(float(np.mean(exponents)), 0.0), STEEPEST)
