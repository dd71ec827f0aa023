"""predict_proba of LDEPClassifier with the hinge: on request, in line with predict, calibrated, for any classes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics import log_loss

from ldep import LDEPClassifier

MOONS = make_moons(300, noise=0.3, random_state=0)
QUICK = {"r1": 4, "r2": 4, "loss": "hinge", "random_state": 0}


def three_classes(m=300, seed=0):
    return make_classification(m, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=seed)


def test_without_probability_there_is_no_predict_proba():
    model = LDEPClassifier(**QUICK).fit(*MOONS)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as raised:
        model.predict_proba(MOONS[0])
    assert "probability=True" in str(raised.value.__cause__)


def test_the_model_is_the_same_with_and_without():
    plain = LDEPClassifier(**QUICK).fit(*MOONS)
    model = LDEPClassifier(**QUICK, probability=True).fit(*MOONS)
    np.testing.assert_array_equal(plain.decision_function(MOONS[0]), model.decision_function(MOONS[0]))


@pytest.mark.parametrize("data", [MOONS, three_classes()], ids=["two classes", "three classes"])
def test_rows_sum_to_one_and_the_largest_is_predicted(data):
    X, y = data
    labels = np.array(["a", "b", "c"])[y]
    model = LDEPClassifier(**QUICK, probability=True).fit(X, labels)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))


def test_the_log_loss_is_lower_than_that_of_the_shares_of_the_classes():
    X, y = make_moons(1300, noise=0.3, random_state=1)
    model = LDEPClassifier(loss="hinge", random_state=0, probability=True).fit(X[:300], y[:300])
    probability = model.predict_proba(X[300:])[:, 1]
    assert log_loss(y[300:], probability) < 0.35  # of the shares: 0.69
    confident = probability > 0.8
    assert y[300:][confident].mean() == pytest.approx(probability[confident].mean(), abs=0.06)


def test_the_order_of_the_rows_does_not_matter():
    X, y = MOONS
    order = np.random.default_rng(0).permutation(len(X))
    one = LDEPClassifier(**QUICK, probability=True).fit(X, y)
    other = LDEPClassifier(**QUICK, probability=True).fit(X[order], y[order])
    assert one.model_.link.slope == other.model_.link.slope


def test_rows_without_weight_do_not_count():
    X, y = MOONS
    weight = np.repeat([1.0, 0.0], 150)
    one = LDEPClassifier(**QUICK, probability=True).fit(X, y, sample_weight=weight)
    other = LDEPClassifier(**QUICK, probability=True).fit(X[:150], y[:150])
    assert one.model_.link.slope == pytest.approx(other.model_.link.slope)


def test_sparse_rows_and_monotone_features():
    X, y = MOONS
    model = LDEPClassifier(**QUICK, probability=True).fit(sparse.csr_array(X), y)
    assert model.predict_proba(sparse.csr_array(X)).shape == (300, 2)
    monotone = LDEPClassifier(**QUICK, probability=True, monotone={0: 1}).fit(X, y)
    steps = np.column_stack([np.linspace(-2, 3, 50), np.zeros(50)])
    assert (np.diff(monotone.predict_proba(steps)[:, 1]) >= -1e-12).all()


def test_a_class_with_one_row_is_refused():
    X, y = MOONS
    single = np.concatenate([np.flatnonzero(y == 0)[:20], np.flatnonzero(y == 1)[:1]])
    with pytest.raises(ValueError, match="probability=True needs two different rows of each class"):
        LDEPClassifier(**QUICK, probability=True).fit(X[single], y[single])
