"""Studies: nested, seeded, pruned, cached; and the same after an interruption at any byte of the journal."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from optuna.trial import TrialState

from ldep_pipeline.config import paths
from ldep_pipeline.config.params import check
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import plan
from ldep_pipeline.fitting import models, study, trial
from ldep_pipeline.metrics.metric import METRICS
from tests.support import tiny


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def study_task(
    root: Path, trials: int = 8, entry: dict | None = None, state: str = "state", **options
) -> study.StudyTask:
    values = tiny.values(tuning=options)
    values["classifiers"]["ldep"] |= {"trials": trials, **(entry or {})}
    return plan.study_task("tiny", "ldep", 0, check(values), "digest", root / state)


def run(work: study.StudyTask) -> dict:
    return study.run_study(work, load_training_data("tiny"))


def trials_of(work: study.StudyTask) -> list[tuple]:
    """All that counts of a study: settings, fold scores and ends of its finished trials, in order."""
    opened = study.open_study(work.journal, work.metric)
    return [(t.params, t.intermediate_values, t.state) for t in study.finished_trials(opened)]


def without_times(outcome: dict) -> dict:
    return {name: value for name, value in outcome.items() if "seconds" not in name}


def test_settings_to_try_first_come_first(root):
    first = [{"r1": 4, "r2": 1, "alpha": 0.5}, {"r1": 1, "r2": 2, "alpha": 2.0}]
    work = study_task(root, entry={"first": first}, trials=3)
    run(work)
    settings = [models.from_trial(params, work.entry.search) for params, _, _ in trials_of(work)]
    assert settings[:2] == first
    assert len(settings) == 3


def test_the_chosen_setting_is_the_best_by_mean_over_all_inner_folds(root):
    work = study_task(root)
    outcome = run(work)
    complete = [(p, np.mean(list(v.values()))) for p, v, state in trials_of(work) if state == TrialState.COMPLETE]
    assert outcome["value"] == max(mean for _, mean in complete)
    assert outcome["chosen"] == next(params for params, mean in complete if mean == outcome["value"])


def test_a_pruned_trial_is_never_chosen_and_has_fewer_folds(root, monkeypatch):
    monkeypatch.setattr(trial, "CHANCE", 0.0)  # the tiny data set has so few rows that chance explains most differences
    work = study_task(root, trials=12, behind=0.0)
    outcome = run(work)
    pruned = [values for _, values, state in trials_of(work) if state == TrialState.PRUNED]
    assert outcome["pruned"] == len(pruned) > 0
    assert all(len(values) < 3 for values in pruned)


@pytest.mark.parametrize(("rows", "behind"), [(25, 0.2), (2_500, 0.02), (250_000, 0.01)])
def test_a_trial_is_abandoned_only_if_it_is_behind_by_the_margin_and_by_more_than_chance(rows, behind):
    best, accuracy = {0: 0.9}, METRICS["accuracy"]
    assert trial.falls_behind({0: 0.9 - behind - 1e-3}, best, 0.01, rows, accuracy)
    assert not trial.falls_behind({0: 0.9 - behind + 1e-3}, best, 0.01, rows, accuracy)
    assert not trial.falls_behind({0: 0.0}, {}, 0.01, rows, accuracy)


def test_rows_of_the_test_fold_do_not_affect_the_choice(root):
    before = run(study_task(root))
    path = paths.imputed("tiny", root / paths.DATA)
    frame = pd.read_parquet(path)
    fold = pd.read_csv(paths.folds("tiny", root / paths.DATA))["fold"].to_numpy()
    frame.loc[fold == 0, tiny.COLUMNS] = 1e3
    frame.to_parquet(path, index=False)
    after = run(study_task(root, state="again"))
    assert without_times(after) == without_times(before)


def test_the_same_setting_is_evaluated_once(root):
    entry = {
        "class": "tests.support.tiny.Counting",
        "params": {},
        "search": {"var_smoothing": {"choices": [1e-9, 1.0]}},
        "first": [],
    }
    tiny.Counting.fits = 0
    outcome = run(study_task(root, trials=12, entry=entry, behind=1.0))
    assert outcome["trials"] == 12
    assert tiny.Counting.fits == 2 * 3


def test_a_study_that_reaches_its_time_limit_reports_it(root):
    outcome = run(study_task(root, trials=50, seconds=1e-6))
    assert outcome["trials"] == 1
    assert outcome["message"] == "tuning stopped after 1 of 50 trials: 1e-06 s"


def test_random_search_does_not_depend_on_the_scores(root):
    """TPE learns from the first trials, random search does not: with other scores it proposes the same settings."""
    proposed = {}
    for sampler in ("random", "tpe"):
        for folds in (2, 3):
            work = study_task(root, trials=20, sampler=sampler, folds=folds, behind=1.0, state=f"{sampler}{folds}")
            run(work)
            proposed[sampler, folds] = [params for params, _, _ in trials_of(work)]
    assert proposed["random", 2] == proposed["random", 3]
    assert proposed["tpe", 2] != proposed["tpe", 3]


def test_a_study_cut_off_at_any_byte_continues_with_the_same_outcome(root, monkeypatch):
    monkeypatch.setattr(trial, "CHANCE", 0.0)  # so that some trials are pruned
    whole = study_task(root, trials=6, behind=0.0)
    expected = without_times(run(whole))
    journal, trials = whole.journal.read_bytes(), trials_of(whole)
    rng = np.random.default_rng(0)
    cuts = sorted(rng.choice(len(journal), 25, replace=False).tolist())
    for cut in [0, *cuts, len(journal)]:
        shutil.rmtree(root / "state")
        work = study_task(root, trials=6, behind=0.0)
        work.journal.parent.mkdir(parents=True)
        work.journal.write_bytes(journal[:cut])
        assert without_times(run(work)) == expected, f"cut at byte {cut} of {len(journal)}"
        assert trials_of(work) == trials, f"cut at byte {cut} of {len(journal)}"


def test_trials_of_a_larger_budget_do_not_count_in_a_smaller_one(root):
    """The journal does not depend on the budget: after eight trials, a budget of three must give what three give."""
    alone = without_times(run(study_task(root, trials=3, state="alone")))
    run(study_task(root, trials=8))
    assert without_times(run(study_task(root, trials=3))) == alone


def test_scores_of_an_interrupted_trial_are_kept(root):
    entry = {
        "class": "tests.support.tiny.Counting",
        "params": {},
        "search": {"var_smoothing": {"low": 1e-9, "high": 1.0, "log": True}},
        "first": [],
    }
    work = study_task(root, trials=3, entry=entry, behind=1.0)
    run(work)
    lines = work.journal.read_bytes().splitlines(keepends=True)
    # Each report of a fold's score is one line: keep two of the last trial's three.
    reports = [number for number, line in enumerate(lines) if b'"intermediate_value"' in line]
    assert len(reports) == 9
    work.journal.write_bytes(b"".join(lines[: reports[-2] + 1]))
    tiny.Counting.fits = 0
    run(work)
    assert tiny.Counting.fits == 1


@pytest.mark.parametrize(("batch_seconds", "steps"), [(0.0, 6), (3600.0, 2)])
def test_a_worker_hands_back_one_fit_or_a_batch_with_the_same_numbers(root, batch_seconds, steps):
    expected = without_times(run(study_task(root, trials=2, behind=1.0, state="whole")))
    work, rows = study_task(root, trials=2, behind=1.0), load_training_data("tiny")
    asked = study.TuningStudy(work, rows, batch_seconds)
    for step in range(steps):
        asked.tell(trial.run_trial(asked.ask(), rows))
        written = sum(len(scores) for scores in study.scores_by_setting(asked.study).values())
        assert written == (step + 1) * 6 // steps
    assert asked.ask() is None
    assert without_times(asked.outcome()) == expected


def test_the_time_of_an_interrupted_trial_counts(root):
    work, rows = study_task(root, trials=1), load_training_data("tiny")
    asked = study.TuningStudy(work, rows)
    first = trial.run_trial(asked.ask(), rows)
    asked.tell(first)
    outcome = run(work)  # the trial is begun anew, with two fits to make
    assert outcome["seconds"] > first.seconds
    held = study.open_study(work.journal, work.metric).get_trials()
    assert outcome["seconds"] == sum(trial.user_attrs[study.COST][0] for trial in held)
    assert len(held) == 2


def test_settings_that_fail_do_not_end_the_study(root):
    entry = {
        "class": "sklearn.svm.NuSVC",
        "params": {},
        "search": {"nu": {"choices": [0.3, 1.0]}},  # nu = 1 is infeasible unless the classes are equal
        "first": [{"nu": 1.0}, {"nu": 0.3}],
    }
    tiny.prepare(root, rows=85)
    outcome = run(study_task(root, trials=2, entry=entry))
    assert (outcome["failed"], outcome["chosen"]) == (1, {"nu": 0.3})


def test_a_study_in_which_every_trial_failed_is_begun_anew(root, monkeypatch):
    entry = {
        "class": "tests.support.tiny.OutOfMemory",
        "params": {},
        "search": {"var_smoothing": {"low": 1e-9, "high": 1.0, "log": True}},
        "first": [],
    }
    work = study_task(root, trials=2, entry=entry)
    with pytest.raises(ValueError, match="no trial of 2 succeeded; the last: MemoryError"):
        run(work)
    monkeypatch.setattr(tiny.OutOfMemory, "full", False)
    again = run(work)
    assert (again["trials"], again["failed"]) == (2, 0)
    assert without_times(again) == without_times(run(study_task(root, trials=2, entry=entry, state="alone")))
