"""predict_set of the estimators: coverage, classes, calibration by fit and by other rows, and errors that help."""

from itertools import chain, pairwise

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons

from ldep import LDEPClassifier, LDEPClassifierCV

QUICK = {"pieces": [(4, 4), (1, 1)], "alphas": [1.0, 10.0], "random_state": 0}


def moons(count: int, seed: int):
    return make_moons(count, noise=0.4, random_state=seed)


def four_classes(count: int, seed: int):
    X, y = make_classification(6000, 6, n_informative=5, n_redundant=0, n_classes=4, flip_y=0.1, random_state=1)
    rows = np.random.default_rng(seed).choice(len(X), count, replace=False)
    return X[rows], np.array(["a", "b", "c", "d"])[y[rows]]


@pytest.mark.parametrize("data", [moons, four_classes])
@pytest.mark.parametrize("ensemble", [True, False])
def test_the_coverage_of_the_self_tuning_estimator_is_near_the_nominal_one(data, ensemble):
    """Six fits of 300 rows: the mean coverage has a standard error of about 0.8 points."""
    fits = [LDEPClassifierCV(**QUICK, ensemble=ensemble).fit(*data(300, seed)) for seed in range(6)]
    X, y = data(2000, 99)
    for coverage in (0.8, 0.95):
        measured = np.mean([model.predict_set(X, coverage).covers(y).mean() for model in fits])
        assert abs(measured - coverage) < 0.025


def test_a_model_that_is_nearly_always_right_and_sure_covers_no_less_than_asked():
    """A mean of votes would be less sure than each of them, and most sets would be empty."""
    X, y = make_moons(3000, noise=0.15, random_state=0)
    model = LDEPClassifierCV(random_state=0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.98
    assert model.predict_set(X[400:], 0.8).covers(y[400:]).mean() > 0.75


def test_calibration_on_other_rows_keeps_its_promise():
    """The coverage of one calibration with n rows has a beta distribution: over many, its mean is at least nominal."""
    model = LDEPClassifier(r1=4, r2=4, alpha=1.0, random_state=0).fit(*moons(200, 0))
    X, y = moons(4000, 1)
    covered = [model.calibrate(*moons(150, seed)).predict_set(X, 0.9).covers(y).mean() for seed in range(2, 102)]
    assert 0.9 - 0.008 < np.mean(covered) < 0.9 + 1 / 151 + 0.008


def test_classwise_sets_cover_each_class():
    rng = np.random.default_rng(0)
    X, y = moons(9000, 5)
    kept = (y == 0) | (rng.random(len(y)) < 0.1)
    X, y = X[kept], y[kept]
    model = LDEPClassifierCV(**QUICK).fit(X[:2500], y[:2500])
    sets = {by: model.predict_set(X[2500:], 0.9, classwise=by) for by in (False, True)}
    rare = y[2500:] == 1
    assert sets[False].covers(y[2500:])[rare].mean() < 0.85
    assert sets[True].covers(y[2500:])[rare].mean() > 0.85
    assert abs(sets[True].covers(y[2500:])[~rare].mean() - 0.9) < 0.03


def test_a_larger_coverage_never_loses_a_class():
    model = LDEPClassifierCV(**QUICK).fit(*four_classes(300, 0))
    X = four_classes(100, 1)[0]
    sets = [model.predict_set(X, coverage).contains for coverage in (0.5, 0.8, 0.9, 0.99)]
    assert all((smaller <= larger).all() for smaller, larger in pairwise(sets))


def test_labels_and_sizes():
    model = LDEPClassifierCV(**QUICK).fit(*four_classes(300, 0))
    sets = model.predict_set(four_classes(50, 1)[0], 0.9)
    assert len(sets) == 50
    assert [len(labels) for labels in sets.labels] == sets.sizes.tolist()
    assert set(chain(*sets.labels)) <= set("abcd")


def test_the_hinge_with_probabilities_keeps_out_of_fold_values():
    model = LDEPClassifier(r1=4, r2=4, loss="hinge", probability=True, random_state=0).fit(*moons(300, 0))
    X, y = moons(3000, 1)
    assert abs(model.predict_set(X, 0.9).covers(y).mean() - 0.9) < 0.05


def test_a_model_that_is_not_calibrated_says_what_to_do():
    model = LDEPClassifier(r1=2, r2=2, random_state=0).fit(*moons(100, 0))
    with pytest.raises(ValueError, match=r"calibrate\(X, y\)"):
        model.predict_set(moons(5, 1)[0])


def test_a_new_fit_forgets_the_calibration_of_the_last_one():
    model = LDEPClassifier(r1=2, r2=2, random_state=0).fit(*moons(100, 0)).calibrate(*moons(100, 1))
    model.predict_set(moons(5, 1)[0])
    model.fit(*moons(100, 2))
    with pytest.raises(ValueError, match="has not been calibrated"):
        model.predict_set(moons(5, 1)[0])


def test_bad_arguments_are_refused():
    model = LDEPClassifierCV(**QUICK).fit(*moons(100, 0))
    X, y = moons(5, 1)
    with pytest.raises(ValueError, match="coverage is 1"):
        model.predict_set(X, 1)
    with pytest.raises(ValueError, match="radius=-1"):
        model.predict_set(X, radius=-1)
    with pytest.raises(ValueError, match="radius=nan"):
        model.predict_set(X, radius=np.nan)
    with pytest.raises(ValueError, match="time_limit=0"):
        model.predict_set(X, radius=1, time_limit=0)
    with pytest.raises(ValueError, match="class 7"):
        model.calibrate(X, np.full(5, 7))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.calibrate(X, y[:4])


def test_weights_of_one_change_nothing():
    X, y = moons(200, 0)
    plain, weighted = LDEPClassifierCV(**QUICK).fit(X, y), LDEPClassifierCV(**QUICK).fit(X, y, np.ones(200))
    np.testing.assert_array_equal(plain.set_limits_.overall, weighted.set_limits_.overall)
