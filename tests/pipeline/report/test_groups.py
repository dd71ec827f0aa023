"""The groups of a column: how rows are grouped, what is measured, and what is too small for a number."""

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data import own_file
from ldep_pipeline.data.settings import OwnData
from ldep_pipeline.report import groups
from ldep_pipeline.report.groups import Unseen


def unseen(y: np.ndarray, predicted: np.ndarray, tested: np.ndarray | None = None) -> Unseen:
    def accuracy(rows: np.ndarray) -> float:
        return float(np.mean(y[rows] == predicted[rows]))

    return Unseen(y, predicted, np.ones(len(y), dtype=bool) if tested is None else tested, accuracy, "yes")


def labelled(counts: dict[str, int]) -> pd.Categorical:
    return groups.labels_of(pd.Series(np.repeat(list(counts), list(counts.values())).astype(object)))


class TestGroupsOfAColumn:
    def test_categories_with_the_largest_first_and_missing_cells_as_a_group(self):
        labels = groups.labels_of(pd.Series(["b", "a", "b", None], dtype="category"))
        assert list(labels) == ["b", "a", "b", "missing"]
        assert labels.categories[0] == "b"

    def test_few_numbers_are_groups_of_their_own(self):
        labels = groups.labels_of(pd.Series([0.0, 1.0, np.nan, 1.0]))
        assert list(labels) == ["0", "1", "missing", "1"]
        assert list(labels.categories) == ["0", "1", "missing"]

    def test_many_numbers_are_cut_at_the_quartiles(self):
        labels = groups.labels_of(pd.Series(np.arange(100.0)))
        assert list(labels.categories) == [
            "up to 24.75",
            "above 24.75, up to 49.5",
            "above 49.5, up to 74.25",
            "above 74.25",
        ]
        assert np.bincount(labels.codes).tolist() == [25, 25, 25, 25]


class TestMeasuredGroups:
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 205)
    predicted = np.where(rng.random(205) < 0.8, y, "no")

    def test_the_metric_and_the_shares_are_those_of_the_rows_of_the_group(self):
        labels = labelled({"a": 120, "b": 80, "c": 5})
        found = groups.measure("column", labels, unseen(self.y, self.predicted), None)
        first = found.groups[0]
        assert (first.name, first.rows) == ("a", 120)
        assert first.value == np.mean(self.y[:120] == self.predicted[:120])
        assert first.base == np.mean(self.y[:120] == "yes")
        assert first.selected == np.mean(self.predicted[:120] == "yes")
        assert first.interval[0] < first.value < first.interval[1]
        assert first.selected_interval[0] < first.selected < first.selected_interval[1]

    def test_a_group_with_five_rows_gets_no_number(self):
        found = groups.measure("column", labelled({"a": 120, "b": 80, "c": 5}), unseen(self.y, self.predicted), None)
        assert [group.name for group in found.groups] == ["a", "b"]
        assert found.too_few == {"c": 5}

    def test_rows_that_no_fold_tested_do_not_count(self):
        tested = np.arange(205) >= 110
        found = groups.measure("column", labelled({"a": 120, "b": 85}), unseen(self.y, self.predicted, tested), None)
        assert [group.name for group in found.groups] == ["b"]
        assert found.too_few == {"a": 10}

    def test_recourse_is_the_median_distance_of_each_predicted_class(self):
        recourse = {
            "rows": list(range(30)),
            "predicted": ["no"] * 20 + ["yes"] * 10,
            "distance": [*np.arange(1.0, 20.0), None, *[0.5] * 4, *[2.0] * 6],
        }
        found = groups.measure("column", labelled({"a": 120, "b": 85}), unseen(self.y, self.predicted), recourse)
        a, b = found.groups
        assert (a.recourse["no"].median, a.recourse["no"].rows) == (10.5, 20)
        assert a.recourse["yes"].median == 2.0
        assert b.recourse == {}

    def test_the_intervals_are_the_same_each_time(self):
        labels, known = labelled({"a": 120, "b": 85}), unseen(self.y, self.predicted)
        one, two = (groups.measure("column", labels, known, None) for _ in range(2))
        assert one == two


def test_an_interval_covers_a_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        values = (rng.random(100) < 0.7).astype(float)
        low, high = groups.bootstrapped(lambda rows, values=values: float(values[rows].mean()), np.arange(100))
        covered += low <= 0.7 <= high
    assert covered / 200 == pytest.approx(0.94, abs=0.05)


def test_there_is_no_interval_if_most_resamples_have_no_value():
    assert groups.bootstrapped(lambda rows: None, np.arange(30)) is None


class TestTheKey:
    def test_one_column_or_a_list(self):
        assert OwnData(path="a.csv", target="y", groups="sex").grouped == ["sex"]
        assert OwnData(path="a.csv", target="y", groups=["sex", "age", "sex"]).grouped == ["sex", "age"]

    def test_the_target_makes_no_groups(self):
        with pytest.raises(ValueError, match="groups: 'y' is the target"):
            OwnData(path="a.csv", target="y", groups="y")

    def test_a_column_that_is_not_there_is_named_with_what_to_do(self):
        own = OwnData(path="a.csv", target="y", groups="sexx")
        with pytest.raises(
            UserError, match=r"own_data\.mine\.groups: a\.csv has no column 'sexx' in use; did you mean 'sex'"
        ):
            own_file.check_groups(own, ["sex", "age"], "mine")

    def test_it_changes_no_row(self):
        plain, grouped = (OwnData(path="a.csv", target="y", groups=groups) for groups in ([], ["sex"]))
        assert plain.reading() == grouped.reading()
