"""The runs inside a model's run: one per fold and one per trial, with numbers, once, and as params.yaml asks for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldep_pipeline.data import folds
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import plan, results
from ldep_pipeline.fitting.study import finished_trials, open_study
from ldep_pipeline.stages import train
from tests.support import tracked


def train_again(**sections) -> None:
    with pytest.raises(train.ModelsFailed):  # one of the models fails on a fold
        train.run("tiny", tracked.params(**sections))


def ids(runs) -> set[str]:
    return {run.info.run_id for run in runs.values()}


def studies() -> list:
    made = plan.make("tiny", tracked.params(), folds.read("tiny"))
    return [open_study(made.studies["ldep", fold].journal, "accuracy") for fold in range(3)]


def test_each_trial_of_the_first_fold_is_a_run_with_its_settings_and_its_score_as_numbers(client):
    inside = tracked.children(client, tracked.runs(client)["ldep"], "trial")
    trials = finished_trials(studies()[0])
    assert set(inside) == {f"fold 0, trial {number}" for number in range(3)}
    for number, trial in enumerate(trials):
        run = inside[f"fold 0, trial {number}"]
        assert run.info.status == "FINISHED"
        assert float(run.data.params["alpha"]) == trial.params["alpha"]
        assert float(run.data.params["log10_alpha"]) == pytest.approx(math.log10(trial.params["alpha"]), abs=1e-3)
        assert [int(run.data.params[name]) for name in ("r1", "r2")] == [trial.params["r1"], trial.params["r2"]]
        assert run.data.metrics["inner_score"] == np.mean(list(trial.intermediate_values.values()))
        assert run.data.metrics["inner_folds"] == len(trial.intermediate_values)
    assert "log10_r1" not in run.data.params  # choices
    best = max(run.data.metrics["inner_score"] for run in inside.values() if run.data.tags["state"] == "complete")
    [chosen] = [run for run in inside.values() if run.data.tags.get("chosen") == "yes"]
    assert chosen.data.metrics["inner_score"] == best


def test_each_fold_is_a_run_with_its_settings_and_its_scores(client):
    table = results.read("tiny")
    for model, run in tracked.runs(client).items():
        inside = tracked.children(client, run, "fold")
        assert set(inside) == {"fold 0", "fold 1", "fold 2"}
        for fold in range(3):
            rows = table.query(f"model == '{model}' and fold == {fold} and status == 'ok'").dropna(subset="value")
            child = inside[f"fold {fold}"]
            assert child.info.status == ("FINISHED" if len(rows) else "FAILED")
            assert child.data.params["classifier"] == model
            for metric, value in zip(rows["metric"], rows["value"]):
                assert child.data.metrics[metric] == value


def test_the_page_of_a_tuned_model_links_to_its_trials(client):
    runs = tracked.runs(client)
    assert "viewStateShareKey=trials.tiny.ldep&" in runs["ldep"].data.tags["mlflow.note.content"]
    assert "viewStateShareKey=trials" not in runs["svc"].data.tags["mlflow.note.content"]
    assert "mlflow.sharedViewState.trials.tiny.ldep" in client.get_experiment_by_name("suite").tags


def test_training_again_adds_no_run_inside_a_finished_one(client):
    before = {kind: ids(tracked.children(client, tracked.runs(client)["ldep"], kind)) for kind in ("fold", "trial")}
    train_again()
    assert {k: ids(tracked.children(client, tracked.runs(client)["ldep"], k)) for k in before} == before


def test_what_an_interruption_left_inside_a_run_is_removed(client):
    """A request that was repeated after an outage begins a run twice; a kill leaves a run and those inside it."""
    whole = tracked.runs(client)["svc"]
    experiment, tags = whole.info.experiment_id, whole.data.tags
    child = next(iter(tracked.children(client, whole, "fold").values()))
    twice = client.create_run(experiment, tags=child.data.tags)
    client.delete_run(whole.info.run_id)
    killed = client.create_run(experiment, tags=tags)
    done = client.create_run(experiment, tags={**child.data.tags, "mlflow.parentRunId": killed.info.run_id})
    client.set_terminated(done.info.run_id)
    theirs = client.create_run(experiment, tags={**child.data.tags, "ldep.owner": "x"})
    train_again()
    for run in (twice, killed, done):
        assert client.get_run(run.info.run_id).info.lifecycle_stage == "deleted"
    assert client.get_run(theirs.info.run_id).info.status == "RUNNING"
    client.delete_run(theirs.info.run_id)
    assert len(tracked.children(client, tracked.runs(client)["svc"], "fold")) == 3


@pytest.mark.parametrize(("asked", "fold_runs", "trial_runs"), [("none", 0, 0), ("all", 3, 9), ("first", 3, 3)])
def test_params_yaml_decides_and_finished_runs_follow(client, asked, fold_runs, trial_runs):
    before = tracked.runs(client)["ldep"].info.run_id
    train_again(folds=fold_runs > 0, trials=asked)
    run = tracked.runs(client)["ldep"]
    assert run.info.run_id == before
    assert len(tracked.children(client, run, "fold")) == fold_runs
    trials = tracked.children(client, run, "trial")
    assert len(trials) == trial_runs
    assert ("trials.tiny.ldep" in run.data.tags["mlflow.note.content"]) == (trial_runs > 0)
    if asked == "all":
        scores = [np.mean(list(trial.intermediate_values.values())) for study in studies() for trial in study.trials]
        assert sorted(trial.data.metrics["inner_score"] for trial in trials.values()) == sorted(scores)


def test_the_score_of_a_finished_run_follows_the_metric_that_decides(client, root):
    """An SVC is measured in the same way by both metrics, which choose no threshold: its run is not written again."""
    from ldep_pipeline.data.stage_files import Provenance
    from ldep_pipeline.tracking import tracker

    rows, before = load_training_data("tiny"), tracked.runs(client)["svc"]
    assert before.data.metrics["score"] == before.data.metrics["accuracy"]
    for metric in ("roc_auc", "accuracy"):
        checked = tracked.params().model_copy(update={"metric": metric, "models": ["svc"]})
        made = plan.make("tiny", checked, folds.read("tiny"))
        writer = tracker.Tracker(checked.tracking, made, rows, Provenance("file"), root)
        for fold in range(3):
            record = made.store.get(made.fits["svc", fold].key)
            writer.fit_finished("svc", fold, {**record, "tuning": {}}, stored=True)
        run = tracked.runs(client)["svc"]
        assert run.info.run_id == before.info.run_id
        assert run.data.metrics["score"] == run.data.metrics[metric]
        assert run.data.tags["metric"] == metric
