"""Choosing the settings of a model by an inner cross-validation of its training rows.

A study is an Optuna study in a journal file. The driver asks it for a trial, a worker runs the trial, and the driver
tells the study the result. Trials of one study run one after the other, and the sampler of the k-th trial is seeded by
k. So the numbers depend neither on interruptions nor on where the trials are computed: a study that was killed
continues as if nothing had happened, and repeats only the fit that was running.

The journal is a file with one JSON line per change, each with a checksum. A checksum covers its line, all lines before
it, and the name of the file, which is the key of the study. When a journal is opened, everything from the first damaged
line on is dropped, as if the writer had been killed there: the study then repeats that work. Optuna's own file backend
fails on such a file every time, and its lock costs more than the sampler and outlives a kill. No lock is needed here: a
study has a single writer. Optuna's file backend can still read the file, as it ignores the checksums.

Each line is handed to the operating system at once, so a killed process loses none. Lines are forced to the disk only
when a trial finishes: after a power cut at most the trial that was running is lost, and the study repeats it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import BaseJournalBackend
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ldep_pipeline.fitting import ensemble, models
from ldep_pipeline.fitting.specs import Classifier, Costs, Impute, Tuning
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.fitting.trial import (
    FoldScores,
    TrialResult,
    TrialTask,
    inner_fold_count,
    inner_splits,
    run_trial,
)
from ldep_pipeline.metrics.metric import METRICS

log = logging.getLogger(__name__)
CHECKSUM = "checksum"
DIGITS = 16
TRIAL_FINISHED = "datetime_complete"  # a key of the entry with which Optuna finishes a trial


class Journal(BaseJournalBackend):
    """A journal file with a single writer; it repairs the file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_bytes() if path.exists() else b""
        self._entries: list[dict[str, Any]] = []
        self._checksum = path.stem  # the study's key, so that the journal of another study does not count as this one
        intact = 0
        for line in content.splitlines(keepends=True):
            entry = self._checked(line)
            if entry is None:
                break
            self._entries.append(entry)
            intact += len(line)
        if intact < len(content):
            log.warning("%s is damaged from line %d on; that part is computed again.", path, len(self._entries) + 1)
            with path.open("r+b") as file:
                file.truncate(intact)

    def read_logs(self, log_number_from: int) -> list[dict[str, Any]]:
        return self._entries[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        lines = b""
        for entry in logs:
            text = _text(entry)
            self._checksum = _chained(self._checksum, text)
            lines += _text({**entry, CHECKSUM: self._checksum}).encode() + b"\n"
            self._entries.append(json.loads(text))
        with self.path.open("ab") as file:
            file.write(lines)
            if any(TRIAL_FINISHED in entry for entry in logs):
                file.flush()
                os.fsync(file.fileno())

    def _checked(self, line: bytes) -> dict[str, Any] | None:
        """The entry of a line, or None if the line is incomplete or not as it was written."""
        try:
            entry = json.loads(line)
            checksum = entry.pop(CHECKSUM)
            expected = _chained(self._checksum, _text(entry))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        if not line.endswith(b"\n") or checksum != expected:
            return None
        self._checksum = expected
        return entry


def _text(entry: dict[str, Any]) -> str:
    return json.dumps(entry, separators=(",", ":"))


def _chained(previous: str, text: str) -> str:
    return hashlib.sha256(f"{previous}{text}".encode()).hexdigest()[:DIGITS]


optuna.logging.set_verbosity(optuna.logging.WARNING)
NAME = "tuning"
ERROR = "error"
VOTES = "votes."  # followed by the number of an inner fold: the votes of its model on the rows it has not seen
COST = "cost"  # seconds and CPU seconds of the trial's fits so far

TrialCallback = Callable[[int, float], None]
"""Called after each trial with the number of finished trials and the best value."""


def ignore_trial(finished: int, best: float) -> None: ...


@dataclass(frozen=True)
class StudyTask:
    """What a study depends on. `fold` is the outer fold that is left out; None tunes on all rows.

    With `keep_votes` its outcome has an `ensemble` of the models of all complete trials.
    """

    model: str
    fold: int | None
    entry: Classifier
    impute: Impute
    tuning: Tuning
    metric: str
    costs: Costs | None
    seed: int
    key: str
    journal: Path
    keep_votes: bool


class TuningStudy:
    """A study in the driver: `ask` for the next trial and `tell` its result, until `ask` returns None.

    A worker hands back what it has of a trial after `batch_seconds`; with 0, after each fit.
    """

    def __init__(
        self,
        task: StudyTask,
        data: TrainingData,
        batch_seconds: float = 0.0,
        on_trial: TrialCallback = ignore_trial,
    ) -> None:
        self.task, self.data, self.batch_seconds, self.on_trial = task, data, batch_seconds, on_trial
        self.trials = task.entry.trials or task.tuning.trials
        self.inner_folds = inner_fold_count(data, task.fold, task.tuning.folds, task.seed)
        self.study = open_study(task.journal, task.metric)
        finished = finished_trials(self.study)
        if self._is_used_up(finished) and all(ERROR in trial.user_attrs for trial in finished):
            # Trials that failed are tried again, as fits are: there may have been too little memory.
            task.journal.unlink()
            self.study = open_study(task.journal, task.metric)
        self.scores_by_setting = scores_by_setting(self.study)
        self.trial: optuna.Trial | None = None

    def ask(self) -> TrialTask | None:
        """The trial that is under way, with the scores that are known, or a new one; None if the study is done."""
        task = self.task
        if self.trial is None:
            finished = finished_trials(self.study)
            if self._is_used_up(finished):
                return None
            self.trial = self._next_trial(len(finished))
            self.settings = models.suggest(self.trial, task.entry.search)
            self.cost = np.zeros(2)
        return TrialTask(
            entry=task.entry,
            settings=self.settings,
            impute=task.impute,
            fold=task.fold,
            inner_folds=self.inner_folds,
            metric=task.metric,
            costs=task.costs,
            seed=task.seed,
            known_scores=self._scores_of(self.trial),
            best_scores=self._best_scores(),
            margin=task.tuning.behind,
            batch_seconds=self.batch_seconds,
            keep_votes=task.keep_votes,
        )

    def tell(self, result: TrialResult) -> None:
        """Write down the scores of the trial that is under way, and finish it when it is complete."""
        trial = self.trial
        assert trial is not None
        self.cost += (result.seconds, result.cpu_seconds)
        trial.set_user_attr(COST, self.cost.tolist())
        reported = self.study.get_trials(deepcopy=False)[trial.number].intermediate_values
        for number, votes in result.votes.items():  # before the score: a fold with a score is not fitted again
            trial.set_user_attr(f"{VOTES}{number}", ensemble.encode_votes(votes))
        for number, score in result.scores.items():
            if number not in reported:
                trial.report(score, number)
        self._scores_of(trial).update(result.scores)
        if result.error is not None:
            trial.set_user_attr(ERROR, result.error)
            self.study.tell(trial, state=TrialState.FAIL)
        elif result.pruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        elif len(result.scores) == self.inner_folds:
            self.study.tell(trial, float(np.mean(list(result.scores.values()))))
        else:
            return
        self.trial = None
        self.on_trial(len(finished_trials(self.study)), self.best_value())

    def best_value(self) -> float:
        """The best value so far; NaN if no trial is complete."""
        scores = self._best_scores()
        return float(np.mean(list(scores.values()))) if scores else float("nan")

    def outcome(self) -> dict[str, Any]:
        record = outcome(self.study, self.trials, self.task.tuning.seconds, self.task.model)
        record["chosen"] = self._settings_of(record.pop("params"))
        if self.task.keep_votes:
            record["ensemble"] = self._ensemble()
        return record

    def _settings_of(self, values: dict[str, Any]) -> dict[str, Any]:
        return models.from_trial(values, self.task.entry.search)

    def _ensemble(self) -> dict[str, Any]:
        """Select an ensemble of the different settings of the complete trials."""
        task = self.task
        tests = [test for _, test in inner_splits(self.data, task.fold, self.inner_folds, task.seed)]
        votes_by_setting = _votes_by_setting(self.study)
        complete = [trial for trial in finished_trials(self.study)[: self.trials] if trial.state == TrialState.COMPLETE]
        candidates: dict[str, ensemble.Candidate] = {}
        for trial in complete:
            stored = votes_by_setting[_identifier(trial.params)]
            parts = [ensemble.decode_votes(stored[number], len(test)) for number, test in enumerate(tests)]
            settings = self._settings_of(trial.params)
            candidates.setdefault(_identifier(trial.params), ensemble.Candidate(settings, np.concatenate(parts)))
        y, classes = self.data.y[np.concatenate(tests)], self.data.train_classes(task.fold)
        return ensemble.select(list(candidates.values()), y, classes)

    def _next_trial(self, index: int) -> optuna.Trial:
        task = self.task
        self.study.sampler = _sampler(task.tuning.sampler, models.derive_seed(task.seed, "trial", index))
        waiting = self.study.get_trials(deepcopy=False, states=(TrialState.WAITING,))
        if index < len(task.entry.first) and not waiting:
            self.study.enqueue_trial(models.as_trial(task.entry.first[index], task.entry.search))
        return self.study.ask()

    def _scores_of(self, trial: optuna.Trial) -> FoldScores:
        return self.scores_by_setting.setdefault(_identifier(trial.params), {})

    def _is_used_up(self, finished: list[FrozenTrial]) -> bool:
        return len(finished) >= self.trials or total_cost(self.study, finished)[0] > self.task.tuning.seconds

    def _best_scores(self) -> FoldScores:
        complete = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return dict(_best(self.study, complete).intermediate_values) if complete else {}


def run_study(task: StudyTask, data: TrainingData, on_trial: TrialCallback = ignore_trial) -> dict[str, Any]:
    """Run or continue a study in this process."""
    study = TuningStudy(task, data, on_trial=on_trial)
    while (trial := study.ask()) is not None:
        study.tell(run_trial(trial, data))
    return study.outcome()


def open_study(journal: Path, metric: str) -> optuna.Study:
    """Open the journal of a study by this metric, or create it. A trial that was interrupted is marked as failed."""
    study = optuna.create_study(
        storage=JournalStorage(Journal(journal)),
        study_name=NAME,
        direction="maximize" if METRICS[metric].higher_is_better else "minimize",
        load_if_exists=True,
    )
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        study.tell(trial.number, state=TrialState.FAIL)
    return study


def finished_trials(study: optuna.Study) -> list[FrozenTrial]:
    """The trials that count: a failed one only if its settings failed, not if it was interrupted."""
    return [
        trial
        for trial in study.get_trials(deepcopy=False)
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)
        or (trial.state == TrialState.FAIL and ERROR in trial.user_attrs)
    ]


def scores_by_setting(study: optuna.Study) -> dict[str, FoldScores]:
    """The scores of each setting in each inner fold, including those of interrupted trials."""
    scores: dict[str, FoldScores] = {}
    for trial in study.get_trials(deepcopy=False):
        scores.setdefault(_identifier(trial.params), {}).update(trial.intermediate_values)
    return scores


def _votes_by_setting(study: optuna.Study) -> dict[str, dict[int, str]]:
    """The votes of each setting in each inner fold, as they are in the journal."""
    votes: dict[str, dict[int, str]] = {}
    for trial in study.get_trials(deepcopy=False):
        of_setting = votes.setdefault(_identifier(trial.params), {})
        for name, text in trial.user_attrs.items():
            if name.startswith(VOTES):
                of_setting[int(name.removeprefix(VOTES))] = text
    return votes


def total_cost(study: optuna.Study, finished: list[FrozenTrial]) -> np.ndarray:
    """Worker seconds and CPU seconds up to the last of these trials, including those of interrupted trials."""
    last = finished[-1].number if finished else -1
    trials = study.get_trials(deepcopy=False)[: last + 1]
    return np.sum([trial.user_attrs.get(COST, (0.0, 0.0)) for trial in trials] or [(0.0, 0.0)], axis=0)


def _sampler(kind: str, seed: int) -> optuna.samplers.BaseSampler:
    """The sampler of one trial. The multivariate TPE models how the parameters depend on each other."""
    if kind == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # of the argument `multivariate`
        return optuna.samplers.TPESampler(seed=seed, multivariate=True)


def _identifier(params: dict[str, Any]) -> str:
    return json.dumps(params, sort_keys=True)


def _best(study: optuna.Study, complete: list[FrozenTrial]) -> FrozenTrial:
    """The trial with the best value; of equal ones the first."""
    values = np.array([trial.value for trial in complete], dtype=float)
    best = values.argmax() if study.direction == StudyDirection.MAXIMIZE else values.argmin()
    return complete[int(best)]


def outcome(study: optuna.Study, trials: int, seconds: float, model: str) -> dict[str, Any]:
    """The outcome of the first `trials` trials as plain values: a journal may hold more, of a larger budget."""
    finished = finished_trials(study)[:trials]
    errors = [trial.user_attrs[ERROR] for trial in finished if ERROR in trial.user_attrs]
    complete = [trial for trial in finished if trial.state == TrialState.COMPLETE]
    if not complete:
        raise ValueError(f"tuning {model}: no trial of {len(finished)} succeeded; the last: {errors[-1]}")
    best = _best(study, complete)
    used, cpu_used = total_cost(study, finished).tolist()
    stopped_early = f"tuning stopped after {len(finished)} of {trials} trials: {seconds:g} s"
    return {
        "value": best.value,
        "params": best.params,
        "trials": len(finished),
        "pruned": sum(trial.state == TrialState.PRUNED for trial in finished),
        "failed": len(errors),
        "seconds": used,
        "cpu_seconds": cpu_used,
        "message": stopped_early if len(finished) < trials else "",
    }
