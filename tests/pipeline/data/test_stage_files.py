"""A table of another stage that is damaged or of another shape: the message names the stage to run."""

from __future__ import annotations

import pandas as pd
import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import paths
from ldep_pipeline.data import stage_files

GOOD = pd.DataFrame({"size": [1.0, 2.0, 3.0], "colour": pd.Categorical(["a", "b", "a"]), "label": ["x", "y", "x"]})


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (GOOD.assign(size=["1", "2", "3"]), "column 'size' is of the type"),
        (GOOD.assign(label="x"), "the target 'label' has a missing value, or only one class"),
        (GOOD.assign(label=["x", None, "y"]), "the target 'label' has a missing value, or only one class"),
        (GOOD[["label"]], "no feature beside the target"),
        (GOOD[:0], "it has no rows"),
    ],
)
def test_a_table_that_fetch_does_not_write_is_refused(tmp_path, frame, reason):
    path = paths.raw("mine", tmp_path)
    path.parent.mkdir()
    frame.to_parquet(path)
    with pytest.raises(UserError, match=rf"mine\.parquet cannot be read \(.*{reason}.*; run `ldep fetch mine` again"):
        stage_files.read_raw("mine", tmp_path)


def test_categories_are_no_numbers(tmp_path):
    for path in (paths.raw("mine", tmp_path), paths.imputed("mine", tmp_path)):
        path.parent.mkdir()
        GOOD.to_parquet(path)
    assert len(stage_files.read_raw("mine", tmp_path)) == 3
    with pytest.raises(UserError, match=r"column 'colour' is of the type category.*; run `ldep impute mine` again"):
        stage_files.read_imputed("mine", tmp_path)
