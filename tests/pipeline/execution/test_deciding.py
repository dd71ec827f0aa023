"""What decides the output of a stage for one data set: code, versions and its own settings, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldep_pipeline.config import params
from ldep_pipeline.execution.code_graph import CodeGraph
from ldep_pipeline.execution.deciding import STAGES, Deciding
from ldep_pipeline.stages import check
from tests.support import tiny

DECIDING = Deciding(None)


def values(one: dict | None = None, two: dict | None = None, **sections) -> params.Params:
    own = {"one": {"path": "one.csv", "target": "label", **(one or {})}}
    own["two"] = {"path": "two.csv", "target": "label", **(two or {})}
    return tiny.checked(datasets=["one", "two"], own_data=own, **sections)


def changed(before: params.Params, after: params.Params) -> set[tuple[str, str]]:
    """The stages and data sets for which something else decides."""
    return {
        (stage, name)
        for stage in STAGES
        for name in after.datasets
        if name not in before.datasets or DECIDING.of(stage, name, before) != DECIDING.of(stage, name, after)
    }


@pytest.mark.parametrize(
    ("own", "stages"),
    [
        ({"metric": "f1"}, {"train", "register", "report"}),
        ({"models": ["svc"]}, {"train", "register"}),
        ({"classifiers": {"ldep": {"trials": 9}}}, {"train", "register"}),
        ({"tuning": {"folds": 4}}, {"train", "register"}),
        ({"split": {"folds": 4}}, {"split"}),
        ({"split": {"group": "customer"}}, {"fetch"}),
        ({"impute": {"strategy": "median"}}, {"impute", "train", "register"}),
        ({"register": {"margin": 0.1}}, {"register"}),
        ({"ignore": ["x"]}, {"fetch"}),
    ],
)
def test_a_setting_of_a_data_set_concerns_its_own_stages_alone(own, stages):
    assert changed(values(), values(two=own)) == {(stage, "two") for stage in stages}


def test_a_further_data_set_concerns_only_the_report_of_the_others():
    before = values()
    after = before.model_copy(update={"datasets": ["one", "two", "banana"]})
    assert {(stage, name) for stage, name in changed(before, after) if name != "banana"} == {
        ("report", "one"),
        ("report", "two"),
    }


def test_what_does_not_decide_does_not_count():
    quick = values(execution={"n_jobs": 2}, tracking={"enabled": False, "experiment": "other"}, data={"timeout": 3})
    assert changed(values(), quick) == set()


def test_the_file_of_a_data_set_counts_by_its_content(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text("x,label\n1,a\n")
    before = {name: DECIDING.of("fetch", name, values()) for name in ("one", "two")}
    Path("one.csv").write_text("x,label\n2,a\n")
    after = {name: DECIDING.of("fetch", name, values()) for name in ("one", "two")}
    assert {name for name in before if before[name] != after[name]} == {"one"}


def test_check_writes_a_file_per_stage_and_data_set_and_leaves_those_that_are_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)
    check.run()
    files = {str(path.relative_to("data/decides")) for path in Path("data/decides").rglob("*.json")}
    assert files == {f"{stage}/tiny.json" for stage in STAGES}
    times = {path: path.stat().st_mtime_ns for path in Path("data/decides").rglob("*.json")}
    check.run()
    assert {path: path.stat().st_mtime_ns for path in Path("data/decides").rglob("*.json")} == times
    Path("data/decides/train/old.json").write_text("{}")
    Path("data/decides/split/tiny.json").write_text("{}")
    check.run()
    assert not Path("data/decides/train/old.json").exists()
    assert json.loads(Path("data/decides/split/tiny.json").read_text())["settings"]["split"]["folds"] == 5


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b'{"x": 3}'])
def test_what_was_remembered_of_the_code_is_repaired_if_it_is_damaged(tmp_path, content):
    known = tmp_path / "code.json"
    known.write_bytes(content)
    assert Deciding(known).code("split") == DECIDING.code("split")
    assert CodeGraph(known).rooms(["ldep_pipeline.stages.split"])
    assert known.read_bytes() != content
