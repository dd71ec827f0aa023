"""A tracking server that is shared: `make scale-test`. PostgreSQL, passwords, two pipelines at once, an outage."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import mlflow
import pytest
import requests
from mlflow.entities import Run, ViewType

from ldep_pipeline.common.digests import digest
from ldep_pipeline.execution import results
from tests.support import scale_project as project
from tests.support.shared_server import ADMIN, Server, running

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(1800)]
ANN, BEN = ("ann", "a-long-password-of-ann"), ("ben", "a-long-password-of-ben")
OUTAGE = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("server")) as server:
        for name, password in (ANN, BEN):
            server.call("users/create", username=name, password=password)
        yield server


@pytest.fixture
def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> mlflow.MlflowClient:
    for name, value in server.login(*ADMIN).items():
        monkeypatch.setenv(name, value)
    return mlflow.MlflowClient(server.url)


def runs(client: mlflow.MlflowClient, experiment: str) -> list[Run]:
    """The runs of models."""
    held = client.get_experiment_by_name(experiment)
    found = client.search_runs([held.experiment_id], run_view_type=ViewType.ALL)
    assert not [run for run in found if run.info.status == "RUNNING"]
    return [run for run in found if run.info.lifecycle_stage == "active" and "ldep.key" in run.data.tags]


def assert_whole(client: mlflow.MlflowClient, found: list[Run], folder: Path) -> None:
    """Each model of the table has one finished run, with every fold's value of every metric, and its files."""
    table = results.read("tiny", folder / "results")
    assert sorted(run.data.tags["model"] for run in found) == sorted(table["model"].unique())
    for run in found:
        assert run.info.status == "FINISHED"
        for metric, values in table[table["model"] == run.data.tags["model"]].groupby("metric")["value"]:
            steps = client.get_metric_history(run.info.run_id, f"fold/{metric}")
            assert [(s.step, s.value) for s in sorted(steps, key=lambda s: s.step)] == list(enumerate(values))
        assert "confusion.png" in {item.path for item in client.list_artifacts(run.info.run_id)}
        assert len(run.outputs.model_outputs) == 1


def prepared(folder: Path, experiment: str, **sections) -> Path:
    made = project.make(folder, **sections)
    text = (made / "params.yaml").read_text().replace("experiment: suite", f"experiment: {experiment}")
    (made / "params.yaml").write_text(text)
    for stage in ("fetch", "impute", "split"):
        code, said = project.finish(made, "ldep", stage)
        assert code == 0, said
    return made


def test_without_a_password_nothing_is_told(server):
    assert requests.post(f"{server.url}/api/2.0/mlflow/experiments/search", json={}, timeout=30).status_code == 401


def test_a_wrong_password_is_said_before_any_fit(server, tmp_path):
    folder = prepared(tmp_path, "wrong")
    code, said = project.finish(folder, "ldep", "train", **server.login(ANN[0], "not-the-password"))
    assert code == 1
    assert "401" in said
    assert "MLFLOW_TRACKING_PASSWORD" in said
    assert "not-the-password" not in said
    assert "Traceback" not in said
    assert not (folder / ".ldep/fits").exists()


def test_two_pipelines_at_once(server, client, tmp_path):
    """Both make the experiment and the registered model, whoever comes first; none disturbs the other."""
    folders = [prepared(tmp_path / name, "team") for name in ("ann", "ben")]
    # With the same seed they would be the same runs, and written once.
    text = (folders[1] / "params.yaml").read_text()
    (folders[1] / "params.yaml").write_text(text.replace("execution:\n  seed: 0", "execution:\n  seed: 1"))
    for stage in ("train", "register"):
        processes = [
            project.start(folder, "ldep", stage, **server.login(*user)) for folder, user in zip(folders, (ANN, BEN))
        ]
        for process in processes:
            said, _ = process.communicate()
            assert process.returncode == 0, said
    found = runs(client, "team")
    assert len(found) == 2 * 3
    for folder in folders:
        theirs = [run for run in found if run.data.tags["ldep.owner"] == owner_of(folder)]
        assert_whole(client, theirs, folder)
    versions = client.search_model_versions("name = 'ldep-tiny'")
    assert versions
    assert all("decision" in version.tags for version in versions)


def owner_of(folder: Path) -> str:
    return digest(platform.node(), str(folder.resolve()))[:12]


@pytest.fixture
def closed(server: Server) -> Iterator[Server]:
    """The same server, where only the maker of an experiment may write to it."""
    for others in ("READ", "EDIT"):
        server.stop()
        server.others = others
        server.start()
        if others == "READ":
            yield server


def test_who_may_only_read_is_told_so_before_any_fit(closed, client, tmp_path):
    client.create_experiment("of-the-admin")
    folder = prepared(tmp_path, "of-the-admin")
    code, said = project.finish(folder, "ldep", "train", **closed.login(*BEN))
    assert code == 1
    assert "cannot be used" in said
    assert "403" in said or "ermission" in said
    assert not (folder / ".ldep/fits").exists()


def test_a_server_that_is_gone_when_a_stage_begins_is_waited_for(server, client, tmp_path):
    folder = prepared(tmp_path, "restart")
    code, said = project.finish(folder, "ldep", "train", **server.login(*ANN))
    assert code == 0, said
    server.stop()
    process = project.start(folder, "ldep", "register", **server.login(*ANN))
    time.sleep(OUTAGE)
    server.start()
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert "does not answer; it did before" in said
    assert client.get_model_version_by_alias("ldep-tiny", "champion")


def test_a_server_that_is_gone_for_a_minute_loses_nothing(server, client, tmp_path):
    folder = prepared(tmp_path, "outage")
    process = project.start(folder, "ldep", "train", **server.login(*ANN))

    def outage() -> None:
        while not list((folder / ".ldep/fits").rglob("*.json")):
            time.sleep(0.05)
        server.stop()
        time.sleep(OUTAGE)
        server.start()

    thread = threading.Thread(target=outage)
    thread.start()
    said, _ = process.communicate()
    thread.join()
    assert process.returncode == 0, said
    assert_whole(client, runs(client, "outage"), folder)
