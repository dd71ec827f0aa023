"""The certificate: no attack within the radius succeeds, and the counterfactual just outside it does."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from ldep import LDEPClassifier, LDEPClassifierCV
from tests.support.fitted_models import model_of

X, y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
single = LDEPClassifier(5, 5, random_state=0).fit(X, y)
average = LDEPClassifierCV(pieces=[(5, 5)], alphas=[1.0, 10.0], penalties=["norm"], cv=3, random_state=0).fit(X, y)


def in_ball(rng, n_points, n_features, norm):
    """Points of the unit ball, half of them on its sphere."""
    if norm == "linf":
        points = rng.uniform(-1, 1, size=(n_points, n_features))
        points[::2] = np.sign(points[::2])
        return points
    points = rng.normal(size=(n_points, n_features)) if norm == "l2" else rng.laplace(size=(n_points, n_features))
    points /= np.linalg.norm(points, ord=2 if norm == "l2" else 1, axis=1)[:, None]
    points[1::2] *= rng.uniform(size=(len(points[1::2]), 1)) ** (1 / n_features)
    return points


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
@pytest.mark.parametrize("model", [single, average], ids=["single", "average"])
def test_no_attack_within_the_radius_succeeds(model, norm):
    rows = X[:2] if model is average and norm != "l2" else X[::114]
    radius = model.certificate(rows, norm=norm)
    assert (radius > 0).all()
    rng = np.random.default_rng(0)
    for x, r in zip(rows, radius, strict=True):
        attacks = x + r * in_ball(rng, 2000, 30, norm)
        assert (model.predict(attacks) == model.predict(x[None])).all()


@pytest.mark.parametrize("model", [single, average], ids=["single", "average"])
def test_the_class_changes_just_outside(model):
    rows = X[::57]
    answer = model.counterfactual(rows)
    assert answer.optimal.all()
    radius = model.certificate(rows)
    np.testing.assert_allclose(radius, answer.distance, rtol=1e-5)
    inside = rows + (1 - 1e-5) * (answer.rows - rows)
    assert (model.predict(inside) == model.predict(rows)).all()


def test_a_constant_model_has_an_infinite_radius():
    model = model_of(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), (1, 1))
    assert model.certificate([[3.0, 4.0]]) == np.inf
