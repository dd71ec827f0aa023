"""The page of one data set: what is on it, for every kind of data set, and nothing that is empty."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.report import drawing
from ldep_pipeline.report.figures import dataset as figures
from ldep_pipeline.report.figures import of_section
from ldep_pipeline.report.report_data import DatasetReport
from ldep_pipeline.report.sections import SECTIONS, dataset_page, entry_page, leaderboard, summary, winner
from tests.support import own_reported

OF_BOTH = ("summary", "failures")  # kinds of pages
VALUES = {"ldep": [0.9, 0.8, 0.9], "rbf_svc": [0.7, 0.8, 0.7], "odd": [0.5, None, 0.5]}
PROFILE = {
    "rows": 300,
    "repeated": 2,
    "warnings": ["column 'size': odd.", "2 rows repeat an earlier row."],
    "columns": [
        {
            "name": "size",
            "kind": "number",
            "missing": 90,
            "distinct": 9,
            "example": "3.5",
            "treatment": "used as it is",
        },
        {
            "name": "id",
            "kind": "nominal",
            "missing": 0,
            "distinct": 300,
            "example": "C1",
            "drop": "it numbers the rows",
        },
    ],
}


def render(report, tmp_path) -> str:
    page = dataset_page(report)
    drawn = {picture.name: drawing.save(picture.drawing, picture.name, tmp_path, tmp_path) for picture in page.pictures}
    return page.html(drawn, {"Time": "now"})


def check(text: str) -> None:
    """No empty table or section, no number that is none, nothing from the network, every link has its target."""
    assert not re.search(r"<tbody>\s*</tbody>|\bnan\b|± 0\.0|\bNone\b|p = ", text)
    assert not re.search(r"<link|<img|src=|@import|url\(\s*['\"]?http", text)
    assert not re.search(r"<section>(<h2[^>]*>[^<]*</h2>)?\s*</section>", text)
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(ids)


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_a_complete_page(tmp_path, n_classes):
    report = own_reported.report(
        VALUES,
        n_classes,
        record=own_reported.record(),
        profile=PROFILE,
        example={"size": 3, "colour": "it's"},
        sets=own_reported.sets(n_classes),
        grouped=[own_reported.grouped(n_classes)],
    )
    text = render(report, tmp_path)
    check(text)
    for section in SECTIONS:
        assert (f'href="#{section.anchor}"' in text) is (section.shows is DatasetReport or section.anchor in OF_BOTH)
    for figure in ("folds", "roc", "precision_recall", "calibration", "importance", "learning_curve"):
        assert f'<figure id="{figure}"' in text
    assert "<b>colour</b>" not in text
    assert "no luck" in text
    assert "column &#39;size&#39;: odd." not in text  # the table says it


@pytest.mark.parametrize(
    "fields",
    [
        {"scores": {}, "probabilities": {}},
        {"record": own_reported.record(registered=None, examination={"problems": ["fit on fold 0: ValueError: bad"]})},
        {"metric": own_reported.LOG_LOSS},
    ],
)
def test_what_is_not_known_is_left_out(tmp_path, fields):
    text = render(own_reported.report(VALUES, **fields), tmp_path)
    check(text)
    assert "ldep register mine" in text  # it is not registered yet


def test_a_data_set_on_which_every_model_failed_has_a_page(tmp_path):
    text = render(own_reported.report({"ldep": [None, None]}, scores={}, probabilities={}), tmp_path)
    check(text)
    assert "No model has a result on every fold" in text


def test_one_model_has_nothing_to_be_compared_with(tmp_path):
    text = render(own_reported.report({"ldep": [1.0, 1.0]}), tmp_path)
    check(text)
    assert 'id="comparison"' not in text
    assert "interval" not in summary.dataset_findings(own_reported.report({"ldep": [1.0, 1.0]}))[0]


def test_curves_are_about_the_rarer_of_two_classes_and_about_each_of_several():
    two = own_reported.report({"ldep": [0.9], "svc": [0.8]})
    assert two.positive == "<b>"
    assert [curve.model for curve in figures.curves(two, "roc")] == ["ldep", "svc"]
    assert all(0.8 < curve.value < 1 for curve in figures.curves(two, "roc"))
    three = own_reported.report({"ldep": [0.9], "svc": [0.8]}, 3)
    assert [(curve.label, curve.model) for curve in figures.curves(three, "roc")] == [
        ("<a>", "ldep"),
        ("<b>", "ldep"),
        ("<c>", "ldep"),
    ]


@pytest.mark.parametrize(("kind", "metric"), [("roc", "roc_auc"), ("precision_recall", "average_precision")])
def test_the_number_of_a_curve_is_that_of_the_table_or_the_caption_says_whose_it_is(kind, metric):
    """The mean of the folds and the area of all rows together differ."""
    two = own_reported.report({"ldep": [0.3, 0.5], "svc": [0.2, 0.4]}, metric=METRICS[metric])
    means = {scores.model: scores.mean for scores in two.leaderboard}
    assert {curve.model: curve.value for curve in figures.curves(two, kind)} == means
    three = own_reported.report({"ldep": [0.9]}, 3)
    captions = [[picture.caption for picture in of_section("curves", report)] for report in (two, three)]
    assert all("the numbers are those of the leaderboard, the means over the folds" in text for text in captions[0])
    assert all("A curve and its number are those of the rows of all folds together" in text for text in captions[1])


def test_families_with_another_budget_of_tuning_are_named_beside_the_table():
    report = own_reported.report({"ldep": [0.9, 0.8], "svc": [0.8, 0.9], "logistic": [0.8, 0.8]})
    tuned = report.results["model"] == "ldep"
    same = own_reported.report(VALUES, results=own_reported.results(VALUES, "accuracy").assign(trials=20))
    other = replace(report, results=report.results.assign(trials=np.where(tuned, 20, 0)))
    [sentence] = [
        text for text in map(str, leaderboard.of_dataset.blocks(other)) if "did not get the same budget" in text
    ]
    assert "svc" in sentence
    assert "Logistic regression" in sentence
    assert not any("did not get the same budget" in text for text in map(str, leaderboard.of_dataset.blocks(same)))


def test_rows_that_no_fold_tests_are_left_out_of_the_curves_and_of_the_matrix():
    report = own_reported.report({"ldep": [0.9]})
    scores = report.scores["ldep"].copy()
    scores[:100] = np.nan
    part = own_reported.report({"ldep": [0.9]}, scores={"ldep": scores})
    assert part.confusion.sum() == 200
    assert len(figures.curves(part, "roc")) == 1


def test_the_threshold_moves_the_confusion_matrix():
    plain = own_reported.report({"ldep": [0.9]})
    values = {"threshold": -1.0, "metric_at_threshold": 0.8, "metric_at_default": 0.75}
    of_rows = {"thresholds": {"ldep": np.full(len(plain.y), -1.0)}, "record": own_reported.record(**values)}
    moved = own_reported.report({"ldep": [0.9]}, **of_rows)
    assert moved.confusion[:, 1].sum() > plain.confusion[:, 1].sum()
    note = winner.confusion_note(moved)
    assert "a threshold that the other folds have chosen for accuracy" in note
    assert note.endswith("The threshold of the final model is -1.")
    assert "80.0 % instead of 75.0 % at 0" in note


def test_calibrated_probabilities_lie_on_the_diagonal():
    rng = np.random.default_rng(0)
    probability = rng.uniform(size=20_000)
    y = np.where(rng.uniform(size=20_000) < probability, "b", "a")
    both = np.column_stack([1 - probability, probability])
    report = own_reported.report(
        {"ldep": [0.9]}, classes={"a": 10_001, "b": 9_999}, y=y, scores={"ldep": both}, probabilities={"ldep": both}
    )
    [curve] = figures.curves(report, "calibration")
    np.testing.assert_allclose(curve.x, curve.y, atol=0.05)  # 2,000 rows per bin: a deviation of at most 0.011


def test_the_curl_command_sends_a_raw_row_whatever_its_cells_contain():
    report = own_reported.report({"ldep": [0.9]}, record=own_reported.record(), example={"name": "O'Hara", "age": 3})
    [curl] = [command for command in winner.commands(report).values() if command.startswith("curl")]
    assert """O'"'"'Hara""" in curl


def test_the_model_card_names_the_model_its_score_and_its_limits():
    text = winner.markdown(own_reported.report(VALUES, record=own_reported.record(), profile=PROFILE))
    for expected in ("Tuned ℓ-DEP", "ldep-mine, version 2", "95 % interval", "slightly optimistic", "missing in size"):
        assert expected in text


def test_several_data_sets_get_an_overview_and_one_gets_a_link():
    one = own_reported.report(VALUES, record=own_reported.record())
    overview = entry_page([one, own_reported.report(VALUES, name="other")]).html({}, {"Time": "now"})
    check(overview)
    assert 'href="mine.html"' in overview
    assert 'href="other.html"' in overview
    assert "url=mine.html" in entry_page([one]).html({}, {})
