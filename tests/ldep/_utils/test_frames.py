"""Data frames as input: polars frames are treated as pandas frames are, and keep their column names."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

from ldep import LDEPClassifier, LDEPClassifierCV

FEATURES, LABELS = make_moons(60, noise=0.2, random_state=0)
COLUMNS = ["left", "bias"]
PANDAS = pd.DataFrame(FEATURES, columns=COLUMNS)
POLARS = pl.DataFrame(FEATURES, schema=COLUMNS)
ESTIMATORS = [
    LDEPClassifier(2, 2, random_state=0),
    LDEPClassifierCV(pieces=[(2, 2)], alphas=[1.0], cv=2, random_state=0),
]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)


@each
def test_a_polars_frame_is_explained_by_a_polars_frame(estimator):
    model = clone(estimator).fit(POLARS, LABELS)
    assert list(model.feature_names_in_) == COLUMNS
    frame = model.explain(POLARS.head(5)).to_frame()
    assert isinstance(frame, pl.DataFrame)
    # A feature keeps its name; the bias of the explanation gets an underscore.
    assert frame.columns[:4] == ["left", "bias", "bias_", "decision"]
    total = frame.select(pl.sum_horizontal("left", "bias", "bias_")).to_series()
    np.testing.assert_allclose(total, model.decision_function(POLARS.head(5)), rtol=1e-9, atol=1e-9)


@each
def test_polars_and_pandas_give_the_same_model_and_the_same_explanation(estimator):
    from_polars, from_pandas = clone(estimator).fit(POLARS, LABELS), clone(estimator).fit(PANDAS, LABELS)
    explanation, expected = from_polars.explain(POLARS).to_frame(), from_pandas.explain(PANDAS).to_frame()
    assert explanation.columns == list(expected.columns)
    np.testing.assert_array_equal(explanation.to_numpy(), expected.to_numpy())


def test_a_frame_of_another_library_than_in_the_fit_is_explained_by_its_own_kind():
    model = clone(ESTIMATORS[0]).fit(POLARS, LABELS)
    assert isinstance(model.explain(PANDAS).to_frame(), pd.DataFrame)


def test_a_polars_frame_with_other_columns_is_refused():
    model = clone(ESTIMATORS[0]).fit(POLARS, LABELS)
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- right"):
        model.explain(POLARS.rename({"left": "right"}))


@each
def test_a_missing_value_of_polars_is_one_of_pandas(estimator):
    holes = POLARS.with_columns(pl.when(pl.col("left") > 1).then(None).otherwise(pl.col("left")).alias("left"))
    from_polars = clone(estimator).fit(holes, LABELS).decision_function(holes)
    from_pandas = clone(estimator).fit(holes.to_pandas(), LABELS).decision_function(holes.to_pandas())
    np.testing.assert_array_equal(from_polars, from_pandas)
    with pytest.raises(ValueError, match="Row 0 has NaN in 'bias', which had no missing values in training"):
        clone(estimator).fit(POLARS, LABELS).predict(POLARS.with_columns(bias=pl.lit(None, dtype=pl.Float64)))


def test_a_lazy_frame_is_refused_with_the_remedy():
    model = clone(ESTIMATORS[0]).fit(POLARS, LABELS)
    for method in (model.predict, model.explain, lambda X: model.fit(X, LABELS)):
        with pytest.raises(TypeError, match=r"LazyFrame.*Pass X\.collect\(\)"):
            method(POLARS.lazy())
