"""What holds for every estimator of the package."""

import pickle

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from threadpoolctl import threadpool_limits

from ldep import (
    DEPClassifier,
    DilationPerceptron,
    ErosionPerceptron,
    LDEPClassifier,
    LDEPClassifierCV,
    MaxoutClassifier,
    RDEPClassifier,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = LDEPClassifier(r1=3, r2=3, max_iter=60)
QUICK_CV = LDEPClassifierCV(pieces=[(3, 3), (1, 1)], alphas=[0.1, 1.0], cv=3)
ESTIMATORS = [
    QUICK,
    QUICK_CV,
    DilationPerceptron(),
    ErosionPerceptron(),
    DEPClassifier(),
    RDEPClassifier(),
    RDEPClassifier("bagging", n_estimators=4),
    MaxoutClassifier(max_iter=10),
]
# What skops has to trust: the classes of the package, and nothing else.
TRUSTED = [
    *(f"ldep.estimators.{type(estimator).__name__}" for estimator in ESTIMATORS),
    "ldep.model.FittedModel",
    "ldep.model.Link",
    "ldep.model.Maxima",
    "ldep.model.Missing",
    "ldep.model.SetLimits",
]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__ + getattr(e, "mapping", ""))
X, y = make_moons(90, noise=0.2, random_state=0)


def fit(estimator, X=X, y=y, sample_weight=None, **params):
    return clone(estimator).set_params(random_state=0, **params).fit(X, y, sample_weight=sample_weight)


def assert_same_bits(one, other):
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@each
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(estimator):
    """On enough data for BLAS to use them."""
    features = np.random.default_rng(0).normal(size=(1500, 20))
    labels = features[:, 0] + np.abs(features[:, 1]) > 0.5
    with threadpool_limits(1):
        one = fit(estimator, features, labels)
    with threadpool_limits(2):
        two = fit(estimator, features, labels)
    with threadpool_limits(1):
        np.testing.assert_array_equal(one.decision_function(features), two.decision_function(features))


@pytest.mark.parametrize("estimator", [QUICK_CV, RDEPClassifier("bagging", n_estimators=3)])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_jobs(estimator):
    assert_same_bits(fit(estimator, n_jobs=1), fit(estimator, n_jobs=2))


@each
def test_a_sample_of_weight_zero_is_ignored(estimator):
    weight = np.where(np.arange(90) % 4, 1.0, 0.0)
    assert_same_bits(fit(estimator, sample_weight=weight), fit(estimator, X[weight > 0], y[weight > 0]))


@each
def test_an_integer_weight_is_a_repetition(estimator):
    weight = np.random.default_rng(0).integers(1, 4, 90)
    again = np.repeat(np.arange(90), weight)
    if not hasattr(estimator, "cv"):
        assert_same_bits(fit(estimator, sample_weight=weight), fit(estimator, X[again], y[again]))
        return
    # Folds are cut between rows, so repetitions must stay together.
    parts = [train for train, _ in StratifiedKFold(3).split(X, y)]
    weighted = fit(estimator, sample_weight=weight, cv=[(part, part) for part in parts])
    together = [np.flatnonzero(np.isin(again, part)) for part in parts]
    assert_same_bits(weighted, fit(estimator, X[again], y[again], cv=[(part, part) for part in together]))


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if not hasattr(e, "cv")], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("hidden", [False, True], ids=["duplicate rows", "a column of 1e12"])
def test_the_order_of_the_rows_does_not_matter(estimator, hidden):
    """Except where folds are cut in that order. Duplicates have weights whose sums are rounded."""
    rng = np.random.default_rng(0)
    features, labels = X[np.arange(90) // 2], y[np.arange(90) // 2]
    if hidden:
        features, labels = np.column_stack([X, np.full(90, 1e12)]), y
    weight, order = rng.uniform(0.1, 2.0, 90), rng.permutation(90)
    one = fit(estimator, features, labels, weight)
    other = fit(estimator, features[order], labels[order], weight[order])
    np.testing.assert_array_equal(one.decision_function(features), other.decision_function(features))


@pytest.mark.parametrize(
    "estimator", [e for e in ESTIMATORS if hasattr(e, "class_weight") and not hasattr(e, "cv")], ids=repr
)
def test_with_balanced_classes_an_integer_weight_is_a_repetition(estimator):
    weight = np.random.default_rng(1).integers(1, 4, 90)
    again = np.repeat(np.arange(90), weight)
    weighted = fit(estimator, sample_weight=weight, class_weight="balanced")
    assert_same_bits(weighted, fit(estimator, X[again], y[again], class_weight="balanced"))


@each
def test_pickle_keeps_every_bit(estimator):
    model = fit(estimator)
    assert_same_bits(model, pickle.loads(pickle.dumps(model)))


@each
def test_skops_keeps_every_bit_and_trusts_only_our_classes(estimator):
    model = fit(estimator)
    stored = skops.io.dumps(model)
    assert set(skops.io.get_untrusted_types(data=stored)) <= set(TRUSTED)
    assert_same_bits(model, skops.io.loads(stored, trusted=TRUSTED))


@pytest.mark.parametrize(
    "estimator", [e for e in ESTIMATORS if e.__sklearn_tags__().input_tags.allow_nan], ids=lambda e: type(e).__name__
)
def test_a_model_of_rows_with_missing_values_is_stored_by_the_names_of_packages(estimator):
    gaps = np.where(np.arange(X.size).reshape(X.shape) % 7, X, np.nan)
    model = fit(estimator, gaps)
    stored = skops.io.dumps(model)
    assert "ldep.model.Missing" in skops.io.get_untrusted_types(data=stored)
    loaded = skops.io.loads(stored, trusted=TRUSTED)
    np.testing.assert_array_equal(loaded.decision_function(gaps), model.decision_function(gaps))


@each
def test_labels_may_be_strings(estimator):
    model = fit(estimator, y=np.where(y, "yes", "no"))
    assert list(model.classes_) == ["no", "yes"]
    assert (model.predict(X) == np.where(model.decision_function(X) >= 0, "yes", "no")).all()


@each
def test_three_classes_are_trained_or_go_through_one_vs_rest(estimator):
    three = np.arange(90) % 3
    if estimator.__sklearn_tags__().classifier_tags.multi_class:
        assert fit(estimator, y=three).decision_function(X).shape == (90, 3)
    else:
        with pytest.raises(ValueError, match=rf"OneVsRestClassifier\({type(estimator).__name__}\(\)\)"):
            fit(estimator, y=three)
    wrapped = OneVsRestClassifier(clone(estimator)).fit(X, three)
    assert [type(model) for model in wrapped.estimators_] == [type(estimator)] * 3
    np.testing.assert_array_equal(wrapped.predict(X), wrapped.decision_function(X).argmax(axis=1))


def test_missing_values_are_accepted_where_the_tags_say_so():
    holes = np.where(X > 1, np.nan, X)
    for estimator in ESTIMATORS:
        if estimator.__sklearn_tags__().input_tags.allow_nan:
            assert np.isfinite(fit(estimator, holes).decision_function(holes)).all()
        else:
            with pytest.raises(ValueError, match="contains NaN"):
                fit(estimator, holes)


@each
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.where(X > 1, np.inf, X)}, "infinity"),
        ({"X": np.where(X > 1, 1e200, X)}, "1e\\+200"),
        ({"y": np.zeros(90)}, "one class"),
        ({"sample_weight": -np.ones(90)}, "[Nn]egative"),
        ({"sample_weight": np.where(y, 0.0, 1.0)}, "every sample of class 1 has weight zero"),
    ],
    ids=["infinity", "1e200", "one class", "negative weights", "a class without weight"],
)
def test_bad_input_is_refused_with_the_reason(estimator, change, message):
    with pytest.raises(ValueError, match=message):
        fit(estimator, **change)


@each
@pytest.mark.parametrize(
    "features",
    [np.column_stack([X, np.ones(90)]), np.column_stack([X, X]), np.ones((90, 2)), X[:, :1]],
    ids=["constant", "duplicate", "nothing varies", "one feature"],
)
def test_useless_columns_leave_the_decision_finite(estimator, features):
    """In "nothing varies" both classes are the same point."""
    assert np.isfinite(fit(estimator, features).decision_function(features)).all()


@each
def test_two_rows_are_enough(estimator):
    model = fit(estimator, np.array([[-1.0, -2.0], [1.0, 2.0]]), np.array([0, 1]))
    assert np.isfinite(model.decision_function(X)).all()
