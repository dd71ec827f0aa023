"""The stage impute: names, target, and the scope of the imputation."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ldep_pipeline.stages.impute import impute

FRAME = pd.DataFrame(
    {
        "size": [1.0, np.nan, 3.0, 2.0],
        "colour": pd.Categorical(["red", "blue", None, "red"], categories=["red", "blue"]),
        "level": pd.Categorical(["2", "1", "1", "2"], categories=["1", "2"]),
        "empty": [np.nan] * 4,
    }
)


def test_impute_keeps_names_and_puts_the_target_last():
    frame = FRAME.assign(label=pd.Categorical(["y", "n", "y", "n"], categories=["y", "n"]))
    numbers, _ = impute(frame)
    assert numbers.columns.tolist() == ["size", "colour", "level", "label"]
    assert all(kind == np.float64 for kind in numbers.dtypes[:-1])
    assert numbers["label"].cat.categories.tolist() == ["y", "n"]


def test_scope_fold_leaves_missing_cells_to_the_folds():
    frame = FRAME.assign(label=pd.Categorical(["y", "n", "y", "n"]))
    numbers, encoder = impute(frame, scope="fold")
    assert numbers.isna().sum().tolist() == [1, 1, 0, 4, 0]
    assert np.isnan(encoder.transform(FRAME)).any()
