"""Repeats of the cross-validation: their range in the leaderboard, and whether the first three stay the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ldep_pipeline.report.report_data import DatasetInfo, ReportData
from ldep_pipeline.report.sections import leaderboard, summary
from tests.support import reported

RANGE = "Lowest to highest of 2 repeats"


def repeated(folds: reported.Folds, repeats: int = 2) -> ReportData:
    """Two data sets with the same folds."""
    datasets = {"haberman": folds, "wdbc": folds}
    data = reported.report_data(datasets)
    return replace(data, datasets={name: DatasetInfo("file", repeats=repeats) for name in datasets})


STABLE: reported.Folds = {"a": [0.9, 0.8, 0.9, 0.9], "b": [0.7, 0.8, 0.7, 0.7], "c": [0.6, 0.6, 0.6, 0.6]}
# In the second repeat b is before a.
UNSTABLE: reported.Folds = {**STABLE, "b": [0.7, 0.8, 0.9, 0.95]}


def test_the_folds_of_a_repeat_have_a_mean_of_their_own():
    means = repeated(STABLE).means_of_repeats
    assert means is not None
    assert means["a"].tolist() == pytest.approx([85, 90])
    assert means["b"].tolist() == pytest.approx([75, 70])


def test_the_leaderboard_shows_the_range_over_the_repeats():
    table = leaderboard.models_table(repeated(STABLE))
    assert table.columns[2].title == RANGE
    assert [row[2].text for row in table.rows] == ["85.0 to 90.0", "70.0 to 75.0", "60.0 to 60.0"]


def test_one_repeat_has_no_range():
    table = leaderboard.models_table(repeated(STABLE, repeats=1))
    assert "repeats" not in " ".join(column.title for column in table.columns)


def test_the_summary_says_that_the_first_three_stay_the_same():
    findings = summary.findings(repeated(STABLE))
    assert "In 2 of 2 repeats of the cross-validation the first three are the same, in the same order." in findings


def test_the_summary_says_that_the_first_three_change():
    findings = summary.findings(repeated(UNSTABLE))
    assert (
        "In 1 of 2 repeats of the cross-validation the first three are the same, in the same order. The first is a in "
        "1, b in 1." in findings
    )


def test_a_model_that_failed_in_one_repeat_has_no_range():
    table = leaderboard.models_table(repeated({**STABLE, "d": [0.5, 0.5, None, 0.5]}))
    assert table.rows[-1][0].text == "d"
    assert table.rows[-1][2].text == "–"
