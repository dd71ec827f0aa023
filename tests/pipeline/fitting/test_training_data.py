"""Which rows are trained on and tested on: at random, by groups, forward in time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from ldep import LDEPClassifierCV
from ldep_pipeline.fitting import models
from ldep_pipeline.fitting.training_data import NEVER_TESTED, Partition, group_folds, stratified_folds, time_folds

RNG = np.random.default_rng(0)
Y = np.array(["no", "yes"])[RNG.permutation(np.arange(120) % 2)]
GROUP = RNG.integers(0, 20, 120)
TIME = RNG.permutation(np.arange(120) // 2)  # two rows of each time
X = RNG.normal(size=(120, 2)) + (Y == "yes")[:, None]


def by_group() -> Partition:
    return Partition(group_folds(Y, GROUP, 4, 1)[:, None], group=GROUP)


def by_time() -> Partition:
    return Partition(time_folds(TIME, 4)[:, None], time=TIME)


def test_a_group_is_never_on_both_sides():
    partition = by_group()
    for fold in range(partition.n_folds):
        train, test = partition.train_rows(fold), partition.test_rows(fold)
        assert not set(GROUP[train]) & set(GROUP[test])
        assert (train ^ test).all()


def test_training_rows_are_earlier_than_test_rows():
    partition = by_time()
    assert partition.n_folds == 4
    for fold in range(4):
        train, test = partition.train_rows(fold), partition.test_rows(fold)
        assert TIME[train].max() < TIME[test].min()
        assert (train.sum(), test.sum()) == (24 * (fold + 1), 24)
    assert (partition.test_fold == NEVER_TESTED).sum() == 24


def test_rows_of_one_time_are_in_one_block():
    time = np.repeat(np.arange(7), [3, 1, 4, 1, 5, 9, 2])
    assigned = time_folds(time, 2)
    assert all(len(set(assigned[time == moment])) == 1 for moment in time)
    assert set(assigned) == {NEVER_TESTED, 0, 1}
    with pytest.raises(ValueError, match="too many rows have the same time for 3 folds"):
        time_folds(np.repeat([0, 1], 20), 3)


@pytest.mark.parametrize("partition", [by_group(), by_time()])
def test_inner_folds_are_of_the_same_kind(partition):
    rows = np.flatnonzero(partition.train_rows(3))
    splits = partition.inner_splits(rows, Y, 3, seed=5)
    assert len(splits) == 3
    for train, test in splits:
        assert set(train) | set(test) <= set(rows)
        if partition.time is not None:
            assert TIME[train].max() < TIME[test].min()
        else:
            assert not set(GROUP[train]) & set(GROUP[test])
            assert len(train) + len(test) == len(rows)


def test_inner_folds_without_a_column_are_scikit_learns():
    partition = Partition(stratified_folds(Y, 4, 1)[:, None])
    rows = np.flatnonzero(partition.train_rows(2))
    expected = StratifiedKFold(3, shuffle=True, random_state=5).split(rows, Y[rows])
    splits = partition.inner_splits(rows, Y, 3, 5)
    for (train, test), (train_places, test_places) in zip(splits, expected, strict=True):
        np.testing.assert_array_equal(train, rows[train_places])
        np.testing.assert_array_equal(test, rows[test_places])


def test_a_rare_class_allows_fewer_inner_folds():
    y = np.where(np.isin(GROUP, [0, 1]), "yes", "no")  # only two groups have the class
    rows = np.arange(len(y))
    assert by_group().inner_fold_count(rows, y, 5, 0) == 2
    with pytest.raises(ValueError, match="inner cross-validation by groups: some part would lack a class"):
        by_group().inner_fold_count(rows, np.where(GROUP == 0, "yes", "no"), 5, 0)
    late = np.where(TIME < 10, "yes", "no")  # only the first rows have the class, so no test part does
    with pytest.raises(ValueError, match="inner cross-validation by time: some part would lack a class"):
        by_time().inner_fold_count(rows, late, 5, 0)


def test_identities_of_a_fold_depend_on_its_repeat_alone():
    once = Partition(stratified_folds(Y, 4, 1)[:, None])
    twice = Partition(np.column_stack([once.test_fold, stratified_folds(Y, 4, 2)]))
    assert once.identity(3) == twice.identity(3) != twice.identity(4)
    assert once.identity(None) == twice.identity(None) != by_time().identity(None)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegressionCV(Cs=2, cv=3, l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=False),
        LDEPClassifierCV(pieces=[(1, 1)], alphas=[0.1, 1.0], penalties=["norm"], cv=3),
    ],
)
@pytest.mark.parametrize("partition", [by_group(), by_time()])
def test_a_model_that_cross_validates_inside_gets_these_folds(model, partition, monkeypatch):
    used = []
    rows = partition.train_rows(3)
    fit = type(model).fit

    def spy(self, *args, **kwargs):
        used.extend(self.cv)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(type(model), "fit", spy)
    pipe = Pipeline([("model", model)])
    models.fit_pipeline(pipe, X[rows], Y[rows], partition, rows, seed=0)
    assert len(used) == 3
    for train, test in used:
        if partition.time is not None:
            assert TIME[rows][train].max() < TIME[rows][test].min()
        else:
            assert not set(GROUP[rows][train]) & set(GROUP[rows][test])
    assert model.cv == 3
    assert pipe.score(X, Y) > 0.6
