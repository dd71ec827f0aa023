"""The training problem: losses, margins and groups, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldep.training import (
    LOSSES,
    LinearPieces,
    Problem,
    by_class,
    group_sizes_of,
    in_group,
    losses,
    margins,
    n_classes_of,
    signs_of,
)

seeds = st.integers(0, 2**32 - 1)


def drawn(seed: int, n_classes: int) -> tuple[LinearPieces, np.ndarray, np.ndarray, np.ndarray]:
    """Pieces, a score matrix of twelve samples, their classes as the problem has them, and the scores of the classes.

    The latter from the signs, one sample at a time.
    """
    rng = np.random.default_rng(seed)
    r1, r2 = rng.integers(1, 4, 2)
    sizes = group_sizes_of(int(r1), int(r2), n_classes)
    scores = rng.normal(size=(sum(sizes), 12))
    maxima = [group.max(axis=0) for group in np.split(scores, np.cumsum(sizes)[:-1])]
    own = rng.integers(0, n_classes, 12)
    y = np.where(own == 1, 1.0, -1.0) if n_classes == 2 else own.astype(float)
    by_sample = np.array([signs_of(len(sizes)) @ by_class(np.array(column)) for column in zip(*maxima)])
    return LinearPieces(sizes, 2), scores, y, by_sample


def own_classes(y: np.ndarray, n_classes: int) -> np.ndarray:
    return (y > 0).astype(int) if n_classes == 2 else y.astype(int)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@given(seed=seeds)
def test_the_margin_is_the_score_of_the_class_minus_the_largest_of_another(n_classes, seed):
    pieces, scores, y, by_sample = drawn(seed, n_classes)
    expected = [row[own] - np.delete(row, own).max() for row, own in zip(by_sample, own_classes(y, n_classes))]
    np.testing.assert_allclose(margins(pieces, scores, y), expected, atol=1e-12)
    assert n_classes_of(pieces) == n_classes


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@given(seed=seeds)
def test_the_losses_are_the_hinge_of_the_margin_and_the_negative_logarithm_of_the_softmax(n_classes, seed):
    """With two classes the softmax of (s_0, s_1) is logistic in tau = s_1 - s_0."""
    pieces, scores, y, by_sample = drawn(seed, n_classes)
    hinge = np.maximum(0.0, 1.0 - margins(pieces, scores, y))
    np.testing.assert_array_equal(losses(pieces, scores, y, "hinge"), hinge)
    softmax = np.exp(by_sample) / np.exp(by_sample).sum(axis=1, keepdims=True)
    own = softmax[np.arange(12), own_classes(y, n_classes)]
    np.testing.assert_allclose(losses(pieces, scores, y, "logistic"), -np.log(own), rtol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_margin_of_a_thousand_overflows_nothing(n_classes):
    sizes = group_sizes_of(1, 1, n_classes)
    scores = np.zeros((len(sizes), 2))
    scores[0] = 1e3, -1e3
    y = np.array([1.0, 1.0]) if n_classes == 2 else np.zeros(2)
    with np.errstate(over="raise", invalid="raise"):
        found = losses(LinearPieces(sizes, 1), scores, y, "logistic")
    np.testing.assert_allclose(found, [0.0, 1000.0], rtol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_the_weighted_loss_plus_the_ridge(loss):
    rng = np.random.default_rng(0)
    pieces = LinearPieces(group_sizes_of(3, 2, 3), 2)
    X, y, weight = rng.normal(size=(30, 2)), rng.integers(0, 3, 30).astype(float), rng.uniform(0.5, 2.0, 30)
    problem = Problem(X, y, weight, pieces, np.array([0.5, 2.0]), loss)
    theta = rng.normal(size=pieces.n_parameters)
    table = pieces.table(theta)
    expected = weight @ losses(pieces, table @ np.column_stack([X, np.ones(30)]).T, y, loss)
    expected += (np.square(table[:, :2]) @ [0.5, 2.0]).sum() / 2
    assert problem.objective(theta) == pytest.approx(expected, rel=1e-12)


def test_the_groups_and_their_signs():
    """Of two classes the dilation speaks for the second, the erosion for the first; of more, the added come first."""
    assert group_sizes_of(3, 2, 2) == (3, 2)
    np.testing.assert_array_equal(signs_of(2), np.eye(2))
    assert by_class(("dilation", "erosion")) == ("erosion", "dilation")
    assert group_sizes_of(3, 2, 3) == (3, 3, 3, 2, 2, 2)
    np.testing.assert_array_equal(signs_of(6), [[1, 0, 0, -1, 0, 0], [0, 1, 0, 0, -1, 0], [0, 0, 1, 0, 0, -1]])
    assert by_class((1, 2, 3, 4, 5, 6)) == (1, 2, 3, 4, 5, 6)


def test_an_added_maximum_wants_its_class_and_a_subtracted_one_all_others():
    two, three = LinearPieces((1, 1), 1), LinearPieces((1,) * 6, 1)
    y = np.array([1.0, -1.0, 1.0])
    assert in_group(two, y, 0).tolist() == [True, False, True]
    assert in_group(two, y, 1).tolist() == [False, True, False]
    y = np.array([0.0, 1.0, 2.0])
    assert in_group(three, y, 1).tolist() == [False, True, False]
    assert in_group(three, y, 4).tolist() == [True, False, True]
