"""Every estimator keeps scikit-learn's contract in full: no check is skipped, none is expected to fail."""

from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import ldep
from ldep import (
    DEPClassifier,
    DilationPerceptron,
    ErosionPerceptron,
    LDEPClassifier,
    LDEPClassifierCV,
    MaxoutClassifier,
    RDEPClassifier,
    StreamingLDEPClassifier,
)

ESTIMATORS = [
    LDEPClassifier(),
    # The default grid, made small: it is searched in each of the checks.
    LDEPClassifierCV(pieces=[(3, 3), (1, 1)], alphas=[0.1, 1.0], cv=2),
    LDEPClassifierCV(pieces=[(3, 3)], alphas=[1.0], penalties=["norm"], losses=["hinge"], cv=2, ensemble=False),
    DilationPerceptron(),
    ErosionPerceptron(),
    DEPClassifier(),
    DEPClassifier(solver="ccp"),
    RDEPClassifier(),
    RDEPClassifier("bagging", n_estimators=3),
    MaxoutClassifier(),
    StreamingLDEPClassifier(sample_size=50),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    try:
        check(estimator)
    except SkipTest as skipped:
        raise AssertionError(f"skipped: {skipped}") from skipped


def test_every_estimator_is_checked():
    assert {type(estimator).__name__ for estimator in ESTIMATORS} == set(ldep.__all__)
