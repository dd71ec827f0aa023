"""`ldep inspect` and `ldep new`: from a file to a data set of params.yaml, without an editor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.commands.main import main
from ldep_pipeline.config import params

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    generator = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": [f"C{number}" for number in range(60)],
            "size": generator.normal(size=60).round(3),
            "nothing": np.nan,
            "label": np.where(np.arange(60) % 10 == 0, "rare", "usual"),
        }
    )
    table.to_csv(tmp_path / "mine.csv", index=False, sep=";", decimal=",")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_becomes_a_data_set(project, capsys):
    assert main(["new", "mine", "mine.csv", "--target", "label", "--suite", "quick"]) == 0
    values = params.load(project / "params.yaml")
    own = values.own_data["mine"]
    assert (own.path, own.delimiter, own.decimal) == ("data/own/mine.csv", ";", ",")
    assert own.ignore == []
    before = params.load(ROOT / "params.yaml")
    assert values.datasets == [*before.datasets, "mine"]
    assert values.of("mine").metric == "balanced_accuracy"
    assert values.of("mine").models == ["logistic", "ldep_cv", "extra_trees"]
    assert all(values.of(name) == values for name in before.datasets)  # nothing else has changed
    assert (values.metric, values.models) == (before.metric, before.models)
    assert "# Your own files" in (project / "params.yaml").read_text()
    assert "Next: dvc repro" in capsys.readouterr().out
    assert main(["fetch", "mine"]) == 0


def test_with_a_rare_class_tuning_may_choose_class_weights(project):
    assert main(["new", "mine", "mine.csv", "--target", "label", "--suite", "standard"]) == 0
    values = params.load(project / "params.yaml").of("mine")
    tuned = next(values.classifiers[model].ensemble or model for model in values.models if "ldep" in model)
    entry = values.classifiers[tuned]
    if entry.search:
        assert entry.search["class_weight"].choices == [None, "balanced"]
        assert {settings["class_weight"] for settings in entry.first} == {None, "balanced"}


def test_inspect_prints_the_profile_and_writes_it(project, capsys):
    assert main(["inspect", "mine.csv", "--json", "profile.json"]) == 0
    printed = capsys.readouterr().out
    assert "60 rows, 3 features; cells separated by ';', decimal sign ','" in printed
    assert "column 'id' is left out" in printed
    assert json.loads((project / "profile.json").read_text())["classes"] == {"rare": 6, "usual": 54}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new", "banana", "mine.csv", "--target", "label"], "the catalogue has a data set 'banana'"),
        (["new", "../x", "mine.csv", "--target", "label"], "cannot be the name of a data set"),
        (["new", "mine", "mine.csv", "--target", "lable"], "there is no target column 'lable'"),
        (["new", "mine", "absent.csv", "--target", "label"], "there is no such file"),
        (["new", "mine", "mine.csv", "--target", "size"], "classes of the target 'size' have a single row"),
        (["new", "mine", "mine.csv", "--target", "label", "--metric", "beauty"], "there is no metric 'beauty'"),
        (["inspect", "absent.csv"], "there is no such file"),
        (["inspect", "unlabelled.csv", "--target", "label"], "every cell of the target 'label' is empty"),
        (["new", "mine", "unlabelled.csv", "--target", "label"], "label"),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(project, capsys, arguments, message):
    before = (project / "params.yaml").read_text()
    Path("unlabelled.csv").write_text("size,label\n1,\n2,?\n")
    assert main(arguments) == 1
    assert message in capsys.readouterr().err
    assert (project / "params.yaml").read_text() == before


def test_a_different_file_of_the_same_name_is_not_overwritten(project, capsys):
    (project / "data/own").mkdir(parents=True)
    (project / "data/own/mine.csv").write_text("a,label\n1,x\n")
    assert main(["new", "mine", "mine.csv", "--target", "label"]) == 1
    assert "exists and differs" in capsys.readouterr().err
    assert (project / "data/own/mine.csv").read_text() == "a,label\n1,x\n"


def test_the_rows_can_be_split_by_a_column(project, capsys):
    table = pd.read_csv("mine.csv", sep=";", decimal=",").assign(customer=[f"c{row // 3}" for row in range(60)])
    table.to_csv("mine.csv", index=False)
    command = ["new", "mine", "mine.csv", "--target", "label", "--suite", "quick", "--group"]
    assert main([*command, "label"]) == 1
    assert "'label' is the target; split by another column" in capsys.readouterr().err
    assert main([*command, "customer"]) == 0
    split = params.load(project / "params.yaml").own_data["mine"].split
    assert split is not None
    assert split.group == "customer"
    assert main(["fetch", "mine"]) == main(["split", "mine"]) == 0
    assert "group" in pd.read_csv("data/folds/mine.csv")
