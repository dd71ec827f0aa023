"""The stage split writes scikit-learn's folds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from pipeline.common.errors import UserError
from pipeline.data import folds
from pipeline.stages import split


def test_the_folds_are_the_papers(project, write_params, ldep):
    write_params(datasets=["haberman", "titanic"], data={"source": "offline"})
    assert ldep("fetch")[0] == ldep("split")[0] == 0
    for name in ("haberman", "titanic"):
        table = pd.read_csv(f"data/folds/{name}.csv")
        y = np.asarray(pd.read_parquet(f"data/raw/{name}.parquet").iloc[:, -1])
        assert table.columns.tolist() == ["row", "fold"]
        assert table["row"].tolist() == list(range(len(y)))
        expected = StratifiedKFold(n_splits=5, shuffle=True, random_state=1).split(y, y)
        for number, (_, test) in enumerate(expected):
            np.testing.assert_array_equal(np.flatnonzero(table["fold"] == number), test)
        np.testing.assert_array_equal(folds.read(name), table["fold"])


@pytest.mark.parametrize(
    "text", ["", "row\n0\n", "row,fold\n", "row,fold\n0,x\n", "row,fold\n0,\n1,1\n", "row,fold\n0,0\n1,2\n", 'a,"\n']
)
def test_a_damaged_file_of_folds_is_named_with_the_stage_to_run(tmp_path, text):
    (tmp_path / "folds").mkdir()
    (tmp_path / "folds/tiny.csv").write_text(text)
    with pytest.raises(UserError, match=r"folds/tiny\.csv cannot be read \(.+\); run `ldep split tiny` again"):
        folds.read("tiny", tmp_path)


def test_the_names_of_the_classes_do_not_matter():
    y = pd.Series(pd.Categorical(list("abbabababb") * 3))
    renamed = y.cat.rename_categories({"a": "z", "b": "c"})
    np.testing.assert_array_equal(split.assign(y), split.assign(renamed))


def test_another_seed_gives_other_folds():
    y = pd.Series(pd.Categorical(list("ab") * 50))
    assert (split.assign(y, seed=1) != split.assign(y, seed=2)).any()


def test_a_class_too_small_for_the_folds():
    with pytest.raises(UserError, match=r"the rarer class has 3 rows, too few for split\.folds: 5"):
        split.assign(pd.Series(pd.Categorical(list("aaabbbbbbbbb"))))
