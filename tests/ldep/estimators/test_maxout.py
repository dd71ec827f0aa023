"""The maxout network: its function, its gradient, its training."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifier, MaxoutClassifier
from ldep.estimators._maxout import Adam, Network

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def ring(m=200):
    """A class inside a circle, the other outside."""
    X = np.random.default_rng(0).normal(size=(m, 2))
    return X, (X**2).sum(axis=1) < 1.2


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), alpha=st.sampled_from([0.0, 0.7]))
def test_the_gradient_is_that_of_the_loss(seed, alpha):
    """Against central differences of step 1e-6: their error is of order 1e-9 where no piece changes."""
    rng = np.random.default_rng(seed)
    network = Network(3, 4, rng)
    network.theta += rng.normal(size=network.theta.size)
    X, signs = rng.normal(size=(9, 3)), rng.choice([-1.0, 1.0], 9)
    gradient = network.loss(X, signs, alpha)[1].copy()
    for index in range(network.theta.size):
        at = network.theta[index]
        network.theta[index] = at + 1e-6
        above = network.loss(X, signs, alpha)[0]
        network.theta[index] = at - 1e-6
        below = network.loss(X, signs, alpha)[0]
        network.theta[index] = at
        assert gradient[index] == pytest.approx((above - below) / 2e-6, abs=1e-5)


def test_the_loss_is_the_cross_entropy_of_the_probabilities():
    X, y = ring()
    model = MaxoutClassifier(max_iter=5, random_state=0).fit(X, y)
    network = Network(2, 10, np.random.default_rng(0))
    network.W[:], network.c[:] = model.W_.reshape(20, 2), model.c_.ravel()
    network.v[:], network.v0[:] = model.v_, model.v0_
    probability = model.predict_proba(X)[np.arange(len(y)), y.astype(int)]
    assert network.loss(X, 2.0 * y - 1.0, 0.0)[0] == pytest.approx(-np.log(probability).mean(), rel=1e-12)


def test_with_output_weights_one_and_minus_one_it_is_an_ldep():
    """v = (1, -1) and no output bias: the same tau from the same pieces."""
    X, y = ring()
    ldep = LDEPClassifier(r1=3, r2=3, random_state=0).fit(X, y)
    maxout = MaxoutClassifier(n_pieces=3, max_iter=1, random_state=0).fit(X, y)
    maxout.W_, maxout.c_ = np.stack([ldep.W_, ldep.M_]), np.stack([ldep.c_, ldep.d_])
    maxout.v_, maxout.v0_ = np.array([1.0, -1.0]), 0.0
    np.testing.assert_allclose(maxout.decision_function(X), ldep.decision_function(X), atol=1e-12)


def test_probabilities_are_the_logistic_of_tau():
    X, y = ring()
    model = MaxoutClassifier(max_iter=5, random_state=0).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-15)
    odds = np.log(probabilities[:, 1] / probabilities[:, 0])
    np.testing.assert_allclose(odds, model.decision_function(X), atol=1e-9)


def test_learns_what_is_not_linear():
    X, y = ring()
    assert MaxoutClassifier(learning_rate=0.01, random_state=0).fit(X, y).score(X, y) > 0.95


def test_is_as_accurate_as_in_the_paper_on_breast_cancer():
    """Table 1: 97.2 with a deviation of 0.7 over the folds. Three folds and 60 epochs here."""
    model = make_pipeline(StandardScaler(), MaxoutClassifier(max_iter=60, random_state=0))
    assert cross_val_score(model, *load_breast_cancer(return_X_y=True), cv=3).mean() > 0.96


def test_stops_when_the_loss_no_longer_falls():
    X, y = ring(60)
    model = MaxoutClassifier(tol=10.0, n_iter_no_change=3, random_state=0).fit(X, y)
    assert model.n_iter_ == len(model.loss_curve_) == 4


def test_warns_when_it_does_not_converge():
    with pytest.warns(ConvergenceWarning, match="2 epochs .* increase max_iter"):
        MaxoutClassifier(max_iter=2).fit(*ring(60))


def test_the_penalty_shrinks_the_weights():
    X, y = ring()
    free, penalised = (MaxoutClassifier(alpha=alpha, max_iter=40, random_state=0).fit(X, y) for alpha in (0.0, 0.1))
    assert np.linalg.norm(penalised.W_) < np.linalg.norm(free.W_)


def test_class_weights_move_the_boundary():
    X, y = ring()
    fits = [MaxoutClassifier(max_iter=40, class_weight=w, random_state=0).fit(X, y) for w in (None, {True: 10.0})]
    assert fits[1].predict(X).sum() > fits[0].predict(X).sum()


def test_the_first_step_of_adam_is_the_learning_rate():
    """Whatever the size of the gradient; the tolerance is Adam's epsilon."""
    step = Adam(3, 0.01).step(np.array([5.0, -1e3, 1e-2]))
    np.testing.assert_allclose(step, [0.01, -0.01, 0.01], rtol=1e-3)
