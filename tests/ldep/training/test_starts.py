"""The starts of a fit."""

import numpy as np

from ldep.training import (
    LinearPieces,
    MorphologicalPieces,
    Problem,
    Samples,
    condition,
    linear_starts,
    morphological_starts,
)
from ldep.training import _starts as initialization
from ldep.training._starts import bounding_boxes, kmeans, random_offsets
from tests.support.problems import noisy_problem


def names(starts) -> list[str]:
    return [start.__name__ for start in starts]


def test_auto_alternates_between_the_two_linear_starts():
    problem = noisy_problem(0, 0.1)
    assert names(linear_starts("auto", 3, problem)) == ["kmeans", "random_weights", "kmeans"]
    assert names(linear_starts("random", 2, problem)) == ["random_weights"] * 2


def test_clusters_are_rough_with_more_than_two_maxima():
    problem = Problem(np.eye(3), np.arange(3), np.ones(3), LinearPieces((2,) * 6, 3), np.zeros(3))
    assert names(linear_starts("auto", 2, problem)) == ["quick_kmeans", "random_weights"]


def test_random_features_are_drawn_in_the_coordinates_of_the_samples():
    """Two columns that are almost equal: in the solver's coordinates their difference weighs as much as their sum."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(400, 1))
    samples = Samples(common + 1e-3 * rng.normal(size=(400, 2)), np.sign(rng.normal(size=400)), np.ones(400))
    problem, coordinates = condition(samples, (3, 3), 0.0)
    (start,) = linear_starts("random_features", 1, problem, coordinates)
    table = coordinates.to_user(start(problem, np.random.default_rng(1)))
    drawn = np.random.default_rng(1).normal(0.0, initialization.RANDOM_SCALE, (6, 3))
    np.testing.assert_allclose(table, drawn, atol=1e-9)
    (plain,) = linear_starts("random", 1, problem)
    assert np.abs(coordinates.to_user(plain(problem, np.random.default_rng(1)))).max() > 100 * np.abs(drawn).max()


def test_a_convex_problem_starts_once():
    assert len(linear_starts("auto", 5, noisy_problem(0, 0.1, r=1))) == 1


def test_boxes_start_once_because_they_are_deterministic():
    assert names(morphological_starts("auto", 3)) == ["bounding_boxes", "random_offsets", "random_offsets"]
    assert names(morphological_starts("box", 3)) == ["bounding_boxes"]
    assert names(morphological_starts("random", 3)) == ["random_offsets"] * 3


def test_kmeans_gives_each_cluster_a_piece_of_its_class():
    """Two clusters of positives left and right of one of negatives: the start separates them already."""
    centres = np.array([[-5.0, 0.0], [5.0, 0.0], [0.0, 0.0]])
    X = np.repeat(centres, 20, axis=0) + np.random.default_rng(0).normal(0, 0.3, (60, 2))
    y = np.repeat([1.0, 1.0, -1.0], 20)
    problem = Problem(X, y, np.ones(60), LinearPieces((2, 1), 2), np.zeros(2))
    theta = kmeans(problem, np.random.default_rng(0))
    assert (problem.margins(theta) > 0).all()
    assert set(problem.pieces.scores(theta, X)[:2, :20].argmax(axis=0)) == {
        1 - piece for piece in problem.pieces.scores(theta, X)[:2, 20:40].argmax(axis=0)
    }


def test_kmeans_sees_a_bounded_number_of_samples(monkeypatch):
    sizes = []

    class Recorder(initialization.KMeans):
        def fit(self, X):
            sizes.append(len(X))
            return super().fit(X)

    monkeypatch.setattr(initialization, "KMeans", Recorder)
    monkeypatch.setattr(initialization, "KMEANS_SAMPLES", 15)
    kmeans(noisy_problem(0, 0.1), np.random.default_rng(0))
    assert sizes == [15, 15]


def test_boxes_hold_their_classes_with_a_margin():
    """Classes that lie apart in every feature, far from zero: the loss of the boxes is zero."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(6, 8, (20, 3)), rng.uniform(12, 14, (20, 3))])
    problem = Problem(X, np.repeat([-1.0, 1.0], 20), np.ones(40), MorphologicalPieces(3), np.zeros(3))
    assert problem.objective(bounding_boxes(problem, rng)) == 0.0
    assert problem.objective(random_offsets(problem, rng)) > 0.0
