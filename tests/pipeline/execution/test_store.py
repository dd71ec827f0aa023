"""The store: what was written comes back, and anything that is damaged counts as missing."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.execution import results
from ldep_pipeline.execution.store import DECISIONS, Store
from ldep_pipeline.stages import train
from tests.support import tiny

KEY, OTHER = "ab" * 32, "cd" * 32
RECORD = {"status": "ok", "settings": {"C": float("inf")}, "metrics": {"accuracy": 0.1 + 0.2}}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path)
    store.put(KEY, RECORD, {".npy": b"numbers"})
    return store


def test_a_record_and_its_files_come_back(store):
    assert store.get(KEY) == RECORD
    assert store.read_file(KEY, ".npy") == b"numbers"
    assert store.read_file(KEY, ".skops") is None
    assert store.get(OTHER) is None


DAMAGE = [b"", b"{}", b"[]", b"null", b"{", b"\xff", b"[" * 10_000, b'{"record": {}, "files": {}, "checksum": ""}']


@pytest.mark.parametrize("content", DAMAGE)
def test_a_damaged_record_counts_as_missing_and_can_be_replaced(store, content, caplog):
    path = next(store.folder.rglob("*.json"))
    path.write_bytes(content)
    assert store.get(KEY) is None
    assert f"{path} or a file beside it is damaged" in caplog.text
    store.put(KEY, RECORD)
    assert store.get(KEY) == RECORD


@pytest.mark.parametrize("suffix", [".json", ".npy"])
def test_a_folder_in_the_place_of_a_file_counts_as_damage_and_is_replaced(store, suffix):
    path = next(store.folder.rglob(f"*{suffix}"))
    path.unlink()
    (path / "inner").mkdir(parents=True)
    assert store.get(KEY) is None
    store.put(KEY, RECORD, {".npy": b"numbers"})
    assert store.get(KEY) == RECORD


def test_a_changed_number_counts_as_missing(store):
    path = next(store.folder.rglob("*.json"))
    path.write_text(path.read_text().replace("0.3000", "0.4000"))
    assert store.get(KEY) is None


def test_a_record_of_another_key_counts_as_missing(store):
    store.put(OTHER, {"status": "ok"})
    shutil.copy(store.folder / f"{OTHER[:2]}/{OTHER}.json", store.folder / f"{KEY[:2]}/{KEY}.json")
    assert store.get(KEY) is None


@pytest.mark.parametrize("content", [None, b"", b"other"])
def test_with_a_damaged_file_the_record_counts_as_missing(store, content):
    path = next(store.folder.rglob("*.npy"))
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    assert store.get(KEY) is None


def test_a_damaged_store_heals_with_the_same_results(tmp_path, monkeypatch):
    """Every file of the store in turn: records of fits and studies, decision values, models and journals."""
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    train.run("tiny", tiny.checked())
    table, decisions = results.read("tiny"), results.read_decisions("tiny")
    files = sorted(path for path in Path(".ldep").rglob("*") if path.is_file() and path.suffix != ".lock")
    assert {path.suffix for path in files} == {".json", ".npy", ".skops", ".journal"}
    for number, path in enumerate(files):
        content = path.read_bytes()
        path.write_bytes([b"", b"{}\n", content[: len(content) // 2], b"garbage\n" + content][number % 4])
    train.run("tiny", tiny.checked())
    times = [column for column in results.COLUMNS if column.endswith("seconds")]
    pd.testing.assert_frame_equal(results.read("tiny").drop(columns=times), table.drop(columns=times))
    pd.testing.assert_frame_equal(results.read_decisions("tiny"), decisions)
    for path in files:
        if path.suffix == ".json":
            assert json.loads(path.read_text())["record"]


@pytest.mark.parametrize("values", [np.array([{}]), np.array(["text"]), np.array(0.5), None])
def test_decision_values_that_are_no_numbers_count_as_missing(tmp_path, values, caplog):
    content = io.BytesIO(b"no array at all")
    if values is not None:
        np.save(content, values, allow_pickle=True)
    store = Store(tmp_path)
    store.put(KEY, RECORD, {DECISIONS: content.getvalue()})
    assert store.get_fit(KEY) is None
    assert f"the decision values of fit {KEY} are no array of numbers" in caplog.text


def test_no_file_of_the_store_is_unpickled(tmp_path, monkeypatch):
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    train.run("tiny", tiny.checked(models=["svc"]))
    assert not [path for path in Path(".ldep").rglob("*") if path.is_file() and b"\x80\x04" in path.read_bytes()[:2]]

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("something was unpickled")

    monkeypatch.setattr("pickle.loads", refuse)
    monkeypatch.setattr("pickle.load", refuse)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    train.run("tiny", tiny.checked(models=["svc"], tracking={}))
