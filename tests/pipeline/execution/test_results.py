"""The reader of results: what it returns, and what it refuses, with the file, the row and the command to run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import check
from ldep_pipeline.execution import results
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.stages import train
from tests.support import reported, tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of two models on two folds of the data set `mine`."""
    reported.write(tmp_path, "mine", {"a": [0.75, 0.5], "b": [0.75, 0.5]})
    return tmp_path / "results"


def test_tables_of_several_data_sets_are_read_and_written_without_losing_a_digit(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        reported.write(tmp_path, name, {"svc": rng.random(40).tolist()})
    texts = [(tmp_path / f"results/{name}/results.csv").read_text() for name in ("one", "two")]
    tables = [results.read(name, tmp_path / "results") for name in ("one", "two")]
    results.write_table(pd.concat(tables, ignore_index=True), tmp_path / "all.csv")
    assert (tmp_path / "all.csv").read_text() == texts[0] + texts[1].partition("\n")[2]


def cut_in_the_middle(text: str) -> str:
    return text[: len(text) // 2]


def without_last_rows(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[: -len(METRICS)])


def without_fold_0(text: str) -> str:
    head, *rows = text.splitlines(keepends=True)
    return "".join([head, *(row for row in rows if ",0," not in row[:10])])


def header_only(text: str) -> str:
    return text.splitlines(keepends=True)[0]


def last_row_twice(text: str) -> str:
    return text + text.splitlines(keepends=True)[-1]


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


DAMAGE = [
    *(cut_in_the_middle, without_last_rows, without_fold_0, header_only, last_row_twice),
    replaced("model", "modell"),
    replaced("0.75", "0.76"),
    replaced("accuracy", "acuracy"),
    replaced(",ok,", ",fine,"),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_table_is_refused_with_the_command_that_makes_it_again(folder, damage):
    path = folder / "mine/results.csv"
    path.write_text(damage(path.read_text()))
    with pytest.raises(UserError, match="is not as `ldep train mine` wrote it; run `ldep train mine` again") as caught:
        results.read("mine", folder)
    assert str(path) in str(caught.value)


def test_a_table_of_another_data_set_is_refused(folder):
    (folder / "mine").rename(folder / "other")
    with pytest.raises(UserError, match=r"checksum does not match.*run `ldep train other` again"):
        results.read("other", folder)


def test_without_results_the_stage_to_run_is_named(tmp_path):
    with pytest.raises(UserError, match="is missing; run `ldep train mine` first, or `dvc repro`"):
        results.read("mine", tmp_path)


def test_results_with_other_metrics_are_refused(folder, monkeypatch):
    """Somebody has added a metric to the code since."""
    results.read("mine", folder)
    monkeypatch.setitem(METRICS, "mcc", METRICS["accuracy"])
    with pytest.raises(UserError, match=r"results\.csv was written by another version of the code.*`ldep train mine`"):
        results.read("mine", folder)


@pytest.mark.parametrize("content", [None, b"", b"PAR1"])
def test_decision_values_that_cannot_be_read_are_named_with_the_stage(trained, content):
    path = trained / "results/tiny/decisions.parquet"
    path.unlink() if content is None else path.write_bytes(content)
    problem = "is missing" if content is None else "is not as `ldep train tiny` wrote it"
    with pytest.raises(UserError, match=rf"decisions\.parquet {problem}.*run `ldep train tiny`"):
        results.read_decisions("tiny")


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's folder, after `ldep train tiny`."""
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    train.run("tiny", tiny.checked(models=["svc"]))
    return tmp_path


READERS = [results.read, results.read_decisions, results.read_curves, results.read_boundaries]


@pytest.mark.parametrize("reader", READERS)
def test_results_of_other_folds_are_refused(trained, reader):
    reader("tiny")
    folds = trained / "data/folds/tiny.csv"
    table = pd.read_csv(folds)
    table["fold"] = np.roll(table["fold"], 1)
    table.to_csv(folds, index=False)
    message = r"computed from another version of data/folds/tiny\.csv; run `ldep train tiny` again"
    with pytest.raises(UserError, match=message):
        reader("tiny")


@pytest.mark.parametrize("reader", READERS)
def test_results_of_other_data_are_refused(trained, reader):
    tiny.prepare(trained, missing=True)
    with pytest.raises(UserError, match=r"computed from another version of data/imputed/tiny\.parquet"):
        reader("tiny")


def test_a_table_that_lost_a_whole_model_is_refused(trained):
    train.run("tiny", tiny.checked(models=["svc", "ldep"]))
    path = Path("results/tiny/results.csv")
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(row for row in rows if not row.startswith("tiny,ldep,")))
    with pytest.raises(UserError, match="is not as `ldep train tiny` wrote it"):
        results.read("tiny")


def test_results_without_their_data_can_be_read(trained):
    shutil.rmtree("data")
    assert len(results.read("tiny")) == 3 * len(METRICS)


@pytest.mark.parametrize(
    "content", [None, "", "{", "[]", "{}", '{"inputs": {}, "settings": {}, "files": []}', "[" * 9999]
)
@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_manifest_is_named(trained, reader, content):
    path = Path("results/tiny/manifest.json")
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    with pytest.raises(UserError, match=r"manifest\.json (is missing|cannot be read).*run `ldep train tiny`"):
        reader("tiny")


def test_boundaries_of_an_earlier_run_do_not_stay(trained):
    assert results.read_boundaries("tiny")
    frame = pd.read_parquet("data/imputed/tiny.parquet")
    frame.insert(0, "third", range(len(frame)))
    frame.to_parquet("data/imputed/tiny.parquet", index=False)
    train.run("tiny", tiny.checked(models=["svc"]))
    assert results.read_boundaries("tiny") == {}


def test_results_of_other_settings_are_refused(trained):
    results.check_settings("tiny", tiny.checked())  # nothing is known of ldep: it was not trained
    values = tiny.values()
    values["classifiers"]["svc"]["params"] = {"C": 10.0}
    with pytest.raises(UserError, match=r"results/tiny: svc was trained with other settings"):
        results.check_settings("tiny", check(values))
