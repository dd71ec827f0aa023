"""The journal of a study: what Optuna wrote comes back, up to the first line that is damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from ldep_pipeline.fitting.study import Journal

ENTRIES = [{"op_code": number, "values": [0.1 + 0.2, float("inf"), None], "text": "ä"} for number in range(4)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "folder/study.journal"
    journal = Journal(path)
    journal.append_logs(ENTRIES[:1])
    journal.append_logs(ENTRIES[1:])
    assert journal.read_logs(0) == ENTRIES
    return path


def test_entries_come_back_from_any_number_on(path):
    journal = Journal(path)
    assert journal.read_logs(0) == ENTRIES
    assert journal.read_logs(3) == ENTRIES[3:]
    assert journal.read_logs(4) == []


def changed_number(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[1].replace(b"0.3000", b"0.4000"), *lines[2:]]


def garbage_line(lines: list[bytes]) -> list[bytes]:
    return [lines[0], b"\xff{garbage\n", *lines[1:]]


def valid_json_of_another_shape(lines: list[bytes]) -> list[bytes]:
    return [lines[0], b"{}\n", *lines[1:]]


def deep_nesting(lines: list[bytes]) -> list[bytes]:
    return [lines[0], b"[" * 10_000 + b"\n", *lines[1:]]


def line_left_out(lines: list[bytes]) -> list[bytes]:
    return [lines[0], *lines[2:]]


def line_twice(lines: list[bytes]) -> list[bytes]:
    return [lines[0], *lines]


def cut_within_a_line(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[1][:-3]]


def cut_before_the_line_ends(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[1][:-1]]


DAMAGE = [
    changed_number,
    garbage_line,
    valid_json_of_another_shape,
    deep_nesting,
    line_left_out,
    line_twice,
    cut_within_a_line,
    cut_before_the_line_ends,
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_entries_before_the_first_damaged_line_are_kept(path, damage, caplog):
    path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
    journal = Journal(path)
    assert journal.read_logs(0) == ENTRIES[:1]
    assert "is damaged from line 2 on" in caplog.text
    journal.append_logs(ENTRIES[1:])
    assert Journal(path).read_logs(0) == ENTRIES


def test_the_journal_of_another_study_counts_as_damaged(path, caplog):
    """With its trials a study would choose settings for other rows."""
    other = path.rename(path.with_name("another.journal"))
    assert Journal(other).read_logs(0) == []
    assert "another.journal is damaged from line 1 on" in caplog.text


def test_optuna_reads_the_file_with_its_own_backend(tmp_path):
    """The journals are artifacts in MLflow, where people may open them without this package."""
    path = tmp_path / "study.journal"
    study = optuna.create_study(storage=JournalStorage(Journal(path)), study_name="mine", direction="maximize")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert all("checksum" in json.loads(line) for line in path.read_text().splitlines())
    storage = JournalStorage(JournalFileBackend(str(path)))
    loaded = optuna.load_study(storage=storage, study_name="mine")
    assert [trial.params for trial in loaded.trials] == [trial.params for trial in study.trials]


def test_lines_are_forced_to_the_disk_once_per_trial(tmp_path, monkeypatch):
    """That is slow, and only a power cut needs it. A kill loses no line, whether it was forced or not."""
    path = tmp_path / "study.journal"
    sizes = []
    monkeypatch.setattr("os.fsync", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
    study = optuna.create_study(storage=JournalStorage(Journal(path)), study_name="mine")
    for outcome in (1.0, None):
        trial = study.ask()
        trial.suggest_float("x", 0, 1)
        trial.report(0.5, step=0)
        on_disk = len(sizes)
        study.tell(trial, outcome, state=TrialState.COMPLETE if outcome else TrialState.FAIL)
        assert len(sizes) == on_disk + 1
        assert sizes[-1] == path.stat().st_size
    assert len(sizes) == 2
