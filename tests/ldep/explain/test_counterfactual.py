"""The nearest row of another class: it flips, no other solver finds a nearer one, and the limits on it hold."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer

from ldep import LDEPClassifier
from ldep.explain import make_domain
from tests.support.fitted_models import (
    model_of,
    random_average,
    random_model,
    random_of_three_classes,
    voting,
)

NORMS = ("l2", "l1", "linf")
seeds = st.integers(0, 2**20)
few = settings(max_examples=12)


def rows_of(model, seed, n=3):
    return np.random.default_rng(seed).normal(size=(n, model.n_features_in_))


def unless_impossible(model, X, **limits):
    """The answer; None if no row has the class, which must be the reason that is given, and true of sampled rows."""
    try:
        return model.counterfactual(X, **limits)
    except ValueError as error:
        reason = str(error)
    found = re.fullmatch(r"(?:The model never predicts|No row within the bounds has) the class (.+?)[:,] .*", reason)
    assert found, reason
    low, high = np.full(X.shape[1], -20.0), np.full(X.shape[1], 20.0)
    for feature, sides in limits.get("bounds", {}).items():
        low[feature], high[feature] = sides
    Z = np.random.default_rng(0).uniform(low, high, size=(4000, X.shape[1]))
    assert found[1] not in {repr(label) for label in model.predict(Z).tolist()}
    return None


def sampled_distance(model, x, norm, radius, n=4000):
    """The least distance of sampled rows of the other class within the radius."""
    rng = np.random.default_rng(0)
    Z = x + radius * rng.uniform(-1, 1, size=(n, len(x)))
    flipped = Z[model.predict(Z) != model.predict(x[None])[0]]
    domain = make_domain([f"x{k}" for k in range(len(x))], norm=norm)
    return domain.distance(flipped, x).min(initial=np.inf)


@few
@given(seeds, st.sampled_from(NORMS))
def test_a_single_model_flips_at_the_distance_and_not_before(seed, norm):
    model = random_model(seed)
    X = rows_of(model, seed)
    answer = unless_impossible(model, X, norm=norm)
    assume(answer is not None)
    assert (model.predict(answer.rows) == answer.target).all()
    assert answer.optimal.all()
    assert (answer.gap <= 1e-6 * (1 + answer.distance)).all()
    for x, distance in zip(X, answer.distance, strict=True):
        assert sampled_distance(model, x, norm, 1.01 * distance) >= distance * (1 - 1e-9)


@few
@given(seeds, st.sampled_from(NORMS))
def test_three_classes_reach_the_nearest_other_one(seed, norm):
    model = random_of_three_classes(seed)
    X = rows_of(model, seed)
    answer = model.counterfactual(X, norm=norm)
    assert (model.predict(answer.rows) == answer.target).all()
    assert (answer.target != answer.before).all()
    each = [unless_impossible(model, X, target=label, norm=norm) for label in range(3)]
    others = np.array([np.full(len(X), np.inf) if one is None else one.distance for one in each])
    others[answer.before, np.arange(len(X))] = np.inf
    np.testing.assert_allclose(others.min(axis=0), answer.distance, rtol=1e-6)
    np.testing.assert_allclose(model.certificate(X, norm=norm), answer.distance, rtol=1e-6, atol=1e-9)


@few
@given(seeds)
def test_an_average_flips_at_the_distance_and_not_before(seed):
    model = random_average(seed % 1000)
    X = rows_of(model, seed)
    answer = unless_impossible(model, X, time_limit=0.2)
    assume(answer is not None)
    found = np.isfinite(answer.distance)
    assume(found.any())
    rows = np.asarray(answer.rows)
    assert (model.predict(rows[found]) == answer.target[found]).all()
    assert (answer.bound <= answer.distance).all()
    for x, bound in zip(X[found], answer.bound[found], strict=True):
        assert sampled_distance(model, x, "l2", 1.01 * bound) >= bound * (1 - 1e-9)


@pytest.mark.parametrize("norm", NORMS)
def test_small_averages_are_proven(norm):
    model = random_average(3)
    answer = model.counterfactual(rows_of(model, 0, 5), norm=norm, time_limit=20.0)
    assert answer.optimal.all()


def test_the_distance_is_that_of_a_quadratic_program():
    """Every region is projected onto by scipy's SLSQP, and the best of them is taken."""
    model = random_model(1, n_features=5)
    X = rows_of(model, 4, 8)
    answer = model.counterfactual(X)
    for x, before, distance in zip(X, model.predict(X), answer.distance, strict=True):
        own, other = ((model.W_, model.c_), (model.M_, model.d_))[:: 1 if before == "no" else -1]
        best = np.inf
        for w, c in zip(*own):
            A, b = w - other[0], c - other[1]
            limits = {"type": "ineq", "fun": lambda z, A=A, b=b: A @ z + b, "jac": lambda z, A=A: A}
            done = minimize(
                lambda z, x=x: ((z - x) ** 2).sum(),
                x,
                jac=lambda z, x=x: 2 * (z - x),
                constraints=limits,
                options={"ftol": 1e-14, "maxiter": 300},
            )
            if done.success and (A @ done.x + b).min() > -1e-8:
                best = min(best, np.sqrt(done.fun))
        assert distance == pytest.approx(best, abs=1e-6)


@settings(max_examples=10)
@given(seeds, st.sampled_from(NORMS))
def test_integers_and_categories_are_the_best_of_all_combinations(seed, norm):
    """Against an enumeration: each combination is a problem with bounds only."""
    model = random_model(seed, n_features=4)
    x = np.array([[0.3, 1.0, 0.0, 1.0]])
    limits = {"integer": [1], "categories": [[2, 3]], "bounds": {1: (-2, 3), 0: (-2, 2)}}
    answer = unless_impossible(model, x, norm=norm, **limits)
    assume(answer is not None)
    best = np.inf
    target = answer.target[0]
    for count, hot in itertools.product(range(-2, 4), ((1, 0), (0, 1))):
        fixed = {1: (count, count), 2: (hot[0], hot[0]), 3: (hot[1], hot[1]), 0: (-2, 2)}
        found = unless_impossible(model, x, target=target, norm=norm, bounds=fixed)
        best = min(best, np.inf if found is None else found.distance[0])
    assert answer.distance[0] == pytest.approx(best, rel=1e-6)
    if np.isfinite(best):
        assert np.asarray(answer.rows)[0, 2:].tolist() in ([0.0, 1.0], [1.0, 0.0])
        assert np.asarray(answer.rows)[0, 1] % 1 == 0
        assert model.predict(answer.rows)[0] == target


def test_frozen_features_keep_their_bits_and_bounds_hold():
    model = random_model(5, n_features=6)
    X = rows_of(model, 1, 20)
    answer = model.counterfactual(X, frozen=[0, 3], bounds=(-3.0, 3.0))
    found = np.isfinite(answer.distance)
    assert found.any()
    np.testing.assert_array_equal(answer.rows[found][:, [0, 3]], X[found][:, [0, 3]])
    free = answer.rows[found][:, [1, 2, 4, 5]]
    assert (np.abs(free) <= 3.0).all()
    assert (model.predict(answer.rows[found]) != model.predict(X[found])).all()


def test_the_scale_is_the_length_of_a_unit():
    """A feature measured in other units gives the same rows."""
    X, y = load_breast_cancer(return_X_y=True)
    deviation = X.std(axis=0)
    raw = LDEPClassifier(3, 3, penalty="variance", random_state=0).fit(X, y)
    answer = raw.counterfactual(X[:20], scale=deviation)
    assert (raw.predict(answer.rows) != raw.predict(X[:20])).all()
    np.testing.assert_allclose(answer.distance, np.linalg.norm((answer.rows - X[:20]) / deviation, axis=1))


def test_a_large_offset_of_the_features_loses_no_digits():
    """The same model around 1e9, where numbers have a resolution of 1e-7, finds the same ways."""
    offset = 1e9
    near, far = random_model(6), random_model(6, center=offset)
    shifted = rows_of(near, 0, 10) + offset
    answer = far.counterfactual(shifted)
    assert (far.predict(answer.rows) == answer.target).all()
    np.testing.assert_allclose(answer.distance, near.counterfactual(shifted - offset).distance, atol=1e-6)


def test_a_frame_gives_a_frame_and_readable_changes():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = LDEPClassifier(2, 2, penalty="variance", random_state=0).fit(X, y)
    answer = model.counterfactual(X[:2], norm="l1", scale=X.std())
    assert isinstance(answer.rows, pd.DataFrame)
    (change, *_), _ = answer.changes
    assert change.feature in X.columns
    assert change.before == X[change.feature].iloc[0]
    assert f"{change.feature}: " in str(answer)
    assert "proven to be the nearest" in str(answer)


def test_a_row_of_the_target_class_is_its_own_answer():
    model = random_model(2)
    X = rows_of(model, 2, 10)
    answer = model.counterfactual(X, "yes")
    own = model.predict(X) == "yes"
    assert own.any()
    assert (answer.distance[own] == 0).all()
    np.testing.assert_array_equal(answer.rows[own], X[own])


class TestBadInput:
    model = random_model(0)
    x = np.zeros((1, 3))

    def test_a_class_that_does_not_exist(self):
        with pytest.raises(ValueError, match=r"^target 'maybe' is not one of the classes \['no', 'yes'\]\.$"):
            self.model.counterfactual(self.x, "maybe")

    @pytest.mark.parametrize("in_average", [False, True])
    def test_a_class_that_no_region_has(self, in_average):
        constant = np.zeros((7, 3))
        constant[:4, -1] = 1.0
        model = model_of(constant, (4, 3))
        if in_average:
            model = voting([model] * 3, np.full(3, 1.0 / 3.0))
        with pytest.raises(ValueError, match=r"^The model never predicts the class 'no', so that no row has it\.$"):
            model.counterfactual(np.zeros((1, 2)), "no")

    def test_all_features_are_frozen(self):
        with pytest.raises(ValueError, match=r"^frozen names every feature, so that no row can change"):
            self.model.counterfactual(self.x, frozen=[0, 1, 2])

    def test_bounds_that_exclude_every_region(self):
        here = self.model.counterfactual(self.x)
        tiny = float(here.distance[0]) / 10
        with pytest.raises(ValueError, match=r"^No row within the bounds has the class '(yes|no)': widen them\.$"):
            self.model.counterfactual(self.x, bounds=(-tiny, tiny))

    def test_bounds_in_the_wrong_order(self):
        with pytest.raises(ValueError, match=r"^bounds of 'x1' are 2 and 1: the lower one is the larger\.$"):
            self.model.counterfactual(self.x, bounds={"x1": (2, 1)})

    def test_a_category_that_was_never_seen(self):
        with pytest.raises(
            ValueError, match=r"^Row 0 has the category 0\.0 in 'x1', which is not one of \[1\.0, 2\.0\]"
        ):
            self.model.counterfactual(self.x, categories={"x1": [1, 2]})

    def test_a_row_with_nan(self):
        with pytest.raises(
            ValueError, match=r"^Row 1 has NaN in 'x2': fill in the value before asking about the row\.$"
        ):
            self.model.counterfactual([[0, 0, 0], [0, 0, np.nan]])

    def test_an_unknown_feature(self):
        with pytest.raises(ValueError, match=r"^frozen names 'age', which is not a feature of the model\.$"):
            self.model.counterfactual(self.x, frozen=["age"])

    def test_an_unknown_norm(self):
        with pytest.raises(ValueError, match=r"^norm='l0' is not known: use 'l2', 'l1' or 'linf'\.$"):
            self.model.counterfactual(self.x, norm="l0")
