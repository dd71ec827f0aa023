"""Digests: of code by what it does, and sealed records, in which any change is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldep_pipeline.common.digests import seal, source_digest, unseal

CODE = '''"""A module."""
from dataclasses import dataclass


@dataclass
class Point:
    """A point."""

    x: float = 1.5
    """The first coordinate."""

    def moved(self, by: float) -> "Point":
        """Another point."""
        return Point(self.x + by)  # to the right


def name() -> str:
    return "point"
'''


def digest_of(folder: Path, code: str) -> str:
    (folder / "module.py").write_text(code)
    return source_digest(folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # to the right", ""),
        ('"""A module."""', '"""Another text,\n\nof several lines."""'),
        ('"""A module."""\n', ""),
        ('"""The first coordinate."""', '"""Where it is."""'),
        ('        """Another point."""\n', ""),
        ("Point(self.x + by)", "Point(\n            self.x + by,\n        )"),
        ('return "point"', "return 'point'"),
    ],
)
def test_comments_docstrings_and_layout_do_not_count(tmp_path, old, new):
    assert old in CODE
    assert digest_of(tmp_path, CODE.replace(old, new)) == digest_of(tmp_path, CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.5", "1.25"),
        ('return "point"', 'return "a point"'),
        ("self.x + by", "self.x - by"),
        ("@dataclass\n", "@dataclass(frozen=True)\n"),
        ("def moved", "def shifted"),
        ('return "point"\n', 'return "point"\n\n\n_X = 1\n'),
    ],
)
def test_everything_else_counts(tmp_path, old, new):
    assert old in CODE
    assert digest_of(tmp_path, CODE.replace(old, new)) != digest_of(tmp_path, CODE)


def test_the_name_of_a_file_and_a_new_file_count(tmp_path):
    before = digest_of(tmp_path, CODE)
    (tmp_path / "empty.py").touch()
    with_another = source_digest(tmp_path)
    (tmp_path / "empty.py").rename(tmp_path / "renamed.py")
    assert len({before, with_another, source_digest(tmp_path)}) == 3
    (tmp_path / "renamed.py").rename(tmp_path / "notes.txt")
    assert source_digest(tmp_path) == before


def test_subfolders_may_be_left_out(tmp_path):
    before = digest_of(tmp_path, CODE)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures/draw.py").write_text("COLOUR = 1\n")
    assert source_digest(tmp_path) != before
    assert source_digest(tmp_path, without=("pictures",)) == before


def test_code_of_another_version_of_python_counts_by_its_bytes(tmp_path):
    digests = {digest_of(tmp_path, code) for code in ("match x = 1", "match x = 1  # why")}
    assert len(digests) == 2


def test_a_room_that_does_not_exist_has_no_digest(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        source_digest(tmp_path / "nowhere")


def test_a_sealed_record_comes_back_and_any_change_is_noticed(tmp_path):
    path = tmp_path / "record.json"
    seal(path, "name", {"value": 0.1 + 0.2, "limit": float("inf")}, {"file": "digest"})
    assert unseal(path, "name") == ({"value": 0.1 + 0.2, "limit": float("inf")}, {"file": "digest"})
    text = path.read_text()
    for other in ("", "[]", "{}", text.replace("0.3", "0.4"), text.replace("digest", "another"), text[:-5], "[" * 9999):
        path.write_text(other)
        with pytest.raises(ValueError, match=r"."):
            unseal(path, "name")
    path.write_text(text)
    with pytest.raises(ValueError, match="checksum"):
        unseal(path, "another name")
