"""`ldep evaluate`: metrics on what really happened, against the promise; from a file, a log, or without outcomes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from ldep_pipeline.commands import evaluate, measured, outcomes
from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data.tables import Layout
from ldep_pipeline.registry import download
from ldep_pipeline.server.request_log import RequestLog
from ldep_pipeline.stages import register
from tests.support import registered

URI = f"models:/{registered.MODEL}@champion"


@pytest.fixture
def rows() -> pd.DataFrame:
    return registered.rows(400, seed=3)


@pytest.fixture
def inside(registered_project, monkeypatch):
    monkeypatch.chdir(registered_project)
    monkeypatch.setattr(measured, "DRAWS", 40)
    monkeypatch.setattr(measured, "FEWEST_DRAWS", 40)


@pytest.fixture
def source(inside, rows, tmp_path):
    rows.to_csv(tmp_path / "rows.csv", index=False, sep=";", decimal=",")
    return tmp_path / "rows.csv"


def test_the_promise_is_that_of_the_cross_validation_and_signed_with_the_model(inside):
    origin = download.open_model(URI).origin
    record = json.loads(Path(f"registry/{registered.NAME}.json").read_text())
    assert (origin.target, origin.metric, origin.folds, origin.rows) == ("sold", "accuracy", 3, 150)
    assert origin.promised["accuracy"].mean == record["metrics"]["accuracy"]
    assert 0 < origin.promised["accuracy"].standard_error < 0.2


def test_every_metric_and_class_is_measured_with_an_interval(source, rows, tmp_path, ldep):
    code, shown, _ = ldep("evaluate", URI, str(source), "--json", str(tmp_path / "out.json"))
    assert code == 0
    answers = download.load(URI).predict(rows.drop(columns="sold"))
    right = np.mean(np.array(answers) == rows["sold"])
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["metrics"]["accuracy"]["value"] == pytest.approx(right)
    low, high = found["metrics"]["accuracy"]["interval"]
    assert low < right < high
    assert found["actual"] == rows["sold"].value_counts().to_dict()
    assert found["recall"]["no"]["value"] == pytest.approx(np.mean(np.array(answers)[rows["sold"] == "no"] == "no"))
    assert set(found["metrics"]) >= {"balanced_accuracy", "f1", "roc_auc", "log_loss"}
    assert (found["rows"], found["version"], found["verdict"]["is_missed"]) == (400, "1", False)
    assert "Balanced accuracy" in shown
    assert "yes, sold" in shown
    assert "the promise is kept" in shown
    assert evaluate.run(URI, source).to_json() == found


def test_a_missed_promise_has_exit_code_3(source, rows, ldep):
    rng = np.random.default_rng(1)
    rows["sold"] = rng.permutation(rows["sold"])
    rows.to_csv(source, index=False)
    code, shown, _ = ldep("evaluate", URI, str(source))
    assert code == 3
    assert "the promise is missed" in shown


def test_rows_without_an_outcome_are_left_out_and_counted(source, rows):
    expected = evaluate.run(URI, source)
    extra = rows.head(7).assign(sold=None)
    pd.concat([rows, extra]).to_csv(source, index=False)
    result = evaluate.run(URI, source)
    assert "7 rows have no outcome and are left out." in result.known.remarks
    assert result.measurement == expected.measurement


def without_target(rows):
    return rows.drop(columns="sold")


def of_another_class(rows):
    rows.loc[4, "sold"] = "perhaps"
    return rows


def never_an_outcome(rows):
    return rows.assign(sold=None)


def no_row(rows):
    return rows.head(0)


def without_a_feature(rows):
    return rows.drop(columns="grade")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (without_target, "has no column 'sold' with what really happened; .*--target, or add --estimate"),
        (of_another_class, "line 6, column 'sold': 'perhaps' is none of the model's classes: no, yes, sold"),
        (never_an_outcome, "no row has a value in the column 'sold'"),
        (no_row, "there are no rows"),
        (without_a_feature, "has no column 'grade'"),
    ],
)
def test_what_cannot_be_measured_is_said(source, rows, change, sentence):
    change(rows).to_csv(source, index=False)
    with pytest.raises(UserError, match=sentence):
        evaluate.run(URI, source)


def spelled(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows, with other spellings of the same categories, among them one that no training row has."""
    rows[column] = [
        (str(cell), str(cell).upper(), f" {cell}  ")[row % 3] for row, cell in enumerate(rows[column].tolist())
    ]
    return rows


def test_a_class_is_spelled_as_in_training_if_spellings_are_merged(source, rows, trained_project, monkeypatch):
    monkeypatch.setattr(measured, "DRAWS", 40)
    values = yaml.safe_load(Path("params.yaml").read_text())
    values["own_data"][registered.NAME] |= {"merge": ["sold"], "split": {"folds": 3}}
    Path("params.yaml").write_text(yaml.safe_dump(values, allow_unicode=True))
    register.run(registered.NAME, registered.with_candidates("ldep"))
    expected = evaluate.run(URI, source)
    assert expected.known.by == "rows"  # another number of folds is no split by a column
    spelled(rows, "sold").to_csv(source, index=False)
    assert evaluate.run(URI, source).measurement == expected.measurement
    rows.rename(columns={"sold": "what happened"}).to_csv(source, index=False)
    assert evaluate.run(URI, source, target="what happened").measurement == expected.measurement


def test_other_spellings_are_no_classes_if_none_are_merged(source, rows):
    spelled(rows, "sold").to_csv(source, index=False)
    with pytest.raises(UserError, match=r"line 3, column 'sold': '[A-Z, ]*' is none of the model's classes"):
        evaluate.run(URI, source)


def test_another_column_may_have_the_outcomes(source, rows):
    expected = evaluate.run(URI, source)
    rows.rename(columns={"sold": "what happened"}).to_csv(source, index=False)
    assert evaluate.run(URI, source, target="what happened").measurement == expected.measurement


@pytest.fixture
def log(rows, tmp_path):
    """A log of version 1 and of another version, in which three rows were answered twice and two have no id."""
    logged = rows.drop(columns="sold").astype(object).where(rows.drop(columns="sold").notna(), None)
    logged["ticket"] = [None, None, *range(2, len(rows))]
    log = RequestLog(tmp_path / "requests.jsonl", 10**7, id="ticket")
    columns = [name for name in logged.columns if name != "ticket"]
    wrong = logged.iloc[10:13].assign(width=99.0)
    for part, version in ((wrong, "1"), (logged, "1"), (logged.iloc[:50], "2")):
        log.append(part, columns, version)
    return log.path


@pytest.fixture
def happened(rows, tmp_path):
    table = pd.DataFrame({"number": range(len(rows)), "sold": rows["sold"]}).drop(index=range(390, 400))
    table.to_csv(tmp_path / "outcomes.csv", index=False)
    return tmp_path / "outcomes.csv"


def test_logged_answers_are_joined_with_outcomes_by_their_id(source, rows, log, happened):
    result = evaluate.run(URI, happened, log=log, id_="number")
    rows.iloc[2:390].to_csv(source, index=False)
    assert result.measurement == evaluate.run(URI, source).measurement
    assert result.known.remarks[1:] == [
        "50 rows that another version than 1 answered are left out.",
        "2 logged rows without an id are left out.",
        "3 answers to an id that was answered again later are left out.",
        "10 answered ids have no outcome yet.",
        f"2 ids of {happened} are not in the log.",
    ]


def test_ids_that_repeat_or_match_nothing_are_refused(inside, log, happened):
    good = happened.read_text()
    happened.write_text(good + "17,no\n")
    with pytest.raises(UserError, match=r"line 392, column 'number': the id '17' is there a second time"):
        evaluate.run(URI, happened, log=log, id_="number")
    happened.write_text(good + ",no\n")
    with pytest.raises(UserError, match="the id is missing"):
        evaluate.run(URI, happened, log=log, id_="number")
    happened.write_text("number,sold\nx1,no\n")
    with pytest.raises(UserError, match=r"no id of .*, such as 'x1', is in .*, which has ids such as '2'"):
        evaluate.run(URI, happened, log=log, id_="number")
    log.write_text("")
    with pytest.raises(UserError, match="there are no answered rows"):
        evaluate.run(URI, happened, log=log, id_="number")


def test_an_estimate_needs_no_outcomes_and_says_what_it_assumes(source, rows, log, ldep):
    truth = evaluate.run(URI, source).measurement.metrics["accuracy"].value
    rows.drop(columns="sold").to_csv(source, index=False)
    estimated = evaluate.run(URI, source, is_estimate=True)
    value = estimated.measurement.metrics["accuracy"]
    assert value.interval[0] < value.value < value.interval[1]
    assert abs(value.value - truth) < 0.1
    assert "calibration_error" not in estimated.measurement.metrics
    assert sum(estimated.measurement.actual.values()) == pytest.approx(400)
    shown = ldep("evaluate", URI, str(source), "--estimate")[1]
    assert "This is an estimate without outcomes. It assumes that the model's probabilities are right" in shown
    assert "The estimated accuracy is" in shown
    of_log = evaluate.run(URI, log, is_estimate=True)
    assert len(of_log.known.answers) == 403


def test_options_that_do_not_belong_together_are_refused(inside, capsys):
    assert main(["evaluate", URI, "rows.csv", "--log", "requests.jsonl"]) == 1
    assert "--log and --id belong together" in capsys.readouterr().err
    assert main(["evaluate", URI, "rows.csv", "--estimate", "--target", "sold"]) == 1
    assert "--estimate needs no outcomes" in capsys.readouterr().err
    assert main(["evaluate", f"models:/{registered.MODEL}/9", "rows.csv"]) == 1
    assert "there is no model" in capsys.readouterr().err


def test_groups_and_blocks_in_time_are_drawn_if_the_folds_kept_them_together(inside, source, rows):
    opened = download.open_model(URI)
    grouped = rows.assign(shop=[f"shop {row // 8}" for row in range(len(rows))])
    grouped.to_csv(source, index=False)

    def known(split: str, merged: tuple[str, ...] = ()) -> outcomes.Known:
        origin = replace(opened.origin, split=split, split_column="shop", merged=list(merged))
        return outcomes.from_file(opened.model, origin, source, "sold", Layout())

    by_group, by_time = known("group"), known("time")
    assert (by_group.by, len(np.unique(by_group.answers.clusters))) == ("group", 50)
    assert (by_time.by, len(np.unique(by_time.answers.clusters))) == ("time", measured.BLOCKS)
    assert np.all(np.diff(by_time.answers.clusters) >= 0)
    spelled(grouped, "shop").to_csv(source, index=False)
    merged = known("group", merged=("shop",))
    np.testing.assert_array_equal(merged.answers.clusters, by_group.answers.clusters)
    rows.to_csv(source, index=False)
    without = known("group")
    assert (without.by, without.answers.clusters) == ("rows", None)
    assert "has no column 'shop' with the groups: the intervals take rows as independent" in without.remarks[-1]
