"""The sections about prediction sets and groups on the page of a data set."""

import numpy as np

from ldep_pipeline.report import sections
from ldep_pipeline.report.sections import subsets
from tests.support import own_reported

VALUES = {"ldep": [0.9, 0.8, 0.85, 0.9, 0.88]}


def text(report) -> str:
    page = sections.dataset_page(report)
    return page.html({picture.name: "" for picture in page.pictures}, {})


def test_sets_are_shown_by_class_with_an_interval():
    report, without = own_reported.report(VALUES, sets=own_reported.sets()), own_reported.report(VALUES)
    table = subsets.sets_table(report)
    assert [row[0].text for row in table.all_rows] == ["is <a>", "is <b>", "all"]
    own = np.searchsorted(list(report.classes), report.y)
    right = report.sets["ldep"][0.9][np.arange(300), own]
    assert table.summary_rows[0][3].value == right.mean()
    low, high = (int(part) for part in table.summary_rows[0][3].note.removesuffix(" %").split(" to "))
    assert low < 100 * right.mean() < high
    assert subsets.sets_table(without) is None
    assert "How sure is it?" in text(report)
    assert "How sure is it?" not in text(without)


def test_groups_are_shown_and_those_with_few_rows_named():
    report = own_reported.report(VALUES, grouped=[own_reported.grouped()])
    cells = subsets.groups_table(report, report.grouped[0]).rows[0]
    assert [cell.text for cell in cells] == ["<north>", "120", "90.0 %", "40 %", "30 %", "1.25"]
    shown = text(report)
    assert "‘islands’ (5 rows)" in shown
    assert "&lt;north&gt;" in shown
    assert "<north>" not in shown
    assert "Fairness was not examined" not in shown


def test_a_page_without_groups_says_which_key_asks_for_them():
    assert "own_data.mine.groups" in text(own_reported.report(VALUES))
