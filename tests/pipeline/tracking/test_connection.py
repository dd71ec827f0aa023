"""The tracking store: which one is used, how its experiment is set up, and what is reported when it cannot be used."""

from __future__ import annotations

import json
import shutil
import socket

import pytest

from ldep_pipeline.common.digests import digest
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.compat import mlflow_ui
from ldep_pipeline.stages import train
from ldep_pipeline.tracking import connection, experiment_page
from tests.support import tracked


def saved_state(experiment, view: str) -> dict:
    return json.loads(json.loads(experiment.tags[mlflow_ui.VIEW + view])["state"])


def test_the_experiment_has_a_note_and_views_that_are_not_overwritten(client, root):
    experiment = client.get_experiment_by_name("suite")
    assert "one model on one data set" in experiment.tags["mlflow.note.content"]
    for view, tag in (("by-dataset", "dataset"), ("by-model", "model")):
        assert f"viewStateShareKey={view}" in experiment.tags["mlflow.note.content"]
        state = saved_state(experiment, view)
        assert state["groupBy"]["groupByKeys"] == [{"mode": "tag", "groupByData": tag}]
        logged = tracked.runs(client)["ldep"].data.metrics
        metrics = [column for column in state["selectedColumns"] if column.startswith("metrics.")]
        assert all(column.removeprefix("metrics.").strip("`") in logged for column in metrics)
        assert state["orderByKey"] == metrics[0] == "metrics.`score`"
        assert set(state["selectedColumns"]) <= set(state["columnOrder"])
        found = client.search_runs([experiment.experiment_id], state["searchFilter"])
        assert {run.info.run_id for run in found} == {run.info.run_id for run in tracked.runs(client).values()}
    client.set_experiment_tag(experiment.experiment_id, "mlflow.note.content", "mine")
    connection.connect("suite", root)
    again = client.get_experiment_by_name("suite")
    assert again.tags["mlflow.note.content"] == "mine"
    assert again.tags["mlflow.sharedViewState.by-dataset"] == experiment.tags["mlflow.sharedViewState.by-dataset"]


@pytest.mark.parametrize(("metric", "ascending"), [("accuracy", False), ("log_loss", True)])
def test_a_data_set_has_views_that_follow_its_own_metric(client, metric, ascending):
    number = client.get_experiment_by_name("suite").experiment_id
    experiment_page.describe_dataset(client, number, "other", metric)
    experiment = client.get_experiment_by_name("suite")
    state = saved_state(experiment, "models.other")
    assert (state["orderByKey"], state["orderByAsc"]) == (f"metrics.`{metric}`", ascending)
    charts = {chart["type"]: chart for chart in state["compareRunCharts"]}
    assert charts["SCATTER"]["yaxis"]["key"] == metric
    assert charts["LINE"]["metricKey"] == f"fold/{metric}"
    assert saved_state(experiment, "models.tiny")["orderByKey"] == "metrics.`accuracy`"
    folds = client.search_runs([number], saved_state(experiment, "folds.tiny")["searchFilter"])
    assert {run.data.tags["ldep.kind"] for run in folds} == {"fold"}


def test_the_given_store_is_used(client, tmp_path, monkeypatch, root):
    shutil.copy(root / "mlflow.db", tmp_path / "other.db")  # its tables are made: that takes five seconds
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/other.db")
    given = connection.connect("elsewhere", root)
    assert given.client.get_experiment(given.experiment).artifact_location == f"file://{tmp_path}/mlartifacts"
    assert client.get_experiment_by_name("elsewhere") is None


def test_a_damaged_note_of_the_stores_that_answered_is_written_anew(client, root):
    note = root / ".ldep/answered"
    note.write_bytes(b"\xc4\x00 is no text")
    connection.connect("suite", root)
    assert note.read_text() == digest(connection.store_uri(root))


@pytest.mark.parametrize("answers", [False, True])
def test_a_server_that_cannot_be_reached_is_reported_before_any_work(root, tmp_path, monkeypatch, answers):
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
            train.run("tiny", tracked.params())
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
            assert ("does not answer now; it did before" in caplog.text) == known
            assert "secret" not in caplog.text


def test_a_deleted_experiment_is_reported_with_the_command_that_restores_it(client, root):
    experiment = client.create_experiment("gone", artifact_location=(root / "gone").as_uri())
    client.delete_experiment(experiment)
    with pytest.raises(UserError, match=f"mlflow experiments restore -x {experiment}"):
        train.run("tiny", tracked.params(experiment="gone"))


def test_a_database_that_cannot_be_made_is_reported(root, monkeypatch):
    monkeypatch.chdir(root)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////proc/none/mlflow.db")
    with pytest.raises(UserError, match="cannot be used"):
        train.run("tiny", tracked.params())
