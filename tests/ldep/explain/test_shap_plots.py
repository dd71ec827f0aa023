"""Contributions for the plots of shap. shap is in no lock file, so that a class with its fields takes its place."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.support.fitted_models import random_average, random_model, random_of_three_classes


@pytest.fixture
def shap(monkeypatch):
    """A package in which `Explanation` only stores its arguments, which are those of shap 0.51."""
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=SimpleNamespace))


@pytest.mark.usefixtures("shap")
@pytest.mark.parametrize("make", [random_model, random_average])
def test_values_and_base_values_sum_to_the_decision_value(make):
    model = make(3)
    X = np.random.default_rng(0).normal(size=(5, model.n_features_in_))
    for answer in (model.explain(X).to_shap(), model.attribute(X, np.ones(X.shape[1])).to_shap()):
        np.testing.assert_allclose(answer.values.sum(axis=1) + answer.base_values, model.decision_function(X))
        np.testing.assert_array_equal(answer.data, X)


@pytest.mark.usefixtures("shap")
def test_several_classes_are_the_last_axis_and_a_pair_is_one_comparison():
    model = random_of_three_classes(1)
    X = np.random.default_rng(0).normal(size=(4, 3))
    answer = model.attribute(X, np.zeros(3)).to_shap()
    assert answer.values.shape == (4, 3, 3)
    np.testing.assert_allclose(answer.values.sum(axis=1) + answer.base_values, model.decision_function(X))
    pair = model.explain(X)
    shown = pair.to_shap()
    np.testing.assert_allclose(shown.values.sum(axis=1) + shown.base_values, pair.decision)


@pytest.mark.usefixtures("shap")
def test_features_are_named_by_a_frame_and_sparse_rows_become_dense():
    model = random_model(2)
    X = np.random.default_rng(0).normal(size=(4, 3))
    assert model.explain(pd.DataFrame(X, columns=["a", "b", "c"])).to_shap().feature_names == ["a", "b", "c"]
    sparse_rows = sparse.csr_array(X)
    np.testing.assert_allclose(model.explain(sparse_rows).to_shap().values, model.explain(X).contributions)


def test_without_shap_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    model = random_model(0)
    for answer in (model.explain(np.ones((1, 3))), model.attribute(np.ones((1, 3)), np.zeros(3))):
        with pytest.raises(ImportError, match=r"^to_shap needs the package shap: pip install shap\.$"):
            answer.to_shap()
