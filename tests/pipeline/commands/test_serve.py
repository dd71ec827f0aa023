"""`ldep ui`: the address that it prints, and what it starts."""

from __future__ import annotations

import os
import sys

import mlflow
import pytest

from ldep_pipeline.commands import serve
from ldep_pipeline.common.errors import UserError
from tests.support import servers


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """What the process would become."""
    calls: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda _path, command, environment: calls.append((command, environment)))
    return calls


def test_the_address_leads_to_the_grouped_runs_and_the_server_is_small(trained_project, started, capsys):
    serve.run_ui("ldep", 5987)
    experiment = mlflow.MlflowClient().get_experiment_by_name("ldep")
    expected = f"http://127.0.0.1:5987/#/experiments/{experiment.experiment_id}/runs?viewStateShareKey=by-dataset"
    assert f"Open {expected}&workflowType=machine_learning" in capsys.readouterr().out
    [(command, environment)] = started
    assert command[1:4] == ["-m", "mlflow", "ui"]
    assert {"--no-serve-artifacts", "--workers"} <= set(command)
    assert environment["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] == "false"
    assert environment["MLFLOW_BACKEND_STORE_URI"].endswith("/mlflow.db")
    assert "mlflow.db" not in " ".join(command)  # a store may be named with a password


def test_a_store_without_runs_is_an_error(trained_project, started):
    with pytest.raises(UserError, match="has no experiment 'other' yet; run `ldep train`"):
        serve.run_ui("other", 5987)
    assert not started


def test_a_folder_without_a_store_is_an_error(project, started, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(UserError, match=r"mlflow\.db does not exist"):
        serve.run_ui("ldep", 5987)


def test_a_tracking_server_has_its_own_ui(trained_project, started, monkeypatch, capsys):
    port = servers.free_port()
    database = f"sqlite:///{trained_project}/mlflow.db"
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", database, "--workers", "1"]
    with servers.started(trained_project, port, [*command, "--port", str(port)]) as (url, _):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        serve.run_ui("ldep", 5987)
    assert f"The tracking server has its own UI. Open {url}/#/experiments/" in capsys.readouterr().out
    assert not started


def test_the_password_of_a_server_is_not_printed():
    assert serve._without_user("https://me:secret@example.org:8080/mlflow") == "https://example.org:8080/mlflow"
