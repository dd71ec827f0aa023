"""The parameter `monotone`: its forms, and what is refused."""

import numpy as np
import pytest

from ldep.training import check_monotone

NAMES = np.array(["age", "income", "debt"], dtype=object)


@pytest.mark.parametrize(
    "monotone",
    [{"age": 1, "debt": -1}, {0: 1, 2: -1}, {"age": 1, 2: -1.0, "income": 0}, [1, 0, -1], np.array([1.0, 0.0, -1.0])],
    ids=repr,
)
def test_names_indices_and_arrays_say_the_same(monotone):
    np.testing.assert_array_equal(check_monotone(monotone, 3, NAMES), [1, 0, -1])


@pytest.mark.parametrize("monotone", [None, {}, {"age": 0}, [0, 0, 0]], ids=repr)
def test_no_constraint_is_none(monotone):
    assert check_monotone(monotone, 3, NAMES) is None


@pytest.mark.parametrize(
    ("monotone", "message"),
    [
        ({"incme": 1}, "'incme', which X does not have. Did you mean 'income'"),
        ({"height": 1}, "'height', which X does not have. X has 'age', 'income', 'debt'"),
        ({3: 1}, "no feature 3; X has the features 0 to 2"),
        ({-1: 1}, "no feature -1"),
        ({True: 1}, "True is neither the name nor the index"),
        ({0.5: 1}, "0.5 is neither the name nor the index"),
        ({"age": 1, 0: 1}, "'age' and 0 are the same feature"),
        ({"age": 2}, "the direction of feature 'age' is 2; it must be"),
        ({"age": "up"}, "the direction of feature 'age' is 'up'"),
        ({"age": True}, "the direction of feature 'age' is True"),
        ({"age": None}, "the direction of feature 'age' is None"),
        ({"age": float("nan")}, "the direction of feature 'age' is nan"),
        ([1, 0], r"shape \(2,\), but X has 3 features"),
        ([[1, 0, 0]], r"shape \(1, 3\)"),
        ([1, 0, 0.5], "the direction of feature 2 is 0.5"),
        (["age", "", ""], "the direction of feature 0 is 'age'"),
    ],
    ids=repr,
)
def test_bad_constraints_are_refused_with_the_reason(monotone, message):
    with pytest.raises(ValueError, match=message):
        check_monotone(monotone, 3, NAMES)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match="X has no column names"):
        check_monotone({"age": 1}, 3, None)
