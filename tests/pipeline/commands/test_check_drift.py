"""`ldep score --check`: a table, JSON, an exit code, and the log of a server as input."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from ldep_pipeline.commands import score
from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.server.request_log import RequestLog
from tests.support import registered

URI = f"models:/ldep-{registered.NAME}@champion"


def shifted(count: int) -> pd.DataFrame:
    frame = registered.rows(count, seed=5)
    frame["width"] += 1.5
    frame.loc[::3, "colour"] = "violet"
    return frame


def test_the_exit_code_and_the_table_say_what_moved(registered_project, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(registered_project)
    registered.rows(300, seed=5).to_csv(tmp_path / "same.csv", index=False)
    assert main(["score", URI, str(tmp_path / "same.csv"), "--check"]) == 0
    assert "No column moved." in capsys.readouterr().out
    shifted(300).to_csv(tmp_path / "moved.csv", index=False)
    options = ["--check", "--json", str(tmp_path / "drift.json")]
    assert main(["score", URI, str(tmp_path / "moved.csv"), str(tmp_path / "out.csv"), *options]) == 3
    printed = capsys.readouterr().out
    assert "300 rows, compared with the 150 rows of training" in printed
    assert "unseen values in 33.3% of the rows: violet" in printed
    assert "2 of 4 columns moved." in printed
    content = json.loads((tmp_path / "drift.json").read_text())
    assert content["moved"] == ["width", "colour"]
    assert len(pd.read_csv(tmp_path / "out.csv")) == 300


def test_every_format_and_the_log_of_requests_give_the_same_comparison(registered_project, tmp_path):
    frame = shifted(200).drop(columns="sold")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    rows = frame.astype(object).where(frame.notna(), None)
    RequestLog(tmp_path / "rows.jsonl", 10**6).append(rows, list(frame.columns), "1")
    results = [
        score.check_drift(URI, tmp_path / name, root=registered_project)
        for name in ("rows.csv", "rows.parquet", "rows.jsonl")
    ]
    assert results[0] == results[1] == results[2]
    assert {column.column for column in results[0]} == {"width", "colour"}


def test_what_cannot_be_compared_is_said(registered_project, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(registered_project)
    registered.rows(0).to_csv(tmp_path / "empty.csv", index=False)
    with pytest.raises(UserError, match="there are no rows to compare"):
        score.check_drift(URI, tmp_path / "empty.csv", root=registered_project)
    (tmp_path / "bad.csv").write_text("width,größe (cm),grade,colour\nwide,2,3,red\n")
    with pytest.raises(UserError, match=r"bad\.csv: line 2, column 'width': 'wide' is not a number"):
        score.check_drift(URI, tmp_path / "bad.csv", root=registered_project)
    assert main(["score", URI, str(tmp_path / "bad.csv")]) == 1
    assert "name the file to write (OUT), or add --check" in capsys.readouterr().err
    assert main(["score", URI, str(tmp_path / "bad.csv"), "out.csv", "--json", "x.json"]) == 1
    assert "add --check" in capsys.readouterr().err
