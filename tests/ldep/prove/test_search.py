"""The largest value of a decision value is that of an enumeration, for all kinds of models and inputs."""

import itertools

import numpy as np
import pytest

from ldep.explain import Deadline
from ldep.model import unfolded
from ldep.prove._certificate import Inputs, Question, condition, feature, numbers_of
from ldep.prove._search import Search
from tests.support.proven_models import random_model

KINDS = {
    "two classes": {"classes": 2, "members": 1},
    "three classes": {"classes": 3, "members": 1},
    "votes of two classes": {"classes": 2, "members": 2},
    "votes of three classes": {"classes": 3, "members": 2},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_on_grids_and_choices_it_is_that_of_all_rows(kind, seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 4, 3, **KINDS[kind])
    table = rng.normal(size=(3, 2))
    inputs = Inputs()
    for j in range(2):
        inputs.add(f"x{j}", -2.0, 2.0, (0.0, 0.5))
    inputs.add_choice([inputs.add("x2", table[:, 0].min(), table[:, 0].max()),
                       inputs.add("x3", table[:, 1].min(), table[:, 1].max())], table)  # fmt: skip
    question = Question([numbers_of(model)], inputs)
    question.add_copy(0, [feature([(j, 1.0)]) for j in range(4)])
    last = model.n_classes - 1
    claim = {"conditions": [condition([(0, last, 1.0), (0, 0, -1.0)])], "ranges": []}
    search = Search(question.problem(), claim, Deadline.after(60.0))
    search.largest(0.0)
    grid = np.arange(-2.0, 2.5, 0.5)
    X = np.array([[a, b, *row] for a, b, row in itertools.product(grid, grid, table)])
    scores = unfolded(model.decision(X))
    assert search.best == pytest.approx((scores[:, last] - scores[:, 0]).max(), abs=1e-9)
    assert search.bound == pytest.approx(search.best, abs=1e-6)
    bound = search.exact_bound()
    assert bound is not None
    assert float(bound) == pytest.approx(search.best, abs=1e-6)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_in_a_ball_it_is_at_most_what_the_slopes_allow(norm):
    """With one piece per class tau is affine: its largest value in a ball is the dual norm of its slope."""
    rng = np.random.default_rng(0)
    model, center, scale = random_model(rng, 5, 1), rng.normal(size=5), rng.uniform(0.5, 2.0, 5)
    inputs = Inputs(ball={"center": center.tolist(), "scale": scale.tolist(), "norm": norm, "radius": 0.7})
    for j in range(5):
        inputs.add(f"x{j}", -10.0, 10.0)
    question = Question([numbers_of(model)], inputs)
    question.add_copy(0, [feature([(j, 1.0)]) for j in range(5)])
    search = Search(question.problem(), {"conditions": [condition([(0, 1, 1.0)])], "ranges": []}, Deadline.after(60.0))
    search.largest(0.0)
    slope = (model.members[0].slopes[1] - model.members[0].slopes[0])[0] * scale
    dual = {"l1": np.inf, "l2": 2, "linf": 1}[norm]
    expected = float(model.decision(center[None])[0]) + 0.7 * np.linalg.norm(slope, dual)
    bound = search.exact_bound()
    assert bound is not None
    assert float(bound) == pytest.approx(expected, rel=1e-5)


def test_a_limit_of_time_leaves_a_bound_that_holds():
    rng = np.random.default_rng(0)
    model = random_model(rng, 6, 5, members=3)
    inputs = Inputs()
    for j in range(6):
        inputs.add(f"x{j}", -2.0, 2.0)
    question = Question([numbers_of(model)], inputs)
    question.add_copy(0, [feature([(j, 1.0)]) for j in range(6)])
    search = Search(question.problem(), {"conditions": [condition([(0, 1, 1.0)])], "ranges": []}, Deadline.after(0.2))
    search.largest(0.0)
    bound = search.exact_bound()
    X = rng.uniform(-2.0, 2.0, (100_000, 6))
    assert bound is not None
    assert model.decision(X).max() <= float(bound) <= 1.0 + 1e-9
