"""Table 1 and its comparison with the paper."""

from __future__ import annotations

import re

import pytest

from ldep_pipeline.report.sections import table1
from tests.support import reported


@pytest.fixture(scope="module")
def table() -> table1.Table1:
    return table1.Table1(reported.accuracies_of(reported.EXAMPLE), dict.fromkeys(reported.EXAMPLE, "somewhere"))


def test_a_failed_or_missing_fit_has_no_number(table):
    own = [row[4].text for row in table.main().all_rows]
    assert own == ["failed", "–", "90.0 ± 0.0", "90.0 ± 0.0 (1 data set)", "90.0 ± 0.0 (1 data set)"]


def test_markdown(table):
    text = table.markdown()
    assert re.search(r"\| Haberman +\| +76\.0 ± 1\.4 \| +\*\*77\.0 ± 1\.4\*\*", text)
    assert re.search(r"\| Haberman +\| 73\.0 ± 1\.4 \| 73\.5 ± 2\.6 \| −0\.5 ", text)  # ours, the paper's, difference


def test_latex(table):
    text = table.latex()
    assert r"\textbf{77.0 $\pm$ 1.4}" in text
    assert r"<odd> \& own" in text
    assert "somewhere" not in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2


def test_csv(table):
    rows = table.csv().splitlines()
    assert rows[0] == "dataset,model,mean,std,status,paper_mean,paper_std,difference"
    assert "haberman,rbf_svc,73.0000,1.4142,ok,73.5000,2.6000,-0.5000" in rows
    assert "haberman,<odd> & own,,,failed,,," in rows
    assert "wdbc,<odd> & own,,,missing,,," in rows
    assert "MEAN,<odd> & own,90.0000,0.0000,1 data set,,," in rows


def test_means_are_compared_with_the_papers_only_over_the_same_data_sets(table):
    comparison = table.comparison()
    assert comparison is not None
    assert len(comparison.rows) == 2  # the user's data set is not in the paper
    assert not comparison.summary_rows
    shared = {name: models for name, models in reported.EXAMPLE.items() if name != "mine"}
    whole = table1.Table1(reported.accuracies_of(shared), dict.fromkeys(shared, "")).comparison()
    assert whole is not None
    assert [row[0].text for row in whole.summary_rows] == ["MEAN ± STD", "MEDIAN ± MAD"]


def test_data_sets_that_the_paper_lacks_are_not_compared():
    table = table1.Table1(reported.accuracies_of({"mine": {"rbf_svc": [0.5]}}), {"mine": ""})
    assert table.comparison() is None
    assert "## Comparison" not in table.markdown()
