"""The rule sheet decides as the model does, without conditions that others imply."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifier
from tests.support.fitted_models import difference_of, model_of, random_model, random_of_three_classes


@settings(max_examples=5)
@given(st.integers(0, 2**20), st.sampled_from([random_model, random_of_three_classes]), st.booleans())
def test_the_rules_decide_as_the_model_does(seed, make, in_box):
    model = make(seed)
    X = np.random.default_rng(seed).uniform(-2, 2, size=(400, 3))
    sheet = model.rules(X) if in_box else model.rules()
    np.testing.assert_array_equal(sheet.predict(X), model.predict(X))


def test_ties_are_decided_as_by_the_model():
    for table, sizes in ((np.array([[1.0, 0], [0, 0]]), (1, 1)), (np.array([[1.0, 0], [0, 0], [-1.0, 0]]), (1, 1, 1))):
        model = model_of(table, sizes)
        X = np.array([[-1.0], [0.0], [1.0]])
        np.testing.assert_array_equal(model.rules().predict(X), model.predict(X))


def test_conditions_that_others_imply_are_removed():
    """max(x) against max(0, 1, 2): only the last matters. The pieces 0 and 1 are dead."""
    model = model_of(np.array([[1.0, 0.0], [0, 0], [0, 1], [0, 2]]), (1, 3))
    sheet = model.rules()
    (rule,) = sheet.rules
    (condition,) = rule.conditions
    assert (condition.coefficients.tolist(), condition.bound) in (([1.0], 2.0), ([-1.0], -2.0))


def test_the_sheet_is_in_the_units_of_the_raw_features():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, labels = X[["mean radius", "mean texture"]], np.where(y == 0, "malignant", "benign")
    scaler = StandardScaler().set_output(transform="pandas").fit(X)
    model = LDEPClassifier(2, 2, random_state=0).fit(scaler.transform(X), labels)
    sheet = model.rules(scaler.transform(X), scaler=scaler, units={"mean radius": "µm"})
    predicted = model.predict(scaler.transform(X))
    np.testing.assert_array_equal(sheet.predict(X), predicted)
    text = str(sheet)
    assert "mean radius [µm]" in text
    assert "the class is malignant" in text or "the class is benign" in text
    agree = int((sheet.predict_as_printed(X) == predicted).sum())
    assert f"they agree with it on {agree} of them" in text
    assert agree > 0.98 * len(X)


def test_without_rows_the_sheet_covers_everything():
    assert str(random_model(0).rules()).endswith("These rules decide every row as predict does.")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("in_box", [False, True])
def test_differences_of_maxima_have_one_score_per_class(n_classes, in_box):
    model = difference_of(1, n_classes, n_features=3, n_pieces=5)
    X = np.random.default_rng(0).uniform(-0.3, 0.3, size=(400, 3))
    sheet = model.rules(X) if in_box else model.rules()
    np.testing.assert_array_equal(sheet.predict(X), model.predict(X))
    text = str(sheet)
    assert text.count("The score of") == n_classes
    assert text.count("  minus the largest of") == n_classes
    n_formulas = sum(len(largest.constants) for largest in sheet.maxima)
    assert text.count(" x0") == n_formulas
    assert (n_formulas < 2 * n_classes * 5) == in_box


def test_scores_are_in_the_units_of_the_raw_features():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X[["alcohol", "proline", "hue"]]
    scaler = StandardScaler().set_output(transform="pandas").fit(X)
    model = LDEPClassifier(3, 3, random_state=0).fit(scaler.transform(X), y)
    sheet = model.rules(scaler.transform(X), scaler=scaler)
    predicted = model.predict(scaler.transform(X))
    np.testing.assert_array_equal(sheet.predict(X), predicted)
    agree = int((sheet.predict_as_printed(X) == predicted).sum())
    assert f"they agree with it on {agree} of them" in str(sheet)
    assert agree > 0.98 * len(X)
