"""Nearest rows under constraints: they hold, the class flips, and an independent program finds the same distance."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ldep.explain import make_domain
from ldep.model import Link
from tests.support.fitted_models import (
    model_of,
    random_average,
    random_class_votes,
    random_model,
    random_of_three_classes,
)
from tests.support.questions import random_question
from tests.support.whole_program import distance_by_highs, program_of


def rows_of(seed, n, n_features=3):
    return np.random.default_rng(seed).normal(size=(n, n_features))


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
        answer = asked.model.counterfactual(asked.x[None], [label], time_limit=100.0, **asked.limits)
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


def with_link(model, kind, slope=1.3):
    """The model with probabilities."""
    n_classes = model.model_.n_classes
    intercepts = np.linspace(-0.2, 0.2, n_classes) if kind != "leads" else np.zeros(n_classes)
    model.model_ = replace(model.model_, link=Link(kind, slope, intercepts))
    return model


LINKED = {
    "identity": lambda seed: with_link(random_model(seed), "identity"),
    "asinh": lambda seed: with_link(random_model(seed), "asinh"),
    "log_odds": lambda seed: with_link(random_average(seed, n_features=3), "log_odds"),
    "softmax": lambda seed: with_link(random_of_three_classes(seed), "softmax"),
    "leads": lambda seed: with_link(random_of_three_classes(seed), "leads"),
    "log_shares": lambda seed: random_class_votes(seed, n_features=3),
}


@pytest.mark.parametrize("kind", sorted(LINKED))
def test_an_answer_has_the_probability_and_no_sampled_row_below_the_bound_has(kind):
    found = 0
    for seed in range(3):
        model = LINKED[kind](seed)
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(1, 3))
        before = model.predict(x)[0]
        answer = model.counterfactual(x, probability=0.7, bounds=(-4, 4), time_limit=60.0)
        found += int(np.isfinite(answer.distance[0]))
        if np.isfinite(answer.distance[0]):
            (probability,) = model.model_.probabilities(model.model_.decision(np.asarray(answer.rows)))
            assert probability[list(model.classes_).index(answer.target[0])] >= 0.7
            assert answer.target[0] != before
        Z = rng.uniform(-4, 4, size=(20_000, 3))
        other = model.predict(Z) != before
        sure = model.model_.probabilities(model.model_.decision(Z)).max(axis=1) >= 0.7
        assert np.linalg.norm(Z - x, axis=1)[other & sure].min(initial=np.inf) >= answer.bound[0] * (1 - 1e-9)
    assert found


@pytest.mark.parametrize("kind", ["identity", "asinh"])
def test_a_probability_of_two_classes_is_proven_and_met_exactly(kind):
    model = LINKED[kind](2)
    answer = model.counterfactual(rows_of(2, 6), probability=0.8)
    assert answer.optimal.all()
    found = np.isfinite(answer.distance)
    probability = model.model_.probabilities(model.model_.decision(np.asarray(answer.rows)[found])).max(axis=1)
    np.testing.assert_allclose(probability, 0.8, atol=1e-6)


def test_a_row_of_the_class_may_still_lack_the_probability():
    model = LINKED["identity"](2)
    X = rows_of(2, 6)
    own = model.predict(X)
    answer = model.counterfactual(X, own, probability=0.95)
    sure = model.model_.probabilities(model.model_.decision(X)).max(axis=1) >= 0.95
    assert (answer.distance[sure] == 0).all()
    assert (answer.distance[~sure] > 0).all()


def test_a_margin_is_a_lead_of_the_decision_value():
    model = random_model(1)
    X = rows_of(1, 6)
    answer = model.counterfactual(X, margin=0.5)
    np.testing.assert_allclose(np.abs(model.decision_function(answer.rows)), 0.5, rtol=1e-6)


def test_further_answers_keep_a_column_of_each_earlier_one_and_are_the_nearest_that_do():
    model, X = random_model(3, n_features=4), rows_of(5, 3, 4)
    answer = model.counterfactual(X, answers=3, bounds=(-4, 4))
    assert answer.optimal.all()
    for row, x in enumerate(X):
        sets: list[set[str]] = []
        for number in range(3 * row, 3 * row + 3):
            ways = itertools.product(*sets) if sets else [()]
            frozen = [model.counterfactual([x], frozen=set(way), bounds=(-4, 4)) for way in ways if len(set(way)) < 4]
            best = min((float(one.distance[0]) for one in frozen), default=np.inf)
            assert answer.distance[number] == pytest.approx(best)
            sets.append({change.feature for change in answer.changes[number]})
            if np.isinf(best):
                break
            assert not any(earlier <= sets[-1] for earlier in sets[:-1])
    assert "answer 2" in str(answer)


def test_a_menu_decides_about_every_set_of_columns():
    model, x = random_model(6, n_features=4), rows_of(6, 1, 4)
    names = [f"x{k}" for k in range(4)]
    menu = model.menu(x, columns=2, bounds=(-3, 3), directions={"x0": "up"})
    assert len(menu) == 4 + 6
    for option in menu.options:
        kept = [name for name in names if name not in option.columns]
        expected = model.counterfactual(x, frozen=kept, bounds=(-3, 3), directions={"x0": "up"})
        assert option.optimal
        assert option.distance == pytest.approx(float(expected.distance[0]))
        assert option.possible == bool(np.isfinite(expected.distance[0]))
    assert {option.possible for option in menu.options} == {True, False}
    assert "cannot, which is proven" in str(menu)


@pytest.mark.parametrize("kind", ["single", "votes", "classes"])
def test_every_row_of_a_box_flips_and_the_box_is_not_a_point(kind):
    makers = {"single": random_model, "votes": random_average, "classes": random_class_votes}
    grown = 0
    for seed in range(4):
        model = makers[kind](seed, n_features=3)
        x = rows_of(seed, 1)
        before = model.predict(x)[0]
        answer = model.counterfactual(x, box=True, bounds=(-4, 4), time_limit=60.0)
        if np.isinf(answer.distance[0]):
            continue
        low, high = answer.low[0], answer.high[0]
        grown += int((high > low + 1e-3).any())
        Z = np.random.default_rng(seed).uniform(low, high, size=(5000, 3))
        corners = np.array(list(itertools.product(*zip(low, high))))
        assert (model.predict(np.vstack([Z, corners])) != before).all()
    assert grown >= 2


def test_every_row_of_a_box_satisfies_the_constraints():
    answer = SUM.counterfactual([[0.0, 0.0]], box=True, bounds=(-9, 9), constraints=["x0 + 2 * x1 <= 4"])
    low, high = answer.low[0], answer.high[0]
    corners = np.array(list(itertools.product(*zip(low, high))))
    assert (high > low).all()
    assert (corners @ [1.0, 2.0]).max() <= 4.0
    assert (SUM.predict(corners) == "yes").all()
