"""Editing params.yaml: the values change, and every comment stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import params
from ldep_pipeline.data import catalogue

ROOT = Path(__file__).parents[3]


@pytest.fixture
def file(tmp_path):
    copy = tmp_path / "params.yaml"
    copy.write_text((ROOT / "params.yaml").read_text())
    return copy


def comments(path: Path) -> list[str]:
    return re.findall(r"(?:^|\s)#.*", path.read_text())


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("tuning.trials=50", 50),
        ("metric=roc_auc", "roc_auc"),
        ("execution.n_jobs=2", 2),
        ("models=[ldep]", ["ldep"]),
        ("classifiers.ldep_paper.budget.seconds=100", 100),
        ("classifiers.ldep.trials=50", 50),
        ("own_data.mine={path: data/own/mine.csv, target: label}", {"path": "data/own/mine.csv", "target": "label"}),
        ("classifiers.extra={class: sklearn.svm.SVC}", {"class": "sklearn.svm.SVC"}),
        ("classifiers.ldep.first=[{r1: 1, r2: 1, alpha: 1.0e-8, penalty: norm}]", None),
        ("register.candidates=[ldep, mlp]", ["ldep", "mlp"]),
        (f"datasets=[{','.join(catalogue.load())}]", list(catalogue.load())),
    ],
)
def test_the_value_changes_and_every_comment_stays(file, assignment, value):
    before = yaml.safe_load(file.read_text())
    old_comments = comments(file)
    key, new = params.assignment(assignment)
    params.set_values({key: new}, file)
    assert comments(file) == old_comments
    after = yaml.safe_load(file.read_text())
    place = after
    for part in key:
        place = place[part]
    assert place == (new if value is None else value)
    unchanged = [section for section in before if section != key[0]]
    assert [after[section] for section in unchanged] == [before[section] for section in unchanged]
    assert max(map(len, file.read_text().splitlines())) <= 120


def test_several_values_are_set_at_once_and_back_again(file):
    original = yaml.safe_load(file.read_text())
    params.set_values(params.assignments(["datasets=[banana, wdbc]", "own_data.a={path: a.csv, target: t}"]), file)
    params.set_values({("own_data", "b"): {"path": "b.csv", "target": "t"}, ("datasets",): ["a", "b"]}, file)
    assert list(params.load(file).own_data) == ["a", "b"]
    params.set_values({("own_data",): {}, ("datasets",): original["datasets"]}, file)
    assert yaml.safe_load(file.read_text()) == original


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (["tuning.trials"], "not of the form KEY=VALUE"),
        (["=1"], "not of the form KEY=VALUE"),
        (["models=[ldep"], "not valid YAML"),
        (["models=[no_such]"], "'no_such' is not one of classifiers"),
        (["tuning.nothing=1"], "unknown key 'tuning.nothing'"),
        (["nothing.at.all=1"], "unknown key 'nothing'"),
        (["tuning.trials=1", "tuning.trials=2"], "set twice"),
    ],
)
def test_a_wrong_assignment_is_one_sentence_and_changes_nothing(file, assignments, message):
    before = file.read_text()
    with pytest.raises(UserError, match=re.escape(message)):
        params.set_values(params.assignments(assignments), file)
    assert file.read_text() == before
