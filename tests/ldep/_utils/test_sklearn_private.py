"""The contract with scikit-learn's private parts that `ldep._utils` gathers. It fails first when they change."""

from numbers import Integral
from typing import ClassVar

import pytest
from sklearn.base import BaseEstimator

from ldep._utils import Interval, StrOptions, fit_context


class Declared(BaseEstimator):
    _parameter_constraints: ClassVar[dict] = {
        "size": [Interval(Integral, 1, None, closed="left")],
        "kind": [StrOptions({"a", "b"})],
    }

    def __init__(self, size=1, kind="a"):
        self.size = size
        self.kind = kind

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        return self


@pytest.mark.parametrize("settings", [{"size": 0}, {"size": 1.5}, {"kind": "c"}])
def test_a_fit_refuses_what_the_constraints_exclude(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"The '{name}' parameter of Declared must be"):
        Declared(**settings).fit([[0.0]])


def test_a_fit_accepts_what_they_allow():
    assert Declared(3, "b").fit([[0.0]]).size == 3
