"""Prediction sets in a ball: no row in it has a class that the set lacks, and no class is in it for nothing."""

import numpy as np
import pytest

from ldep.model import SetLimits
from tests.support.fitted_models import difference_of, random_average, random_model, random_of_three_classes, voting

COVERAGE = 0.8
SCALE = np.array([1.0, 2.0])


def average_of_three_classes(seed: int):
    members = [difference_of(10 * seed + k) for k in range(3)]
    return voting(members, np.array([0.5, 0.25, 0.25]), factors=np.array([1.0, 0.6, 0.8]))


MODELS = {
    "single": lambda seed: random_model(seed, 2),
    "votes": random_average,
    "single of three": lambda seed: random_model(seed, 2, sizes=(3, 3, 3)),
    "differences of three": difference_of,
    "votes of three": average_of_three_classes,
}


def calibrated(name: str, seed: int):
    """A model, and limits with which sets of several sizes occur."""
    model = MODELS[name](seed)
    rng = np.random.default_rng(seed)
    X = 2 * rng.normal(size=(200, 2))
    y = model.classes_[np.where(rng.random(200) < 0.7, np.searchsorted(model.classes_, model.predict(X)), 0)]
    return model.calibrate(X, y), X[:8]


def points_of_ball(rng, count: int, norm: str) -> np.ndarray:
    points = rng.normal(size=(count, 2))
    points /= np.linalg.norm(points, ord={"l1": 1, "l2": 2, "linf": np.inf}[norm], axis=1)[:, None]
    points[::2] *= rng.uniform(size=(len(points[::2]), 1)) ** 0.5
    return points


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("classwise", [False, True])
def test_the_set_in_a_ball_is_the_union_of_the_sets_in_it(name, norm, classwise):
    rng = np.random.default_rng(0)
    for seed in range(2):
        model, X = calibrated(name, seed)
        radius = 0.3
        sets = model.predict_set(X, COVERAGE, classwise=classwise, radius=radius, norm=norm, scale=SCALE)
        assert sets.exact.all()
        for x, found in zip(X, sets.contains):
            ball = points_of_ball(rng, 3000, norm) * SCALE
            inside = model.predict_set(x + radius * ball, COVERAGE, classwise=classwise).contains.any(axis=0)
            around = model.predict_set(x + 1.03 * radius * ball, COVERAGE, classwise=classwise).contains.any(axis=0)
            assert (found >= inside).all()
            assert (found <= around | inside).all()


@pytest.mark.parametrize("name", MODELS)
def test_a_radius_of_zero_changes_nothing(name):
    model, X = calibrated(name, 3)
    plain, zero = model.predict_set(X, COVERAGE), model.predict_set(X, COVERAGE, radius=0.0)
    np.testing.assert_array_equal(plain.contains, zero.contains)


def test_frozen_features_do_not_change():
    model, X = calibrated("votes", 1)
    sets = model.predict_set(X, COVERAGE, radius=0.5, frozen=[1])
    steps = np.linspace(-0.5, 0.5, 400)
    for x, found in zip(X, sets.contains):
        line = np.column_stack([x[0] + steps, np.full(400, x[1])])
        assert (found >= model.predict_set(line, COVERAGE).contains.any(axis=0)).all()
    assert (sets.contains <= model.predict_set(X, COVERAGE, radius=0.5).contains).all()


def test_where_the_time_is_over_the_set_is_the_larger_one_and_says_so():
    n_open = 0
    for seed in range(6):
        model, X = calibrated("votes of three", seed)
        hurried, complete = (model.predict_set(X, COVERAGE, radius=1.0, time_limit=limit) for limit in (1e-9, 10.0))
        n_open += (~hurried.exact).sum()
        assert complete.exact.all()
        assert (hurried.contains >= complete.contains).all()
        np.testing.assert_array_equal(hurried.contains[hurried.exact], complete.contains[hurried.exact])
        assert ("time limit" in str(hurried)) == (not hurried.exact.all())
    assert n_open > 0


def test_the_threshold_of_the_model_says_nothing_about_its_sets():
    model, X = calibrated("votes", 2)
    before = [model.predict_set(X, COVERAGE, radius=radius).contains for radius in (None, 0.2)]
    model.model_ = model.model_.with_threshold(0.3)
    after = [model.predict_set(X, COVERAGE, radius=radius).contains for radius in (None, 0.2)]
    np.testing.assert_array_equal(before, after)


def test_what_is_printed():
    model = random_of_three_classes(0)
    model.set_limits_ = SetLimits(np.full(999, 1e9), np.full((3, 999), 1e9))
    rows = np.zeros((2, 3))
    assert str(model.predict_set(rows)) == "row 0: 0, 1, 2\nrow 1: 0, 1, 2"
    model.set_limits_ = SetLimits(np.full(999, -1e9), np.full((3, 999), -1e9))
    assert str(model.predict_set(rows[:1])) == "row 0: no class"
