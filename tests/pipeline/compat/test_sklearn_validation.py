"""The contract with scikit-learn's check of parameters: it exists, needs no data, and names the parameter."""

from __future__ import annotations

import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep_pipeline.compat.sklearn_validation import check_parameters


@pytest.mark.parametrize(
    "estimator", [SVC(), MLPClassifier(), LDEPClassifier(), LDEPClassifierCV(), BaggingClassifier()]
)
def test_valid_parameters_pass(estimator):
    assert hasattr(estimator, "_parameter_constraints")
    check_parameters(estimator)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SVC(C=-1.0), "The 'C' parameter of SVC must be"),
        (LDEPClassifier(r1=0), "The 'r1' parameter of LDEPClassifier must be"),
        (BaggingClassifier(SVC(kernel="rbff")), "The 'kernel' parameter of SVC must be"),
    ],
)
def test_an_invalid_parameter_is_named(estimator, message):
    with pytest.raises(ValueError, match=message):
        check_parameters(estimator)


def test_an_estimator_without_declared_constraints_is_not_checked():
    class Plain(BaseEstimator):
        def __init__(self, size: int = 0) -> None:
            self.size = size

    check_parameters(Plain(size=-1))
