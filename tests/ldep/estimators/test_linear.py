"""Linear classifiers as the ℓ-DEP with one piece for each class that they are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC, LinearSVC

from ldep.estimators import LinearLDEP

X, Y = load_iris(return_X_y=True)
LINEAR = [LogisticRegression(), LinearSVC(), RidgeClassifier(), LinearDiscriminantAnalysis()]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("classifier", LINEAR, ids=lambda model: type(model).__name__)
def test_it_decides_like_the_classifier_and_explains_itself(classifier, n_classes):
    rows, y = X[n_classes > Y], Y[n_classes > Y]
    fitted = classifier.fit(rows, y)
    linear = LinearLDEP.from_classifier(fitted, rows)
    np.testing.assert_allclose(linear.decision_function(rows), fitted.decision_function(rows), atol=1e-9)
    np.testing.assert_array_equal(linear.predict(rows), fitted.predict(rows))
    assert linear.model_.members[0].sizes == (1,) * n_classes
    explanation = linear.explain(rows)
    np.testing.assert_allclose(
        explanation.contributions.sum(axis=1) + explanation.bias, explanation.decision, atol=1e-9
    )
    found = linear.counterfactual(rows[:3])
    assert (linear.predict(found.rows) != linear.predict(rows[:3])).all()


def test_the_nearest_row_of_the_other_class_is_at_the_distance_of_the_hyperplane():
    rows, y = X[Y < 2], Y[Y < 2]
    fitted = SVC(kernel="linear").fit(rows, y)
    linear = LinearLDEP.from_classifier(fitted, rows)
    distance = np.abs(fitted.decision_function(rows)) / np.linalg.norm(fitted.coef_)
    np.testing.assert_allclose(linear.counterfactual(rows).distance, distance, rtol=1e-6)


def test_what_is_not_linear_stays_what_it_is():
    assert LinearLDEP.from_classifier(SVC(kernel="linear").fit(X, Y), X) is None  # a boundary for each pair of classes
    assert LinearLDEP.from_classifier(SVC().fit(X[Y < 2], Y[Y < 2]), X[Y < 2]) is None
