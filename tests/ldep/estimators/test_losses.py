"""What both losses promise: the same for repetitions, orders and kinds of rows, with two and with more classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.datasets import make_blobs
from sklearn.metrics import log_loss

from ldep import LDEPClassifier, StreamingLDEPClassifier

POINTS, CLUSTERS = make_blobs(300, centers=9, n_features=3, cluster_std=1.5, random_state=0)
LOSSES = pytest.mark.parametrize("loss", ["hinge", "logistic"])
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def small(loss: str, **settings) -> LDEPClassifier:
    return LDEPClassifier(
        **{"r1": 3, "r2": 2, "loss": loss, "alpha": 0.1, "max_iter": 60, "random_state": 0} | settings
    )


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@LOSSES
@CLASSES
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_and_the_repetition_of_one_change_no_bit(n_classes, loss, seed):
    rng = np.random.default_rng(seed)
    X, y = POINTS[:80], CLUSTERS[:80] % n_classes
    weight, order = rng.integers(1, 4, 80), rng.permutation(80)
    repeated = rng.permutation(np.repeat(np.arange(80), weight))
    one = small(loss).fit(X, y, sample_weight=weight)
    shuffled = small(loss).fit(X[order], y[order], sample_weight=weight[order])
    again = small(loss).fit(X[repeated], y[repeated])
    for other in (shuffled, again):
        np.testing.assert_array_equal(other.decision_function(X), one.decision_function(X))
        assert other.objective_ == one.objective_


@LOSSES
@CLASSES
def test_alpha_chosen_by_held_out_rows_depends_on_the_weighted_set_only(n_classes, loss):
    X, y = POINTS[:90], CLUSTERS[:90] % n_classes
    weight, order = np.random.default_rng(1).integers(1, 4, 90), np.random.default_rng(2).permutation(90)
    repeated = np.repeat(np.arange(90), weight)[::-1]
    one = small(loss, alpha="auto").fit(X, y, sample_weight=weight)
    for rows, weights in ((order, weight[order]), (repeated, None)):
        other = small(loss, alpha="auto").fit(X[rows], y[rows], sample_weight=weights)
        assert other.alpha_ == one.alpha_
        np.testing.assert_array_equal(other.decision_function(X), one.decision_function(X))


@LOSSES
@CLASSES
def test_each_loss_is_lower_in_the_model_that_was_trained_with_it(n_classes, loss):
    y = CLUSTERS % n_classes
    by_loss = {name: small(name, max_iter=None, tol=1e-3).fit(POINTS, y) for name in ("hinge", "logistic")}
    values = {name: value_of(loss, model.decision_function(POINTS), y) for name, model in by_loss.items()}
    assert min(values, key=values.get) == loss


def value_of(loss: str, decision: np.ndarray, y: np.ndarray) -> float:
    scores = np.column_stack([np.zeros(len(y)), decision]) if decision.ndim == 1 else decision
    own, rows = scores[np.arange(len(y)), y], np.arange(len(y))
    if loss == "logistic":
        return float((np.log(np.exp(scores).sum(axis=1)) - own).sum())
    rivals = scores.copy()
    rivals[rows, y] = -np.inf
    return float(np.maximum(0.0, 1.0 - own + rivals.max(axis=1)).sum())


@LOSSES
def test_with_many_classes_a_sample_of_all_rows_gives_the_model_of_memory(loss):
    y = CLUSTERS % 4
    settings = {"r1": 3, "r2": 2, "loss": loss, "random_state": 3}
    batches = [(POINTS[first : first + 70], y[first : first + 70]) for first in range(0, 300, 70)]
    streamed = StreamingLDEPClassifier(**settings).fit_batches(batches)
    whole = LDEPClassifier(**settings, alpha="scale").fit(POINTS, y)
    np.testing.assert_array_equal(streamed.decision_function(POINTS), whole.decision_function(POINTS))
    assert streamed.objective_ == whole.objective_


@LOSSES
def test_warm_start_with_many_classes_is_short_and_no_worse(loss):
    y = CLUSTERS % 4
    model = small(loss, warm_start=True, max_iter=None).fit(POINTS, y)
    objective, n_iter = model.objective_, model.n_iter_
    model.fit(POINTS, y)
    assert model.objective_ <= objective * (1 + 1e-12)
    assert model.n_iter_ <= n_iter // 2


def test_a_probability_that_is_sure_by_far_is_no_overflow():
    X, y = np.array([[-1.0], [1.0]] * 20), np.array([0, 1] * 20)
    model = LDEPClassifier(1, 1, alpha=1e-6, random_state=0).fit(X, y)
    with np.errstate(all="raise", under="ignore"):
        table = model.predict_proba([[-1e6], [1e6]])
    np.testing.assert_array_equal(table, [[1.0, 0.0], [0.0, 1.0]])


class TestOwnProbabilities:
    """The logistic loss has probabilities of its own."""

    def test_those_of_two_classes_are_logistic_in_tau(self):
        y = CLUSTERS % 2
        model = small("logistic").fit(POINTS, y)
        tau = model.decision_function(POINTS)
        np.testing.assert_allclose(model.predict_proba(POINTS), np.column_stack([expit(-tau), expit(tau)]), rtol=1e-12)
        np.testing.assert_array_equal(model.probabilities_at(tau), model.predict_proba(POINTS))

    def test_those_of_more_are_the_softmax_of_the_scores(self):
        model = small("logistic").fit(POINTS, CLUSTERS % 3)
        scores = model.decision_function(POINTS)
        np.testing.assert_allclose(model.predict_proba(POINTS), softmax(scores, axis=1), rtol=1e-12)

    @CLASSES
    def test_the_training_loss_is_their_log_loss(self, n_classes):
        y = CLUSTERS % n_classes
        model = small("logistic", alpha=0.0).fit(POINTS, y)
        table = model.predict_proba(POINTS)
        assert model.objective_ == pytest.approx(len(y) * log_loss(y, table), rel=1e-6)

    @CLASSES
    def test_asking_for_probabilities_changes_nothing(self, n_classes):
        y = CLUSTERS % n_classes
        plain, asked = (small("logistic", probability=flag).fit(POINTS, y) for flag in (False, True))
        np.testing.assert_array_equal(asked.predict_proba(POINTS), plain.predict_proba(POINTS))

    def test_streaming_has_them_with_the_logistic_loss_only(self):
        batches = [(POINTS, CLUSTERS % 3)]
        model = StreamingLDEPClassifier(2, 2, sample_size=100, random_state=0).fit_batches(batches)
        scores = model.decision_function(POINTS)
        np.testing.assert_allclose(model.predict_proba(POINTS), softmax(scores, axis=1), rtol=1e-12)
        by_hinge = StreamingLDEPClassifier(2, 2, loss="hinge", random_state=0).fit_batches(batches)
        assert not hasattr(by_hinge, "predict_proba")

    def test_they_are_calibrated_on_fresh_rows(self):
        """Of each of five bins the mean probability is within 0.1, about three standard errors, of the share."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 2))
        truth = expit(3 * np.abs(X[:, 0]) - 2 + X[:, 1])
        y = (rng.random(3000) < truth).astype(int)
        model = LDEPClassifier(random_state=0).fit(X[:1000], y[:1000])
        found = model.predict_proba(X[1000:])[:, 1]
        for part in np.array_split(np.argsort(found), 5):
            assert found[part].mean() == pytest.approx(y[1000:][part].mean(), abs=0.1)


@LOSSES
def test_sparse_rows_with_many_classes_have_the_objective_of_the_user(loss):
    X = np.where(np.abs(POINTS) < 3.0, 0.0, POINTS)
    y = CLUSTERS % 3
    model = small(loss, alpha=0.5).fit(sparse.csr_array(X), y)
    penalty = 0.25 * sum(np.square(slopes).sum() for slopes in model.coefs_)
    total = value_of(loss, model.decision_function(X), y) + penalty
    assert model.objective_ == pytest.approx(total, rel=1e-6)
