"""`warm_start`: the next fit begins at the present solution."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_moons

from ldep import LDEPClassifier

MOONS = make_moons(300, noise=0.25, random_state=0)


@pytest.mark.parametrize(
    ("solver", "loss", "options"),
    [("anneal", "logistic", None), ("anneal", "hinge", None), ("ccp", "hinge", {"n_kicks": 0})],
)
def test_a_second_fit_on_the_same_data_is_short_and_no_worse(solver, loss, options):
    model = LDEPClassifier(3, 3, loss=loss, solver=solver, solver_options=options, warm_start=True, random_state=0)
    model.fit(*MOONS)
    objective, n_iter = model.objective_, model.n_iter_
    model.fit(*MOONS)
    assert model.n_iter_ <= (n_iter // 2 if solver == "anneal" else n_iter)
    assert model.objective_ <= objective * (1 + 1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_path_of_penalties_is_as_good_as_fits_of_their_own(n_classes, loss):
    X, y = make_classification(300, 8, n_informative=6, n_classes=n_classes, random_state=0)
    path = LDEPClassifier(4, 4, loss=loss, tol=1e-3, warm_start=True, random_state=0)
    n_iter, cold_n_iter = 0, 0
    for number, alpha in enumerate([0.1, 0.3, 1.0, 3.0, 10.0]):
        path.set_params(alpha=alpha).fit(X, y)
        cold = LDEPClassifier(4, 4, loss=loss, alpha=alpha, tol=1e-3, random_state=0).fit(X, y)
        assert path.objective_ <= 1.2 * cold.objective_
        if number:
            n_iter, cold_n_iter = n_iter + path.n_iter_, cold_n_iter + cold.n_iter_
    assert n_iter < cold_n_iter


def test_more_rows_are_followed():
    X, y = MOONS
    model = LDEPClassifier(3, 3, alpha=0.1, warm_start=True, random_state=0).fit(X[:50], y[:50])
    cold = LDEPClassifier(3, 3, alpha=0.1, random_state=0).fit(X, y)
    assert model.fit(X, y).objective_ <= 1.1 * cold.objective_


def test_without_warm_start_a_second_fit_is_the_first():
    model = LDEPClassifier(3, 3, random_state=0).fit(*MOONS)
    W = model.W_
    np.testing.assert_array_equal(model.fit(*MOONS).W_, W)


def test_the_first_fit_and_that_of_a_clone_begin_anew():
    cold = LDEPClassifier(3, 3, random_state=0).fit(*MOONS)
    warm = LDEPClassifier(3, 3, warm_start=True, random_state=0).fit(*MOONS)
    np.testing.assert_array_equal(warm.W_, cold.W_)
    np.testing.assert_array_equal(clone(warm).fit(*MOONS).W_, cold.W_)


def test_a_sparse_fit_begins_at_a_dense_solution():
    X, y = MOONS
    model = LDEPClassifier(3, 3, warm_start=True, random_state=0).fit(X, y)
    objective = model.objective_
    assert model.fit(sparse.csr_array(X), y).objective_ <= objective * (1 + 1e-9)


def test_a_feature_with_a_large_offset_loses_no_digits():
    X, y = MOONS[0] + [1e7, 0.0], MOONS[1]
    model = LDEPClassifier(3, 3, warm_start=True, random_state=0).fit(X, y)
    objective = model.objective_
    assert model.fit(X, y).objective_ <= objective * (1 + 1e-6)


def test_a_constraint_holds_after_a_fit_without_it():
    model = LDEPClassifier(3, 3, warm_start=True, random_state=0).fit(*MOONS)
    model.set_params(monotone={0: 1}).fit(*MOONS)
    assert (model.W_[:, 0] >= 0).all()
    assert (model.M_[:, 0] <= 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.column_stack([MOONS[0], MOONS[0]])}, "X has 4 features, but LDEPClassifier is expecting 2 features"),
        ({"y": MOONS[1] + 1}, r"warm_start.*classes \[1, 2\].*fitted to \[0, 1\]"),
        ({"y": np.arange(300) % 3}, r"warm_start.*classes \[0, 1, 2\]"),
        ({"params": {"r1": 4}}, r"warm_start.*r1=4 and r2=3.*3 and 3"),
        ({"params": {"r2": 1}}, r"warm_start.*r1=3 and r2=1"),
    ],
    ids=["other features", "other classes", "more classes", "r1", "r2"],
)
def test_another_problem_is_refused_and_leaves_the_model(change, message):
    model = LDEPClassifier(3, 3, warm_start=True, random_state=0).fit(*MOONS)
    before = model.decision_function(MOONS[0])
    model.set_params(**change.get("params", {}))
    with pytest.raises(ValueError, match=message):
        model.fit(change.get("X", MOONS[0]), change.get("y", MOONS[1]))
    np.testing.assert_array_equal(model.decision_function(MOONS[0]), before)
    np.testing.assert_array_equal(model.classes_, [0, 1])


def test_other_feature_names_are_refused():
    frame = pd.DataFrame(MOONS[0], columns=["left", "right"])
    model = LDEPClassifier(2, 2, warm_start=True, random_state=0).fit(frame, MOONS[1])
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.fit(frame.rename(columns={"left": "top"}), MOONS[1])
