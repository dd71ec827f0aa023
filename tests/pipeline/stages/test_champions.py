"""The life of a champion on a growing file: new rows, a worse challenger, a better one, a rollback, and its rollback.

A real server that follows the alias answers all the while, and the registry, the page and the history agree with it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
import requests
import yaml

from ldep_pipeline.commands.main import main
from ldep_pipeline.registry import rollback
from tests.support.servers import serving

MODELS = {
    "logistic": {"class": "sklearn.linear_model.LogisticRegression"},
    "stump": {"class": "sklearn.tree.DecisionTreeClassifier", "params": {"max_depth": 1}},
    "rbf": {"class": "sklearn.svm.SVC"},
}
MODEL, SECONDS = "ldep-mine", 120
pytestmark = pytest.mark.slow


def rows(count: int, seed: int = 5) -> pd.DataFrame:
    """A boundary with a curve: a line is good, an RBF kernel better, and a single threshold worse."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(5000, 3)).round(4), columns=list("abc"))
    noisy = frame["a"] + frame["b"] + 0.6 * (frame["c"] ** 2 - 1) + 0.4 * rng.normal(size=5000)
    return frame.assign(label=np.where(noisy > 0, "yes", "no"), id=range(5000))[:count]


def run_all(model: str, count: int) -> dict:
    """Make one model of the first rows; return the record of its registration."""
    rows(count).to_csv("data/own/mine.csv", index=False)
    values = yaml.safe_load(Path("params.yaml").read_text())
    Path("params.yaml").write_text(yaml.safe_dump({**values, "models": [model]}))
    for stage in ("fetch", "impute", "split", "train", "register", "report"):
        assert main([stage]) == 0
    return json.loads(Path("registry/mine.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("champions")
    (folder / "data/own").mkdir(parents=True)
    values = {
        "datasets": ["mine"],
        "own_data": {"mine": {"path": "data/own/mine.csv", "target": "label", "ignore": ["id"]}},
        "models": ["logistic"],
        "classifiers": MODELS,
        "execution": {"n_jobs": 1},
        "tracking": {"models": False},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(values))
    before = mlflow.get_tracking_uri()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield folder
    mlflow.set_tracking_uri(before)


def test_the_right_version_serves_and_the_history_tells_why(folder, capsys):
    assert run_all("logistic", 300)["champion"] == {"version": 1, "model": "logistic"}
    options = ("--follow", "--follow-seconds", "1", "--log-requests", "log.jsonl", "--log-id", "id", "--workers", "1")
    with serving(folder, "mine", *options) as (address, _):
        serves = checker(address, capsys)
        serves("1")
        record = run_all("logistic", 1300)
        assert (record["version"], record["decision"]) == (2, "champion")
        assert "its settings, fitted on these" in record["why"]
        serves("2")

        record = run_all("stump", 2300)
        assert (record["version"], record["decision"]) == (3, "challenger")
        assert "worse by more than a standard error" in record["why"]
        serves("2")

        record = run_all("rbf", 2300)
        assert (record["version"], record["decision"]) == (4, "champion")
        serves("4")

        assert main(["rollback", "mine", "--why", "answers too slowly"]) == 0
        assert main(["report"]) == 0
        serves("2")
        record = run_all("rbf", 2300)  # the same version again
        assert (record["version"], record["champion"]["version"]) == (4, 2)
        assert "answers too slowly" in record["why"]
        serves("2")

        assert main(["rollback", "mine", "--why", "fast enough on the new machine"]) == 0
        assert main(["report"]) == 0
        serves("4")
        evaluated_on_what_the_server_answered(address)

    events = [(event.what, event.version, event.instead_of) for event in rollback.read("mine").events]
    assert events == [
        ("registered", "1", ""),
        ("promoted", "1", ""),
        ("registered", "2", ""),
        ("promoted", "2", "1"),
        ("registered", "3", ""),
        ("kept as challenger", "3", "2"),
        ("registered", "4", ""),
        ("promoted", "4", "2"),
        ("rolled back", "2", "4"),
        ("rolled back", "4", "2"),
    ]
    capsys.readouterr()
    assert main(["history", "mine"]) == 0
    shown = capsys.readouterr().out
    for text in ("answers too slowly", "fast enough on the new machine", f"The champion of {MODEL} is version 4."):
        assert text in shown


def checker(address: str, capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Wait until the server answers with a version, and check that everything else names the same."""

    def serves(version: str) -> None:
        body = {"dataframe_records": [{"a": 0.1, "b": 0.2, "c": 0.3}]}
        until = time.monotonic() + SECONDS
        while True:
            answer = requests.post(f"{address}/invocations", json=body, timeout=60)
            assert answer.ok, answer.text
            if answer.headers["Ldep-Model-Version"] == version:
                break
            assert time.monotonic() < until, f"version {answer.headers['Ldep-Model-Version']} still answers"
            time.sleep(0.3)
        assert str(mlflow.MlflowClient().get_model_version_by_alias(MODEL, "champion").version) == version
        found = rollback.read("mine")
        assert (found.champion, found.is_unexplained) == (version, False)
        record = json.loads(Path("registry/mine.json").read_text())
        assert str(record["champion"]["version"]) == version
        if str(record["version"]) != version:
            assert f"answers with version {version} " in Path("report/mine.html").read_text()

    return serves


def evaluated_on_what_the_server_answered(address: str) -> None:
    """Ask about rows that no version has seen, and join the log with what happened to them later."""
    new = rows(2700).tail(400)
    records = new.drop(columns="label").to_dict(orient="records")
    answer = requests.post(f"{address}/invocations", json={"dataframe_records": records}, timeout=60)
    right = float(np.mean(np.array(answer.json()["predictions"]) == new["label"]))
    new[["id", "label"]].to_csv("outcomes.csv", index=False)
    uri = f"models:/{MODEL}@champion"
    options = ["--log", "log.jsonl", "--id", "id", "--json", "evaluation.json"]
    assert main(["evaluate", uri, "outcomes.csv", *options]) == 0
    found = json.loads(Path("evaluation.json").read_text())
    assert (found["rows"], found["version"]) == (400, "4")
    assert found["metrics"]["accuracy"]["value"] == pytest.approx(right)
    new.drop(columns=["id"]).assign(label=new["label"].to_numpy()[::-1]).to_csv("wrong.csv", index=False)
    assert main(["evaluate", uri, "wrong.csv"]) == 3
