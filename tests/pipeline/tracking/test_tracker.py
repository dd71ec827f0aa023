"""What stands in MLflow after training, and that it stands there once. A real SQLite store, made once a module."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.entities import ViewType
from mlflow.utils import requirements_utils

from pipeline.common.digests import digest
from pipeline.common.errors import UserError
from pipeline.data.provenance import Provenance
from pipeline.execution import plan, results
from pipeline.execution.inputs import load_training_data
from pipeline.stages import train
from pipeline.tracking import connection, report_run, tracker
from tests.support import tiny


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained and tracked set, with one model that fails on a fold."""
    folder = tmp_path_factory.mktemp("tracked")
    tiny.prepare(folder, rows=91)
    (folder / "data/provenance").mkdir()
    (folder / "data/provenance/tiny.json").write_text(json.dumps({"source": "file", "file": "tiny.csv"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setenv("DVC_STAGE", "train@tiny")
        with pytest.raises(train.ModelsFailed):
            train.run("tiny", params())
    return folder


def params(**tracked):
    classifiers = {
        **tiny.values()["classifiers"],
        "bad": {"class": "tests.support.tiny.FailsOnFold", "params": {"rows": 60}},
    }
    return tiny.checked(models=["svc", "ldep", "committee", "bad"], classifiers=classifiers,
                        tracking={"experiment": "suite", **tracked})  # fmt: skip


@pytest.fixture
def client(root: Path, monkeypatch: pytest.MonkeyPatch) -> mlflow.MlflowClient:
    monkeypatch.chdir(root)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    mlflow.set_tracking_uri(f"sqlite:///{root}/mlflow.db")
    return mlflow.MlflowClient()


def runs(client: mlflow.MlflowClient) -> dict[str, mlflow.entities.Run]:
    experiment = client.get_experiment_by_name("suite")
    found = client.search_runs([experiment.experiment_id], run_view_type=ViewType.ACTIVE_ONLY)
    named = {run.data.tags["model"]: run for run in found}
    assert len(named) == len(found)
    return named


def test_one_run_a_model_with_a_name_tags_and_a_text(client):
    held = runs(client)
    assert set(held) == {"svc", "ldep", "committee", "bad"}
    run = held["ldep"]
    assert run.info.run_name == "tiny · ldep"
    assert run.info.status == "FINISHED"
    for tag, value in {"dataset": "tiny", "model": "ldep", "source": "file", "dvc.stage": "train@tiny"}.items():
        assert run.data.tags[tag] == value
    assert run.data.tags["commit"]
    assert run.data.tags["dvc.md5.folds"] == hashlib.md5(Path("data/folds/tiny.csv").read_bytes()).hexdigest()
    assert len(run.data.tags["ldep.key"]) == 64
    assert run.data.tags["mlflow.source.name"] == "ldep train tiny"


def test_the_text_of_a_run_says_what_was_measured_and_what_the_folds_chose(client):
    text = runs(client)["ldep"].data.tags["mlflow.note.content"]
    assert "91 rows, 2 features" in text
    table = results.read("tiny").query("model == 'ldep' and metric == 'accuracy'")
    assert f"Accuracy **{100 * table['value'].mean():.1f} ± {100 * table['value'].std(ddof=1):.1f} %**" in text
    for _, row in table.iterrows():
        line = next(line for line in text.splitlines() if line.startswith(f"| {row['fold']} |"))
        assert f"{row['value']:.4f}" in line
        assert f"{json.loads(row['settings'])['alpha']:.4g}" in line


def test_the_duration_of_a_run_is_that_of_tuning_fitting_and_predicting(client):
    table = results.read("tiny").query("model == 'ldep' and metric == 'accuracy'")
    info = runs(client)["ldep"].info
    work = table[["tune_seconds", "fit_seconds", "predict_seconds"]].to_numpy().sum()
    writing = 30  # seconds, at most
    assert work <= (info.end_time - info.start_time) / 1000 + 0.01 < work + writing


def test_the_experiment_has_a_note_and_views_that_are_not_overwritten(client, root):
    experiment = client.get_experiment_by_name("suite")
    assert "one model on one data set" in experiment.tags["mlflow.note.content"]
    for view, tag in (("by-dataset", "dataset"), ("by-model", "model")):
        assert f"viewStateShareKey={view}" in experiment.tags["mlflow.note.content"]
        held = json.loads(experiment.tags[f"mlflow.sharedViewState.{view}"])
        state = json.loads(held["state"])
        assert state["groupBy"]["groupByKeys"] == [{"mode": "tag", "groupByData": tag}]
        logged = runs(client)["ldep"].data.metrics
        assert all(column.removeprefix("metrics.").strip("`") in logged for column in state["selectedColumns"])
    client.set_experiment_tag(experiment.experiment_id, "mlflow.note.content", "mine")
    connection.connect("suite", root)
    assert client.get_experiment_by_name("suite").tags["mlflow.note.content"] == "mine"


def test_the_numbers_are_those_of_the_table(client):
    table = results.read("tiny").query("model == 'ldep'")
    run = runs(client)["ldep"]
    for metric, values in table.groupby("metric")["value"]:
        assert run.data.metrics[metric] == pytest.approx(values.mean())
        assert run.data.metrics[f"{metric}_std"] == pytest.approx(values.std(ddof=1))
        steps = client.get_metric_history(run.info.run_id, f"fold/{metric}")
        assert [(step.step, step.value) for step in sorted(steps, key=lambda s: s.step)] == list(enumerate(values))
    assert run.data.metrics["f1_micro"] == run.data.metrics["accuracy"]
    for name in ("fit_seconds", "fit_cpu_seconds", "predict_seconds", "objective", "iterations", "tune_seconds"):
        assert run.data.metrics[name] > 0
    curve = client.get_metric_history(run.info.run_id, "curve/objective")
    assert 1 < len(curve) <= 40


def test_settings_are_parameters_and_show_where_folds_differ(client):
    held = runs(client)["ldep"].data.params
    assert held["n_init"] == "1"
    chosen = [json.loads(s)["alpha"] for s in results.read("tiny").query("model == 'ldep'")["settings"].unique()]
    assert all(f"{value:.4g}" in held["alpha"] for value in chosen)


def test_set_and_model_are_parameters_for_the_compare_page(client):
    for model, run in runs(client).items():
        assert (run.data.params["classifier"], run.data.params["dataset"]) == (model, "tiny")


def test_the_data_set_is_an_input_with_its_digest(client):
    inputs = runs(client)["svc"].inputs.dataset_inputs
    assert [held.dataset.name for held in inputs] == ["tiny"]
    assert len(inputs[0].dataset.digest) == 8
    assert json.loads(inputs[0].dataset.profile) == {"num_rows": 91, "num_elements": 182}


def test_pictures_and_journals_are_artifacts(client):
    held = runs(client)
    names = {item.path for item in client.list_artifacts(held["svc"].info.run_id)}
    assert {"confusion.png", "boundary.png"} <= names
    study = {Path(item.path).name for item in client.list_artifacts(held["ldep"].info.run_id, "optuna")}
    assert study >= {"history.png", "fold0.journal", "fold1.journal", "fold2.journal"}
    assert "optuna" not in {Path(item.path).name for item in client.list_artifacts(held["committee"].info.run_id)}


@pytest.mark.parametrize("model", ["svc", "ldep", "committee"])
def test_the_fitted_pipeline_loads_and_predicts_by_column_name(client, root, model):
    output = runs(client)[model].outputs.model_outputs[0]
    logged = client.get_logged_model(output.model_id)
    assert logged.name == f"tiny-{model}"
    loaded = mlflow.pyfunc.load_model(f"models:/{logged.model_id}")
    assert [column.name for column in loaded.metadata.get_input_schema()] == tiny.COLUMNS
    assert loaded.input_example is not None
    frame = pd.read_parquet("data/imputed/tiny.parquet")
    fold = pd.read_csv("data/folds/tiny.csv")["fold"] == 0
    predicted = loaded.predict(frame.loc[fold, tiny.COLUMNS[::-1]])
    accuracy = results.read("tiny").query(f"model == '{model}' and fold == 0 and metric == 'accuracy'")["value"].item()
    assert np.mean(predicted == frame.loc[fold, "label"].astype(str)) == accuracy


def test_models_of_one_class_hold_other_types_and_one_that_cannot_be_stored_is_a_warning(tmp_path, monkeypatch, caplog):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    tiny.prepare(tmp_path)
    mlp = {"class": "sklearn.neural_network.MLPClassifier", "params": {"hidden_layer_sizes": [2], "max_iter": 5}}
    classifiers = {
        "first": {**mlp, "params": {**mlp["params"], "solver": "lbfgs"}},
        "second": {**mlp, "params": {**mlp["params"], "solver": "adam"}},  # holds its optimizer
        "odd": {"class": "tests.support.tiny.Unstorable"},
    }
    values = tiny.checked(models=list(classifiers), classifiers=classifiers, tracking={"experiment": "suite"})
    train.run("tiny", values, tmp_path)
    table = results.read("tiny", tmp_path / "results").query("model == 'odd' and fold == 0")
    assert set(table["message"]) == {"no model kept: TypeError: it holds a generator"}
    held = runs(mlflow.MlflowClient())
    assert {model: len(run.outputs.model_outputs) for model, run in held.items()} == {"first": 1, "second": 1, "odd": 0}
    assert {run.info.status for run in held.values()} == {"FINISHED"}


def test_a_logged_model_names_the_versions_it_was_made_with(client):
    [logged] = client.search_logged_models(["1"], filter_string="name = 'tiny-svc'")
    needed = mlflow.artifacts.load_text(f"{logged.artifact_location}/requirements.txt").split()
    assert {f"{name}=={metadata.version(name)}" for name in ("mlflow", "scikit-learn", "skops")} <= set(needed)
    # A table of MLflow's that was out of the way meanwhile is back: whoever logs models in this process needs it.
    assert requirements_utils._MODULES_TO_PACKAGES != {}


def test_a_logged_model_carries_its_code(client, root, tmp_path):
    """Loaded where ldep cannot be imported otherwise."""
    output = runs(client)["ldep"].outputs.model_outputs[0]
    source = client.get_logged_model(output.model_id).artifact_location.removeprefix("file://")
    shutil.copytree(source, tmp_path / "model")
    code = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
sys.path = [path for path in sys.path if "editable" not in path.lower()]
import mlflow, pandas as pd
model = mlflow.pyfunc.load_model("model")
import ldep
assert "/model/code/" in ldep.__file__, ldep.__file__
print(model.predict(pd.DataFrame({"left": [0.0], "right": [1.0]}))[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("yes", "no")


def test_a_model_that_failed_on_a_fold_is_a_failed_run_with_its_message(client):
    run = runs(client)["bad"]
    assert run.info.status == "FAILED"
    assert run.data.metrics["failed_folds"] == 1
    assert "60 rows are too many" in run.data.tags["mlflow.note.content"]


def test_training_again_adds_no_run_and_replaces_the_failed_one(client):
    before = runs(client)
    with pytest.raises(train.ModelsFailed):
        train.run("tiny", params())
    after = runs(client)
    for model in ("svc", "ldep", "committee"):
        assert after[model].info.run_id == before[model].info.run_id
    assert after["bad"].info.run_id != before["bad"].info.run_id


def test_a_run_that_was_cut_off_is_removed_and_written_again(client):
    whole = runs(client)["svc"]
    cut = client.create_run(whole.info.experiment_id, tags=whole.data.tags)
    theirs = client.create_run(whole.info.experiment_id, tags={**whole.data.tags, "ldep.owner": "x", "model": "theirs"})
    client.delete_run(whole.info.run_id)
    with pytest.raises(train.ModelsFailed):
        train.run("tiny", params())
    held = runs(client)
    assert held["svc"].info.run_id not in (cut.info.run_id, whole.info.run_id)
    assert held["svc"].info.status == "FINISHED"
    assert client.get_run(cut.info.run_id).info.status == "KILLED"
    assert held["theirs"].info.run_id == theirs.info.run_id  # another's run on the same server is not ours to remove
    client.delete_run(theirs.info.run_id)


def test_the_commits_of_a_report_are_those_of_this_project(client, root, monkeypatch):
    reports = report_run.ReportRuns(params().tracking, root)
    ours = reports.training_commits(["tiny"])
    assert ours == [runs(client)["svc"].data.tags["commit"]]
    tags = {**runs(client)["svc"].data.tags, "ldep.owner": "x", "commit": "theirs"}
    theirs = client.create_run(reports.experiment, tags=tags).info.run_id
    client.set_terminated(theirs)
    assert reports.training_commits(["tiny"]) == ours
    client.delete_run(theirs)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    reports.client = mlflow.MlflowClient("http://127.0.0.1:9")  # nothing listens there
    with pytest.raises(UserError, match="the tracked runs could not be read: "):
        reports.training_commits(["tiny"])


def test_the_logged_model_of_a_removed_run_is_removed_too(client):
    experiment = client.get_experiment_by_name("suite").experiment_id
    live = {run.info.run_id for run in runs(client).values()}
    for model in client.search_logged_models([experiment]):
        assert model.source_run_id in live or client.get_run(model.source_run_id).info.status == "FINISHED"


def test_the_given_store_is_used(client, tmp_path, monkeypatch, root):
    shutil.copy(root / "mlflow.db", tmp_path / "other.db")  # its tables are made: that takes five seconds
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/other.db")
    given, experiment = connection.connect("elsewhere", root)
    assert given.get_experiment(experiment).artifact_location == f"file://{tmp_path}/mlartifacts"
    assert client.get_experiment_by_name("elsewhere") is None


@pytest.mark.parametrize("answers", [False, True])
def test_a_server_that_cannot_be_reached_is_said_before_any_work(root, tmp_path, monkeypatch, answers):
    """A port that refuses, and one that accepts and never answers."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        if answers:
            listening.listen()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        before = {path: path.stat().st_mtime_ns for path in (root / ".ldep/fits").rglob("*")}
        with pytest.raises(UserError, match=rf"the tracking store {url} cannot be used: .*MLFLOW_TRACKING_URI"):
            train.run("tiny", params())
    assert {path: path.stat().st_mtime_ns for path in (root / ".ldep/fits").rglob("*")} == before


def test_a_server_that_answered_before_is_waited_for(root, monkeypatch, caplog):
    monkeypatch.chdir(root)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")  # waited for, but not long
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://ann:secret@127.0.0.1:{closed.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        for known in (False, True):
            (root / ".ldep/answered").write_text(digest(url) if known else digest("another"))
            caplog.clear()
            with pytest.raises(UserError, match="cannot be used"):
                connection.connect("suite", root)
            assert ("does not answer; it did before" in caplog.text) == known
            assert "secret" not in caplog.text


def test_what_another_pipeline_finished_meanwhile_is_not_written_again(client, root):
    """Both begin before either has written; the second finds the run of the first."""
    checked = params()
    rows = load_training_data("tiny")
    plans = [plan.make("tiny", checked, 3) for _ in range(2)]
    trackers = [tracker.Tracker(checked.tracking, made, rows, Provenance("file"), root) for made in plans]
    whole = runs(client)["svc"]
    client.delete_run(whole.info.run_id)
    for each, made in zip(trackers, plans):
        each._existing = set()
        for fold in range(3):
            record = made.store.get(made.fits["svc", fold].key)
            each.fit_finished("svc", fold, {**record, "tuning": {}}, stored=True)
    assert client.get_run(whole.info.run_id).info.lifecycle_stage == "deleted"
    experiment = client.get_experiment_by_name("suite").experiment_id
    assert len(client.search_runs([experiment], f"tags.`ldep.key` = '{plans[0].key('svc')}'")) == 1


def test_a_deleted_experiment_is_said_with_the_command_that_restores_it(client, root):
    experiment = client.create_experiment("gone", artifact_location=(root / "gone").as_uri())
    client.delete_experiment(experiment)
    with pytest.raises(UserError, match=f"mlflow experiments restore -x {experiment}"):
        train.run("tiny", params(experiment="gone"))


def test_a_database_that_cannot_be_made_is_said(root, monkeypatch):
    monkeypatch.chdir(root)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////proc/none/mlflow.db")
    with pytest.raises(UserError, match="cannot be used"):
        train.run("tiny", params())
