"""Monotone features: no violation, to the last bit, with every solver."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons

from ldep import LDEPClassifier, LDEPClassifierCV

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(seed: int, m: int = 120, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Features of very different scales and offsets, and labels that are not monotone in the first two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = np.abs(X[:, 0]) + np.sin(2 * X[:, 1]) > rng.normal(0.5, 0.3, m)
    return X * rng.choice([1e-3, 1.0, 1e3], n) + rng.choice([0.0, 10.0, 1e5], n), y


def pairs(seed: int, X: np.ndarray, feature: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows near those of X, and the same rows with a larger value of one feature: by much, or by the last bit."""
    rng = np.random.default_rng(seed)
    low = X[rng.integers(0, len(X), count)] + X.std(axis=0) * rng.normal(size=(count, X.shape[1]))
    high = low.copy()
    step = X[:, feature].std() * 10.0 ** rng.uniform(-15, 2, count)
    high[:, feature] = np.maximum(low[:, feature] + step, np.nextafter(low[:, feature], np.inf))
    return low, high


def assert_never_falls(model: LDEPClassifier | LDEPClassifierCV, low, high) -> None:
    """Whether the rows of a pair are in the same call or in different ones."""
    together = model.decision_function(np.vstack([low, high]))
    assert (together[len(low) :] >= together[: len(low)]).all()
    assert (model.decision_function(high[7:]) >= model.decision_function(low)[7:]).all()


@settings(max_examples=12)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, -1]),
    st.sampled_from([0.0, 0.01, 1.0]),
    st.sampled_from([("anneal", "logistic"), ("anneal", "hinge"), ("ccp", "hinge")]),
)
def test_ten_thousand_pairs_show_no_violation(seed, sign, alpha, method):
    X, y = data(seed)
    solver, loss = method
    model = LDEPClassifier(3, 3, alpha=alpha, solver=solver, loss=loss, monotone={0: sign}, max_iter=10, random_state=0)
    low, high = pairs(seed, X, 0, 10_000)
    assert_never_falls(model.fit(X, y), *((low, high) if sign > 0 else (high, low)))


def test_the_slopes_have_the_signs_that_were_asked_for():
    X, y = data(0, m=40)
    for solver, loss in (("anneal", "logistic"), ("anneal", "hinge"), ("ccp", "hinge"), ("dccp", "hinge")):
        model = LDEPClassifier(2, 2, solver=solver, loss=loss, monotone=[1, -1, 0], max_iter=4, random_state=0)
        model.fit(X, y)
        assert (model.W_[:, :2] * [1, -1] >= 0).all()
        assert (model.M_[:, :2] * [1, -1] <= 0).all()
        assert model.W_[:, 2].any()


def test_without_the_constraint_there_are_violations():
    """So that the tests above would notice one."""
    X, y = data(0)
    model = LDEPClassifier(3, 3, random_state=0).fit(X, y)
    low, high = pairs(0, X, 0, 1000)
    assert (model.decision_function(high) < model.decision_function(low)).any()


@pytest.mark.parametrize(("solver", "loss"), [("anneal", "logistic"), ("anneal", "hinge"), ("ccp", "hinge")])
def test_a_constraint_that_the_data_fulfil_costs_little(solver, loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = X[:, 0] + np.abs(X[:, 1]) > 0.7
    options = {"n_kicks": 0} if solver == "ccp" else None
    free = LDEPClassifier(3, 3, loss=loss, alpha=0.1, solver=solver, solver_options=options, random_state=0)
    bounded = clone(free).set_params(monotone={0: 1}).fit(X, y)
    assert bounded.objective_ <= 1.15 * free.fit(X, y).objective_ + 1.0
    assert bounded.score(X, y) >= free.score(X, y) - 0.02


def test_the_solvers_agree_where_the_problem_is_convex():
    X, y = make_moons(100, noise=0.2, random_state=0)
    settings = {"r1": 1, "r2": 1, "loss": "hinge", "alpha": 1.0, "monotone": [1, -1], "random_state": 0}
    objectives = [LDEPClassifier(**settings, solver=name).fit(X, y).objective_ for name in ("anneal", "ccp", "dccp")]
    assert objectives == pytest.approx([objectives[0]] * 3, rel=1e-4)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_features_may_be_named(frame):
    X, y = data(0)
    columns = frame({name: X[:, k] for k, name in enumerate(["age", "income", "debt"])})
    named = LDEPClassifier(2, 2, monotone={"age": 1, "debt": -1}, random_state=0).fit(columns, y)
    listed = LDEPClassifier(2, 2, monotone=[1, 0, -1], random_state=0).fit(X, y)
    np.testing.assert_array_equal(named.W_, listed.W_)
    np.testing.assert_array_equal(named.monotone_, [1, 0, -1])


@pytest.mark.parametrize("monotone", [None, {}, [0, 0, 0]], ids=repr)
def test_no_constraint_leaves_every_bit(monotone):
    X, y = data(1)
    model = LDEPClassifier(2, 2, monotone=monotone, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.W_, LDEPClassifier(2, 2, random_state=0).fit(X, y).W_)
    assert model.monotone_ is None


def test_sparse_rows_show_no_violation():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 6)) < 0.4, rng.normal(size=(200, 6)), 0.0)
    model = LDEPClassifier(3, 3, monotone={0: 1}, random_state=0).fit(sparse.csr_array(X), np.abs(X[:, 0]) < X[:, 1])
    low = X[rng.integers(0, 200, 5000)]
    high = low + np.outer(rng.exponential(1.0, 5000), np.eye(6)[0])
    decision = [model.decision_function(sparse.csr_array(rows)) for rows in (low, high)]
    assert (decision[1] >= decision[0]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.arange(120) % 3}, "monotone needs two classes, but there are 3"),
        ({"penalty": "variance"}, "monotone needs penalty='norm'"),
        ({"monotone": {"age": 1}}, "X has no column names"),
        ({"monotone": {3: 1}}, "no feature 3"),
        ({"monotone": {0: 2}}, "the direction of feature 0 is 2"),
        ({"monotone": [1, 0]}, r"shape \(2,\), but X has 3 features"),
        ({"monotone": "age"}, "monotone"),
        ({"monotone": 1}, "monotone"),
    ],
    ids=repr,
)
def test_bad_constraints_are_refused_with_the_reason(change, message):
    X, y = data(0)
    y = change.pop("y", y)
    with pytest.raises(ValueError, match=message):
        LDEPClassifier(2, 2, **({"monotone": {0: 1}} | change)).fit(X, y)


GRID = {"pieces": [(3, 3), (1, 1)], "alphas": [0.01, 1.0], "cv": 3, "random_state": 0}


@pytest.mark.parametrize("ensemble", [True, False])
class TestSelfTuning:
    """LDEPClassifierCV: votes of monotone models are monotone, and so are their probabilities."""

    def test_ten_thousand_pairs_show_no_violation(self, ensemble):
        X, y = data(0)
        model = LDEPClassifierCV(**GRID, ensemble=ensemble, monotone={0: 1}).fit(X, y)
        low, high = pairs(0, X, 0, 10_000)
        assert_never_falls(model, low, high)
        # The exponential function of numpy is not promised to be monotone to the last bit.
        assert (model.predict_proba(high)[:, 1] >= model.predict_proba(low)[:, 1] - 1e-15).all()
        assert {params["penalty"] for params in model.cv_results_["params"]} == {"norm"}
        assert all((member.W_[:, 0] >= 0).all() for member in model.estimators_)

    def test_features_may_be_named(self, ensemble):
        X, y = data(0)
        frame = pd.DataFrame(X, columns=["age", "income", "debt"])
        model = LDEPClassifierCV(**GRID, ensemble=ensemble, monotone={"debt": -1}).fit(frame, y)
        np.testing.assert_array_equal(model.monotone_, [0, 0, -1])
        assert all((member.W_[:, 2] <= 0).all() for member in model.estimators_)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"y": np.arange(120) % 3}, "monotone needs two classes, but there are 3"),
            ({"penalties": ["variance"]}, r"penalties=\['variance'\] cannot be used with monotone"),
            ({"monotone": {"age": 1}}, "X has no column names"),
            ({"monotone": [1, 0]}, r"shape \(2,\), but X has 3 features"),
        ],
        ids=repr,
    )
    def test_bad_constraints_are_refused_with_the_reason(self, ensemble, change, message):
        X, y = data(0)
        settings = {"monotone": {0: 1}} | {name: value for name, value in change.items() if name != "y"}
        with pytest.raises(ValueError, match=message):
            LDEPClassifierCV(**GRID, ensemble=ensemble, **settings).fit(X, change.get("y", y))
