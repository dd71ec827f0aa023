"""The stage split writes scikit-learn's folds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import Split
from ldep_pipeline.data import folds
from ldep_pipeline.stages import split


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
        np.testing.assert_array_equal(folds.read(name).test_fold[:, 0], table["fold"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        'a,"\n',
        "row\n0\n",
        "row,fold\n",
        "row,fold\n0,x\n",
        "row,fold\n0,\n1,1\n",
        "row,fold\n0,0\n1,2\n",
        "row,fold\n0,0\n2,1\n",  # a row is missing
        "row,fold\n0,-1\n1,0\n2,1\n",  # only with a time is a row never tested
        "row,fold\n0,0\n1,0\n",
        "row,fold,fold_1\n0,0,0\n1,1,0\n",  # the repeats differ in their number of folds
        "row,fold,fold_2\n0,0,0\n1,1,1\n",
        "row,fold,other\n0,0,0\n1,1,1\n",
        "row,fold,group,time\n0,0,0,0\n1,1,1,1\n",
        "row,fold,group\n0,0,a\n1,1,b\n",
    ],
)
def test_a_damaged_file_of_folds_is_named_with_the_stage_to_run(tmp_path, text):
    (tmp_path / "folds").mkdir()
    (tmp_path / "folds/tiny.csv").write_text(text)
    with pytest.raises(UserError, match=r"folds/tiny\.csv cannot be read \(.+\); run `ldep split tiny` again"):
        folds.read("tiny", tmp_path)


def test_the_names_of_the_classes_do_not_matter():
    y = pd.Series(pd.Categorical(list("abbabababb") * 3))
    renamed = y.cat.rename_categories({"a": "z", "b": "c"})
    np.testing.assert_array_equal(split.assign(y, Split()).test_fold, split.assign(renamed, Split()).test_fold)


def test_repeat_r_has_the_folds_of_the_seed_plus_r(tmp_path):
    y = pd.Series(pd.Categorical(list("ab") * 50))
    repeated = split.assign(y, Split(folds=4, seed=7, repeats=3))
    assert (repeated.repeats, repeated.folds_per_repeat, repeated.n_folds) == (3, 4, 12)
    for repeat in range(3):
        once = split.assign(y, Split(folds=4, seed=7 + repeat))
        for fold in range(4):
            np.testing.assert_array_equal(repeated.test_rows(4 * repeat + fold), once.test_rows(fold))
            np.testing.assert_array_equal(repeated.train_rows(4 * repeat + fold), ~once.test_rows(fold))
    assert (repeated.test_fold[:, 0] != repeated.test_fold[:, 1]).any()
    folds.write("tiny", repeated, tmp_path)
    assert pd.read_csv(tmp_path / "folds/tiny.csv").columns.tolist() == ["row", "fold", "fold_1", "fold_2"]
    np.testing.assert_array_equal(folds.read("tiny", tmp_path).test_fold, repeated.test_fold)


def test_a_class_too_small_for_the_folds():
    with pytest.raises(UserError, match=r"the rarest class has 3 rows, too few for split\.folds: 5"):
        split.assign(pd.Series(pd.Categorical(list("aaabbbbbbbbb"))), Split())
