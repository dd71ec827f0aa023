"""Columns of prose through every stage: from an own file to the answer of a server."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import requests

from ldep_pipeline.commands import explore, export, score
from ldep_pipeline.common.errors import UserError
from tests.support import registered, servers, tickets
from tests.support.own_project import make

LDEP = {"class": "ldep.LDEPClassifier", "params": {"r1": 1, "r2": 1, "alpha": 1.0, "n_init": 1, "max_iter": 20}}
MODEL = "models:/ldep-mine@champion"


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    frame = tickets.table(300, 2).rename(columns={tickets.TARGET: "kind"})
    frame.insert(0, "ticket", [f"T-{number:05d}" for number in range(len(frame))])
    return make(tmp_path_factory.mktemp("texts"), frame, {"ldep": LDEP})


def test_the_words_of_texts_decide(project):
    profile = json.loads((project / "data/profile/mine.json").read_text())
    assert {column["name"]: column["kind"] for column in profile["columns"] if column["drop"] is None} == {
        "subject": "text",
        "body": "text",
    }
    results = pd.read_csv(project / "results/mine/results.csv")
    assert results.loc[results["metric"] == "accuracy", "value"].mean() > 0.9


def test_a_file_is_scored_and_explained_by_words(project, tmp_path):
    new = tickets.table(200, 2, seed=1)
    new.assign(ticket="T").to_csv(tmp_path / "new.csv", index=False)
    with registered.inside(project):
        score.run(MODEL, tmp_path / "new.csv", tmp_path / "scored.csv", explain=True)
    scored = pd.read_csv(tmp_path / "scored.csv")
    assert (scored["class"] == new[tickets.TARGET]).mean() > 0.9
    assert "invoic…" in " ".join(scored["words_of_body"].fillna(""))


def test_the_examination_names_words(project):
    record = json.loads((project / "registry/mine.json").read_text())["examination"]
    assert record["problems"] == []
    assert all(name.startswith(("body ‘", "subject ‘")) for name in record["importance"]["words"])
    assert sum(record["importance"]["words"].values()) <= 1.0
    for row in record["rows"]["typical"]:
        assert "in the text" in {item["value"] for item in row["columns"]}
        total = sum(item["part"] for item in row["columns"]) + row["rest"]
        assert total == pytest.approx(row["margin"] - row["start"], abs=1e-9)


def test_a_server_answers_texts(project):
    body = "My invoice was charged twice, please send a corrected INVOICE."
    rows = [
        {"subject": "Question", "body": body},
        {"subject": None, "body": 5},
        {"subject": "", "body": "🙂" * 100_000},
    ]
    with servers.serving(project, "mine") as (address, _):
        sent = {"dataframe_records": rows, "params": {"output": "full"}}
        answers = requests.post(f"{address}/invocations", json=sent, timeout=60).json()["predictions"]
        wrong = requests.post(f"{address}/invocations", json={"instances": [{"subject": [1], "body": ""}]}, timeout=60)
    assert answers[0]["class"] == "billing"
    assert "invoic…" in answers[0]["explanation"]["words"]["body"]
    assert [answer["explanation"]["words"]["body"] for answer in answers[1:]] == [{}, {}]
    assert wrong.status_code == 400
    assert "'subject'" in wrong.json()["message"]


def test_a_model_of_texts_is_exported_as_onnx_only(project, tmp_path):
    with registered.inside(project):
        export.run(MODEL, tmp_path / "model.onnx")
        with pytest.raises(UserError, match="The column 'subject' is a text, which only ONNX can read"):
            export.run(MODEL, tmp_path / "model.h")
        with pytest.raises(UserError, match="cannot be explored: The column 'subject' is a text"):
            explore.run(MODEL, tmp_path / "model.html")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
