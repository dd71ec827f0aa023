"""Nearest rows under constraints: they hold, the class flips, and an independent program finds the same distance."""

import numpy as np
import pytest

from ldep.explain import make_domain
from tests.support.fitted_models import model_of, random_model
from tests.support.questions import random_question
from tests.support.whole_program import distance_by_highs, program_of


def asked_distance(asked, answer):
    """The distance of an answer, where everything that was asked for is checked on the way."""
    domain = make_domain(asked.names, **asked.limits)
    if np.isinf(answer.distance[0]):
        return np.inf
    z = np.asarray(answer.rows)[0]
    low, high = domain.sides(asked.x)
    assert asked.model.predict(z[None])[0] == answer.target[0]
    assert ((z >= low - 1e-9) & (z <= high + 1e-9))[~domain.frozen].all()
    assert (z == asked.x)[domain.frozen].all()
    assert domain.holds(z[None])[0]
    stepped = domain.steps > 0
    steps = (z - asked.x)[stepped] / domain.steps[stepped]
    assert np.abs(steps - np.rint(steps)).max(initial=0.0) < 1e-9
    for choice in domain.choices:
        assert np.abs(choice.table - z[choice.columns]).max(axis=1).min() < 1e-9
    if domain.max_changes is not None:
        assert sum((z != asked.x)[columns].any() for columns in domain.columns) <= domain.max_changes
    return float(domain.distance(z, asked.x))


# Questions of all kinds of models that take the oracle little time; `python -m benchmarks recourse` asks 500.
QUICK = (0, 2, 3, 5, 6, 8, 10, 12, 14, 17, 18, 19, 21, 22)


@pytest.mark.parametrize("seed", QUICK)
def test_the_distance_is_that_of_a_program_of_the_whole_problem(seed):
    asked = random_question(seed, norm=("l1", "linf")[seed % 2])
    domain = make_domain(asked.names, **asked.limits)
    before = asked.model.predict(asked.x[None])[0]
    for target, label in enumerate(asked.model.classes_):
        if label == before:
            continue
        program = program_of(asked.model.model_, domain, asked.x, target)
        expected = distance_by_highs(program, domain.norm)
        answer = asked.model.counterfactual(asked.x[None], [label], time_limit=20.0, **asked.limits)
        assert asked_distance(asked, answer) == pytest.approx(answer.distance[0])
        assert answer.optimal[0]
        assert answer.distance[0] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_feature_that_only_rises_never_falls():
    model = random_model(0)
    X = np.random.default_rng(0).normal(size=(20, 3))
    answer = model.counterfactual(X, directions={0: "up", 1: "down"}, bounds=(-10, 10))
    change = np.asarray(answer.rows) - X
    found = np.isfinite(answer.distance)
    assert found.any()
    assert (change[found, 0] >= 0).all()
    assert (change[found, 1] <= 0).all()


# tau = x0 + x1 - 1: the second class from a sum of 1.
SUM = model_of([[1.0, 1.0, -1.0], [0.0, 0.0, 0.0]], (1, 1))


def test_an_answer_satisfies_a_constraint_that_the_row_violates():
    answer = SUM.counterfactual([[0.0, 0.0]], constraints=["x1 >= x0 + 3"])
    np.testing.assert_allclose(answer.rows, [[-1.0, 2.0]], atol=1e-8)
    assert SUM.predict(answer.rows)[0] == "yes"


def test_an_equation_moves_a_column_with_those_that_it_follows_from():
    model = model_of([[1.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0]], (1, 1))
    answer = model.counterfactual([[0.0, 2.0, 2.0]], constraints=["x2 = x0 + x1"])
    np.testing.assert_allclose(answer.rows, [[1.0, 1.5, 2.5]], atol=1e-8)


def test_a_cost_moves_the_change_to_the_other_feature():
    cheap = SUM.counterfactual([[0.0, 0.0]], norm="l1", costs={"x0": 5})
    np.testing.assert_allclose(cheap.rows, [[0.0, 1.0]])
    assert cheap.distance[0] == pytest.approx(1.0)


def test_at_most_so_many_features_change():
    model = random_model(4, n_features=6)
    X = np.random.default_rng(1).normal(size=(10, 6))
    distances = []
    for most in (1, 2, 6):
        answer = model.counterfactual(X, max_changes=most, bounds=(-5, 5))
        found = np.isfinite(answer.distance)
        assert answer.optimal.all()
        assert ((np.asarray(answer.rows) != X)[found].sum(axis=1) <= most).all()
        distances.append(answer.distance)
    assert (distances[0] >= distances[1]).all()
    assert (distances[1] >= distances[2] * (1 - 1e-9)).all()


def test_that_no_row_exists_is_a_proven_answer():
    answer = SUM.counterfactual([[0.0, 0.0]], directions={"x0": "down", "x1": "down"})
    assert np.isinf(answer.distance[0])
    assert answer.optimal[0]
    assert "no allowed row" in str(answer)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"constraints": ["x0 <= 1", "x1 <= 5", "x0 >= 2"]}, "'x0 <= 1' and 'x0 >= 2' contradict each other"),
        ({"constraints": ["x0 + x1 >= 5"], "bounds": (0, 1)}, "No row within the bounds satisfies"),
        ({"constraints": ["age <= 5"]}, "names 'age', which is not a column"),
        ({"constraints": ["x0 < 5"]}, "'<=' is meant"),
        ({"constraints": ["x0 * x1 <= 5"]}, "only linear constraints"),
        ({"constraints": ["x0 / x1 <= 5"]}, "only linear constraints"),
        ({"constraints": ["x0 = x1 ** 2"]}, "only linear constraints"),
        ({"constraints": ["x0 + 3"]}, "compares nothing"),
        ({"constraints": ["__import__('os')"]}, "is not understood"),
        ({"constraints": ["(x0 <= 3"]}, "parenthesis is not closed"),
        ({"directions": {"x0": "left"}}, "'up' or 'down'"),
        ({"directions": {"x9": "up"}}, "'x9', which is not a feature"),
        ({"costs": {"x0": 0}}, "must be a positive number"),
        ({"max_changes": 0}, "at least 1"),
    ],
)
def test_a_mistake_in_the_question_is_one_sentence(limits, message):
    with pytest.raises(ValueError, match=r".*") as error:
        SUM.counterfactual([[0.0, 0.0]], **limits)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
