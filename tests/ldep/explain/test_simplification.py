"""Dropping dead pieces changes no decision value in the box, and drops all that can be dropped."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from ldep import LDEPClassifier, LDEPClassifierCV
from tests.support.fitted_models import model_of, random_model, random_of_three_classes

seeds = st.integers(0, 2**20)


@settings(max_examples=20)
@given(seeds, st.sampled_from([random_model, random_of_three_classes]), st.booleans())
def test_decision_values_stay_the_same(seed, make, in_box):
    model = make(seed)
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(500, 3))
    smaller = model.simplify(X if in_box else None)
    rows = X if in_box else 100 * X
    np.testing.assert_allclose(smaller.decision_function(rows), model.decision_function(rows), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(smaller.predict(rows), model.predict(rows))


def test_a_piece_below_the_others_goes_and_one_that_is_somewhere_above_stays():
    """|x| = max(x, -x): 0.5 x - 1 is below it everywhere, 0.5 x + 1 is above it around 0, 2 x - 5 far away."""
    table = np.array([[1.0, 0], [-1, 0], [0.5, -1], [0.5, 1], [2, -5], [0, 0]])
    model = model_of(table, (5, 1))
    everywhere = model.simplify()
    assert everywhere.r1 == 4
    assert [-0.5, -1.0] not in np.column_stack([everywhere.W_, everywhere.c_]).tolist()
    near = model.simplify([[-3.0], [3.0]])
    assert near.r1 == 3
    x = np.linspace(-3, 3, 101)[:, None]
    np.testing.assert_array_equal(near.decision_function(x), model.decision_function(x))


def test_equal_pieces_are_kept_once():
    model = model_of(np.array([[1.0, 0], [1.0, 0], [1.0, 0], [0.0, 0]]), (3, 1))
    assert model.simplify().r1 == 1


def test_a_trained_model_gets_smaller_and_decides_the_same():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LDEPClassifierCV(pieces=[(10, 10)], alphas=[10.0], penalties=["norm"], cv=3, random_state=0).fit(X, y)
    smaller = model.simplify(X)
    before, after = (sum(member.r1 + member.r2 for member in one.estimators_) for one in (model, smaller))
    assert after < before
    np.testing.assert_array_equal(smaller.predict(X), model.predict(X))
    assert sum(member.r1 + member.r2 for member in model.estimators_) == before


def test_offsets_at_zero_follow_the_centre():
    model = random_model(0, center=5.0)
    smaller = model.simplify()
    X = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(smaller.decision_function(X), model.decision_function(X), atol=1e-12)
    assert smaller.center_[0] == 5.0


def test_no_more_pieces_than_are_in_use_do_the_work():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = (X - X.mean()) / X.std()
    model = LDEPClassifier(10, 10, random_state=0).fit(X, y)
    summary = model.explain_global(X)
    assert summary.n_pieces_in_use <= summary.n_pieces == 20
    assert sum(region.n_rows for region in summary.regions) == summary.n_rows == len(X)
    by_class = [sum(region.classes.get(label, 0) for region in summary.regions) for label in (0, 1)]
    assert by_class == [int((model.predict(X) == label).sum()) for label in (0, 1)]
    contributions = model.attribute(X, X.mean()).contributions
    np.testing.assert_allclose(summary.importance, np.abs(contributions).mean(axis=0), rtol=1e-12)
    assert f"569 rows: {summary.n_pieces_in_use} of 20 pieces are in use" in str(summary)
    assert X.columns[summary.importance.argmax()] in str(summary).splitlines()[2]


@pytest.mark.parametrize("make", [random_of_three_classes])
def test_three_classes_have_regions_too(make):
    model = make(1)
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert sum(region.n_rows for region in model.explain_global(X).regions) == 100
