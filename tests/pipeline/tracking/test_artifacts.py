"""The files of a run: each writer in the list writes its own, and a new one needs nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldep_pipeline.data import folds
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.data.stage_files import Provenance
from ldep_pipeline.execution import plan
from ldep_pipeline.tracking import artifacts
from ldep_pipeline.tracking.run_content import RunRecord
from tests.support import tracked


@pytest.fixture
def record(root: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    monkeypatch.chdir(root)
    made = plan.make("tiny", tracked.params(), folds.read("tiny"))
    records = {fold: {**made.store.get(made.fits["svc", fold].key), "tuning": {}} for fold in range(3)}
    return RunRecord(made, "svc", records, load_training_data("tiny"), Provenance("file"))


@pytest.mark.parametrize(
    ("writer", "files"),
    [
        (artifacts.confusion, ["confusion.png"]),
        (artifacts.curves, ["precision_recall.png", "roc.png"]),
        (artifacts.boundary, ["boundary.png"]),
        (artifacts.studies, []),
    ],
)
def test_a_writer_writes_its_files(record, tmp_path, writer, files):
    assert writer in artifacts.WRITERS
    writer(record, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == files


def test_a_writer_in_the_list_is_all_that_a_new_artifact_needs(record, tmp_path, monkeypatch):
    def seconds(record: RunRecord, folder: Path) -> None:
        (folder / "seconds.txt").write_text(f"{record.seconds}")

    monkeypatch.setattr(artifacts, "WRITERS", (*artifacts.WRITERS, seconds))
    artifacts.write(record, tmp_path)
    written = {path.stem for path in tmp_path.iterdir()}
    assert written == {"boundary", "confusion", "precision_recall", "roc", "seconds"}
