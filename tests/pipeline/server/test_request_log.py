"""The log of requests: whole lines from many writers, a bounded size, and a reader that survives a torn line."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.server import request_log
from ldep_pipeline.server.request_log import RequestLog

COLUMNS = ["size", "größe"]


def frame(*rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*COLUMNS, "secret"], dtype=object)


def lines(path: Path) -> list[dict]:
    return [json.loads(line)["row"] for line in path.read_text().splitlines()]


def test_rows_are_appended_with_the_columns_of_the_model_only(tmp_path):
    log = RequestLog(tmp_path / "log.jsonl", 10_000)
    log.append(frame((1, "a\nb\ud800", "x"), (None, True, "y")), COLUMNS, "7")
    log.append(frame((10**400, float("nan"), "z")), COLUMNS, "7")
    assert lines(log.path)[:2] == [{"size": 1, "größe": "a\nb\ud800"}, {"size": None, "größe": True}]
    (rows,) = request_log.read(log.path, COLUMNS)
    assert rows["size"].tolist() == [1, None, 10**400]
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_a_line_says_when_and_which_version_answered_and_on_request_the_id_and_the_answer(tmp_path):
    log = RequestLog(tmp_path / "log.jsonl", 10_000, id="secret", answers=True)
    answer = {"class": "yes", "decision": 0.5, "probability": {"no": 0.4, "yes": 0.6}}
    log.append(frame((1, "a", "ticket-1")), COLUMNS, "7", [answer])
    log.append(frame((2, "b", "x")).drop(columns="secret"), COLUMNS, "8", [{"class": "no"}])
    RequestLog(log.path, 10_000).append(frame((3, "c", "x")), COLUMNS, "8")
    ((first, second, third),) = request_log.entries(log.path, COLUMNS)
    assert (first.id, first.version, first.answer) == ("ticket-1", "7", answer)
    assert (second.id, second.version, second.answer) == (None, "8", {"class": "no"})
    assert (third.id, third.answer, third.row) == (None, None, {"size": 3, "größe": "c"})
    assert abs(datetime.now(UTC) - datetime.fromisoformat(first.time)) < timedelta(minutes=10)


def test_a_full_log_is_renamed_and_the_older_one_replaced(tmp_path):
    log = RequestLog(tmp_path / "log.jsonl", 300)
    for number in range(20):
        log.append(frame((number, "x", "")), COLUMNS, "7")
        assert log.path.stat().st_size <= 300
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", "log.jsonl.1"]
    kept = lines(tmp_path / "log.jsonl.1") + lines(log.path)
    assert [row["size"] for row in kept] == list(range(20))[-len(kept) :]


def test_a_request_larger_than_the_log_is_cut(tmp_path):
    log = RequestLog(tmp_path / "log.jsonl", 400)
    log.append(frame(*((number, "x", "") for number in range(1000))), COLUMNS, "7")
    assert 0 < log.path.stat().st_size <= 400
    log.append(frame((1, "x" * 1000, "")), COLUMNS, "7")
    assert all(row["größe"] == "x" for row in lines(log.path))


def test_many_writers_never_mix_their_lines(tmp_path):
    log = RequestLog(tmp_path / "log.jsonl", 20_000)
    rows = [
        frame(*((writer, f"{request} {'x' * 50}", "") for _ in range(3)))
        for writer in range(8)
        for request in range(40)
    ]

    def append(batch: pd.DataFrame) -> None:
        log.append(batch, COLUMNS, "7")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(append, rows))
    batches = [lines(path) for path in (tmp_path / "log.jsonl.1", log.path)]
    for batch in batches:
        assert all(batch[start] == batch[start + 1] == batch[start + 2] for start in range(0, len(batch), 3))


def test_a_torn_line_and_foreign_lines_are_left_out_with_a_warning(tmp_path, caplog):
    log = RequestLog(tmp_path / "log.jsonl", 10_000)
    log.append(frame((1, "x", "")), COLUMNS, "7")
    with log.path.open("a") as file:
        file.write('{"size": 2, "grö')  # the process was killed here
    log.append(frame((3, "x", "")), COLUMNS, "7")
    with log.path.open("ab") as file:
        file.write(b'[]\n{"size": 4}\n{"time": "", "version": "7", "row": {"size": 4}}\n\xff\n')
        file.write(b"[" * 100_000 + b"\n")
        nested = {"time": "", "version": "7", "row": {"size": [1], "größe": 1}}
        file.write(json.dumps(nested).encode() + b'\n{"time": 1, "version": "7", "row": {"size": 1}}\n\n')
    (rows,) = request_log.read(log.path, COLUMNS)
    assert rows["size"].tolist() == [1, 3]
    assert "8 lines are not rows of this model" in caplog.text


def test_a_log_that_cannot_be_written_is_an_error_before_the_server_starts(tmp_path):
    with pytest.raises(UserError, match=r"must end with \.jsonl"):
        RequestLog(tmp_path / "rows.csv", 1).check()
    with pytest.raises(UserError, match="cannot be written: No such file or directory"):
        RequestLog(tmp_path / "none/log.jsonl", 1).check()
    with pytest.raises(UserError, match="no such file"):
        list(request_log.read(tmp_path / "none.jsonl", COLUMNS))
