"""Every kind of pieces keeps the protocol: scores affine in theta, with their derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldep.estimators._dep import dilate, erode
from ldep.training import LinearPieces, MorphologicalPieces, groups

PIECES = [
    LinearPieces((3, 2), n_features=4),
    LinearPieces((1, 1), n_features=1),
    MorphologicalPieces(n_features=4),
    MorphologicalPieces(n_features=4, beta=1.0),
    MorphologicalPieces(n_features=4, beta=0.0),
    MorphologicalPieces(n_features=1),
]
every_kind = pytest.mark.parametrize("pieces", PIECES, ids=repr)


@every_kind
def test_pullback_is_the_gradient(pieces):
    """Against finite differences. An affine function equals its difference quotient: the tolerance is for rounding."""
    rng = np.random.default_rng(0)
    X, theta = rng.normal(size=(7, pieces.n_features)), rng.uniform(size=pieces.n_parameters)
    G = rng.normal(size=(sum(pieces.group_sizes), 7))

    def value(t):
        return np.sum(G * pieces.scores(t, X))

    quotients = [value(theta + step) - value(theta) for step in np.eye(pieces.n_parameters)]
    np.testing.assert_allclose(pieces.pullback(G, X), quotients, atol=1e-12)


@every_kind
def test_coefficients_are_those_of_the_scores(pieces):
    rng = np.random.default_rng(1)
    X, theta = rng.normal(size=(50, pieces.n_features)), rng.uniform(size=pieces.n_parameters)
    piece = rng.integers(sum(pieces.group_sizes), size=50)
    A, constant = pieces.coefficients(X, piece)
    assert A.shape == (50, pieces.n_parameters)
    np.testing.assert_allclose(A @ theta + constant, pieces.scores(theta, X)[piece, np.arange(50)], atol=1e-14)


@every_kind
def test_there_is_one_score_per_piece(pieces):
    scores = pieces.scores(np.zeros(pieces.n_parameters), np.ones((7, pieces.n_features)))
    assert scores.shape == (sum(pieces.group_sizes), 7)
    assert [group.stop - group.start for group in groups(pieces)] == list(pieces.group_sizes)


@every_kind
def test_the_penalty_has_the_gradient_that_it_returns(pieces):
    """Against central differences, which are exact for a quadratic: the tolerance is for rounding."""
    rng = np.random.default_rng(2)
    theta, ridge = rng.uniform(size=pieces.n_parameters), rng.uniform(0.5, 2.0, pieces.n_features)
    steps = np.eye(pieces.n_parameters)
    quotients = [pieces.penalty(theta + s, ridge)[0] / 2 - pieces.penalty(theta - s, ridge)[0] / 2 for s in steps]
    np.testing.assert_allclose(pieces.penalty(theta, ridge)[1], quotients, atol=1e-12)


def test_the_penalty_is_on_the_slopes_alone():
    pieces = LinearPieces((1, 1), n_features=2)
    theta = np.array([1.0, 2.0, 50.0, 3.0, 0.0, -50.0])
    assert pieces.penalty(theta, np.array([1.0, 0.5]))[0] == (1 + 0.5 * 4 + 9) / 2


@every_kind
def test_scores_have_the_precision_of_the_samples(pieces):
    """The smooth solver works in float32: theta must not turn the scores into float64."""
    X = np.ones((5, pieces.n_features), dtype=np.float32)
    assert pieces.scores(np.ones(pieces.n_parameters), X).dtype == np.float32


@pytest.mark.parametrize("beta", [0.0, 1e-320, 1e-15, 1e-9, 0.3, 1.0 - 1e-15, 1.0])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_paper_form_has_the_same_tau(beta, seed):
    """Also where beta cannot be divided by. Tolerance: what dividing c by beta and multiplying again rounds."""
    rng = np.random.default_rng(seed)
    pieces = MorphologicalPieces(n_features=3)
    theta = np.concatenate([[beta], rng.normal(size=6)])
    X = rng.normal(size=(20, 3))
    scores = pieces.scores(theta, X)
    tau = scores[:3].max(axis=0) - scores[3:].max(axis=0)
    share, a, b = pieces.paper_form(theta)
    assert np.isfinite(a).all()
    assert np.isfinite(b).all()
    np.testing.assert_allclose(share * dilate(X, a) + (1 - share) * erode(X, b), tau, atol=1e-13)


@pytest.mark.parametrize(("beta", "share"), [(None, 0.3), (1.0, 1.0), (0.0, 0.0)])
def test_theta_and_paper_form_are_inverse(beta, share):
    pieces = MorphologicalPieces(n_features=3, beta=beta)
    theta = np.random.default_rng(0).normal(size=pieces.n_parameters)
    if beta is None:
        theta[0] = share
    learned, a, b = pieces.paper_form(theta)
    assert learned == share
    np.testing.assert_allclose(pieces.theta(learned, a, b), theta, rtol=1e-14)


def test_only_beta_is_bounded():
    lower, upper = MorphologicalPieces(n_features=2).bounds
    assert list(lower) == [0.0] + [-np.inf] * 4
    assert list(upper) == [1.0] + [np.inf] * 4
    assert MorphologicalPieces(n_features=2, beta=1.0).bounds is None
    assert LinearPieces((1, 1), 2).bounds is None
