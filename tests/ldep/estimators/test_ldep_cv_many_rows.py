"""LDEPClassifierCV on many rows: the settings are compared on a sample, and models of all rows vote."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.model_selection import StratifiedKFold

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.search import apportioned

QUICK = {"pieces": [(3, 3), (1, 1)], "alphas": [0.1, 1.0], "cv": 3, "random_state": 0}
POINTS, CLUSTERS = make_blobs(400, centers=9, n_features=3, cluster_std=2.0, random_state=0)
X, CODES = POINTS[:300], CLUSTERS[:300]
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])
SAMPLE = 120


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr("ldep.estimators._ldep_cv.MANY_ROWS", 200)
    monkeypatch.setattr("ldep.search._splits.SEARCH_ROWS", SAMPLE)


@CLASSES
def test_each_split_of_all_rows_has_one_model_and_the_selected_settings_share_them(n_classes):
    y = CODES % n_classes
    model = LDEPClassifierCV(**QUICK).fit(X, y)
    assert len(model.estimators_) == model.n_splits_ == 3
    np.testing.assert_array_equal(model.weights_, [1 / 3] * 3)
    tried, shares = model.cv_results_["params"], model.cv_results_["weight"]
    expected = [tried[winner] for winner in apportioned(shares, 3)]
    names = ("r1", "r2", "penalty", "loss", "alpha")
    assert [{name: getattr(member, name) for name in names} for member in model.estimators_] == expected
    assert model.n_fits_ == 3 * len(tried) + 3
    assert model.score(POINTS[300:], CLUSTERS[300:] % n_classes) > 0.75


@CLASSES
def test_a_member_is_trained_on_the_training_part_of_all_rows(n_classes):
    """Its objective is the loss of two thirds of all rows, and not of the sample."""
    y = CODES % n_classes
    settings = QUICK | {"pieces": [(1, 1)], "losses": ["logistic"], "penalties": ["norm"], "tol": 1e-4}
    model = LDEPClassifierCV(**settings).fit(X, y)
    (tried,) = model.cv_results_["params"]
    objectives = [member.objective_ for member in model.estimators_]
    alone = LDEPClassifier(**tried, tol=1e-4, random_state=0).fit(X, y).objective_
    assert np.sum(objectives) == pytest.approx(2 * alone, rel=0.05)


def test_the_score_sees_the_sample_only():
    sizes = []

    def scorer(estimator, rows, labels):
        sizes.append(len(rows))
        return float(np.mean(estimator.predict(rows) == labels))

    LDEPClassifierCV(**QUICK, scoring=scorer).fit(X, CODES % 2)
    assert max(sizes) <= SAMPLE + 2
    assert min(sizes) >= SAMPLE // 3 - 2


@CLASSES
def test_any_number_of_jobs_gives_the_same_bits(n_classes):
    y = CODES % n_classes
    one, two = (LDEPClassifierCV(**QUICK, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(two.decision_function(X), one.decision_function(X))
    np.testing.assert_array_equal(two.predict_proba(X), one.predict_proba(X))


@CLASSES
def test_probabilities_agree_with_the_prediction(n_classes):
    model = LDEPClassifierCV(**QUICK).fit(X, CODES % n_classes)
    table = model.predict_proba(POINTS)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    np.testing.assert_array_equal(table.argmax(axis=1), model.predict(POINTS))


def test_a_splitter_is_used_on_all_rows():
    y = CODES % 2
    model = LDEPClassifierCV(**QUICK | {"cv": StratifiedKFold(3)}).fit(X, y)
    assert len(model.estimators_) == 3 * np.count_nonzero(model.cv_results_["weight"])
    assert model.n_fits_ == 3 * len(model.cv_results_["params"])


def test_as_many_rows_as_the_limit_are_not_sampled():
    model = LDEPClassifierCV(**QUICK).fit(X[:200], CODES[:200] % 2)
    assert model.n_fits_ == 3 * len(model.cv_results_["params"])


def test_without_an_ensemble_the_best_setting_is_trained_on_all_rows():
    y = CODES % 3
    model = LDEPClassifierCV(**QUICK, ensemble=False).fit(X, y)
    (member,) = model.estimators_
    own = LDEPClassifier(**model.best_params_, random_state=member.random_state).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), own.decision_function(X))
    assert model.n_fits_ == 3 * len(model.cv_results_["params"]) + 1


def test_a_class_with_two_rows_is_in_the_sample_and_can_be_predicted():
    rows, y = np.vstack([X, np.full((2, 3), 60.0)]), np.append(CODES % 2, [7, 7])
    model = LDEPClassifierCV(**QUICK).fit(rows, y)
    assert model.predict([[60.0, 60.0, 60.0]]) == [7]


@pytest.mark.parametrize(("ensemble", "least"), [(True, 6), (False, 4)])
def test_a_budget_too_small_for_one_setting_and_the_result_is_refused(ensemble, least):
    with pytest.raises(ValueError, match=rf"max_fits={least - 1} is too small: .* at least {least}"):
        LDEPClassifierCV(**QUICK, max_fits=least - 1, ensemble=ensemble).fit(X, CODES % 2)
    assert LDEPClassifierCV(**QUICK, max_fits=least, ensemble=ensemble).fit(X, CODES % 2).n_fits_ == least


def test_missing_values_and_weights_go_through_the_sample():
    rows = np.where(np.random.default_rng(0).random(X.shape) < [0.2, 0.0, 0.0], np.nan, X)
    model = LDEPClassifierCV(**QUICK).fit(rows, CODES % 2, np.random.default_rng(1).integers(0, 3, 300))
    assert model.score(rows, CODES % 2) > 0.75
    assert model.model_.takes_missing.tolist() == [True, False, False]
