"""`ldep serve`: what it serves and refuses. `ldep ui`: the address that it prints, and what it starts."""

from __future__ import annotations

import os
import sys

import mlflow
import pytest

from ldep_pipeline.commands import serve
from ldep_pipeline.commands.main import main
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


def refusal(capsys, *arguments: str) -> str:
    """The sentence with which the command ends."""
    assert main(["serve", *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("ldep serve: ")


def test_what_is_served(registered_project, monkeypatch):
    monkeypatch.chdir(registered_project)
    assert serve.address("shop", None, None) == "models:/ldep-shop@champion"
    assert serve.address("shop", "challenger", None) == "models:/ldep-shop@challenger"
    assert serve.address("shop", None, 3) == "models:/ldep-shop/3"
    assert serve.address("models:/ldep-shop/3", None, None) == "models:/ldep-shop/3"
    with pytest.raises(UserError, match="models:/ldep-shop/3 names a version already; leave --alias and --version out"):
        serve.address("models:/ldep-shop/3", "champion", None)
    with pytest.raises(UserError, match=r"name the data set to serve: params\.yaml has shop, shop-baseline\."):
        serve.address(None, None, None)


def test_without_a_name_the_only_data_set_is_served(project, write_params):
    write_params()
    assert serve.address(None, None, None) == "models:/ldep-haberman@champion"


def test_an_address_that_others_can_reach_needs_tokens(registered_project, monkeypatch, capsys):
    monkeypatch.chdir(registered_project)
    message = refusal(capsys, "shop", "--host", "0.0.0.0", "--port", "0")
    assert message.startswith("other machines can reach 0.0.0.0, and anybody there could use the model: name a file")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shop", "--host", "203.0.113.7"], "this machine has no address 203.0.113.7; correct --host."),
        (["shop", "--port", "99999"], "port 99999 cannot be used: it must be from 0 to 65535; choose another one"),
        (["shop", "--port", "0", "--tokens", "none.txt"], "none.txt cannot be read: no such file or directory; "),
        (["shop", "--follow", "--version", "1"], "--follow needs an alias, and models:/ldep-shop/1 names one version."),
        (["shop", "--port", "0", "--log-id", "id"], "--log-id and --log-answers are about the log of requests; add"),
        (["models:/ldep-shop", "--port", "0"], "there is no model models:/ldep-shop: it must be models:/"),
        (["nothing", "--port", "0"], "there is no model models:/ldep-nothing@champion: "),
        (["shop", "--version", "99", "--port", "0"], "there is no model models:/ldep-shop/99: "),
        (["shop", "--alias", "none", "--port", "0"], "there is no model models:/ldep-shop@none: "),
    ],
)
def test_what_cannot_be_served_is_one_sentence(registered_project, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(registered_project)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert refusal(capsys, *arguments).startswith(message)


def test_a_registry_that_does_not_answer_is_one_sentence(project, monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{servers.free_port()}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    message = refusal(capsys, "models:/ldep-shop@champion", "--port", "0")
    assert message.startswith("models:/ldep-shop@champion cannot be read from http://127.0.0.1:")


@pytest.mark.parametrize(("option", "value"), [("--max-seconds", "61"), ("--max-body", "0"), ("--workers", "x")])
def test_a_limit_that_is_none_is_refused(option, value):
    with pytest.raises(SystemExit):
        main(["serve", "shop", option, value])


def test_clients_are_told_an_address_that_they_can_reach():
    assert serve._reached_at(("0.0.0.0", 5001)) == "127.0.0.1:5001"
    assert serve._reached_at(("::", 5001, 0, 0)) == "[::1]:5001"
    assert "Authorization: Bearer $TOKEN" in serve.curl({"a": 1}, "http://127.0.0.1:1/invocations", secured=True)
