"""Constraints as people write them, and what they mean."""

import numpy as np
import pytest

from ldep.explain import Deadline, make_domain, parse
from ldep.explain._projection import Row

COLUMNS = ["age", "tenure", "mean radius", "größe"]


@pytest.mark.parametrize(
    ("text", "coefficients", "limit", "equal"),
    [
        ("tenure <= age * 12", {"tenure": 1.0, "age": -12.0}, 0.0, False),
        ("tenure >= 2", {"tenure": -1.0}, -2.0, False),
        ("2 * (age - 3) + 1 <= -tenure / 4", {"age": 2.0, "tenure": 0.25}, 5.0, False),
        ("`mean radius` = 1.5e1 + größe", {"mean radius": 1.0, "größe": -1.0}, 15.0, True),
        ("age == tenure", {"age": 1.0, "tenure": -1.0}, 0.0, True),
        ("(1 + 1) * 3 * age <= 6", {"age": 6.0}, 6.0, False),
    ],
)
def test_a_constraint_is_a_sum_with_a_limit(text, coefficients, limit, equal):
    (read,) = parse(text, COLUMNS)
    assert (read.coefficients, read.limit, read.equal) == (coefficients, limit, equal)
    assert read.text == text


def test_a_chain_is_several_constraints():
    low, high = parse("0 <= age - tenure <= 40", COLUMNS)
    assert (low.coefficients, low.limit) == ({"age": -1.0, "tenure": 1.0}, 0.0)
    assert (high.coefficients, high.limit) == ({"age": 1.0, "tenure": -1.0}, 40.0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("agee <= 3", "did you mean 'age'"),
        ("age - age <= 3", "no column is left"),
        ("age <= 3 +", "ends too early"),
        ("age / 0 <= 3", "divides by 0"),
        ("3 / age <= 3", "only linear"),
        ("age <= tenure ? 3", "'?' cannot be read"),
        ("age 3 <= 4", "not expected"),
        ("age != 4", "'!=' is not expected"),
        ("", "ends too early"),
    ],
)
def test_what_is_not_understood_is_said(text, why):
    with pytest.raises(ValueError, match=r".*") as error:
        parse(text, COLUMNS)
    assert why in str(error.value)


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
def test_a_column_that_follows_may_reach_the_class_although_it_is_no_change(norm):
    """The model depends on the total alone, which one change of its parts moves."""
    names = ["parts", "labour", "total", "other"]
    domain = make_domain(names, norm=norm, constraints=["total = parts + labour"], max_changes=1)
    row = Row.of(np.array([1.0, 1.0, 2.0, 0.0]), domain)
    u = row.nearest(np.array([[0.0, 0.0, 1.0, 0.0]]), np.array([1.0]), np.inf, Deadline())
    assert u is not None
    assert u[2] == pytest.approx(1.0, abs=1e-6)
    assert sorted(np.abs(u[[0, 1, 3]])) == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
