"""`ldep score`: the same answers from every format, complete files only, bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from ldep_pipeline.commands import score
from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data import tables
from ldep_pipeline.data.tables import typed_tables
from ldep_pipeline.registry import download
from tests.support import registered

URI = f"models:/ldep-{registered.NAME}@champion"
BASELINE = f"models:/ldep-{registered.BASELINE}@champion"


@pytest.fixture
def frame() -> pd.DataFrame:
    return registered.rows(200, seed=2)


def scored(
    project: Path, source: Path, target: Path, uri: str = URI, layout: dict[str, str] | None = None, **options: Any
) -> pd.DataFrame:
    score.run(uri, source, target, root=project, layout=layout, **options)
    return pd.read_csv(target) if target.suffix == ".csv" else pd.read_parquet(target)


def test_each_kind_of_file_gives_the_same_table(registered_project, frame, tmp_path):
    frame.to_csv(tmp_path / "in.csv", index=False)
    frame.to_parquet(tmp_path / "in.parquet")
    frame.astype({"colour": "category"}).to_parquet(tmp_path / "categories.parquet")
    expected = download.load(URI, registered_project).predict(frame, {"output": "scores"})
    tables = [
        scored(registered_project, tmp_path / source, tmp_path / target, explain=True)
        for source in ("in.csv", "in.parquet", "categories.parquet")
        for target in ("out.csv", "out.parquet")
    ]
    for table in tables:
        assert table["class"].tolist() == [record["class"] for record in expected]
        assert table["decision"].tolist() == [record["decision"] for record in expected]
        total = table.filter(like="contribution_of_").sum(axis=1) + table["bias"]
        np.testing.assert_allclose(total, table["decision"], rtol=1e-9, atol=1e-9)


def test_the_size_of_pieces_does_not_matter(registered_project, frame, tmp_path, monkeypatch):
    frame.to_csv(tmp_path / "in.csv", index=False)
    frame.to_parquet(tmp_path / "in.parquet")
    whole = scored(registered_project, tmp_path / "in.csv", tmp_path / "whole.parquet")
    monkeypatch.setattr(typed_tables, "ROWS", 7)
    monkeypatch.setattr(tables, "BLOCK", 512)
    for source in ("in.csv", "in.parquet"):
        pieces = scored(registered_project, tmp_path / source, tmp_path / "pieces.parquet")
        pd.testing.assert_frame_equal(pieces, whole)


def test_a_baseline_scores_too_but_explains_nothing(registered_project, frame, tmp_path):
    frame.to_csv(tmp_path / "in.csv", index=False)
    table = scored(registered_project, tmp_path / "in.csv", tmp_path / "out.csv", uri=BASELINE)
    expected = download.load(BASELINE, registered_project).predict(frame)
    assert table["class"].tolist() == expected
    with pytest.raises(UserError, match="SVC has no exact explanation; leave --explain out"):
        scored(registered_project, tmp_path / "in.csv", tmp_path / "out.csv", explain=True, uri=BASELINE)


def test_an_error_names_the_cell_and_leaves_no_file(registered_project, frame, tmp_path):
    frame.loc[20, "width"] = np.inf
    frame.to_parquet(tmp_path / "in.parquet")
    with pytest.raises(UserError, match="data row 21, column 'width': the number is infinite"):
        scored(registered_project, tmp_path / "in.parquet", tmp_path / "out.csv")
    (tmp_path / "bad.csv").write_text("width,größe (cm),grade,colour\n1,2,3,red\nwide,2,3,red\n")
    with pytest.raises(UserError, match=r"bad\.csv: line 3, column 'width': 'wide' is not a number"):
        scored(registered_project, tmp_path / "bad.csv", tmp_path / "out.csv")
    frame.drop(columns="colour").to_csv(tmp_path / "short.csv", index=False)
    with pytest.raises(UserError, match="colour"):
        scored(registered_project, tmp_path / "short.csv", tmp_path / "out.csv")
    frame.drop(columns="colour").to_parquet(tmp_path / "short.parquet")
    with pytest.raises(UserError, match="has no column 'colour'"):
        scored(registered_project, tmp_path / "short.parquet", tmp_path / "out.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(UserError, match="is empty; it needs a line of column names"):
        scored(registered_project, tmp_path / "empty.csv", tmp_path / "out.csv")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(("out", ".out"))]


def test_values_taken_as_missing_are_named_in_each_row(registered_project, tmp_path, caplog):
    cells = "width,größe (cm),grade,colour\n1,2,3,red\n1,2,9,violet\n,2,?,\n1,2,3,violet\n"
    (tmp_path / "in.csv").write_text(cells)
    for target in ("out.csv", "out.parquet"):
        table = scored(registered_project, tmp_path / "in.csv", tmp_path / target)
        assert table["taken_as_missing"].fillna("").tolist() == ["", "grade; colour", "", "colour"]
    assert "unknown values were taken as missing, in cells of: colour (2), grade (1)." in caplog.text


def test_strict_scoring_stops_at_a_value_that_would_be_taken_as_missing(registered_project, tmp_path):
    good = "width,größe (cm),grade,colour\n1,2,3,red\n,2,?,\n"
    (tmp_path / "in.csv").write_text(good)
    assert len(scored(registered_project, tmp_path / "in.csv", tmp_path / "good.csv", strict=True)) == 2
    (tmp_path / "in.csv").write_text(f"{good}1,2,3,violet\n")
    with pytest.raises(
        UserError, match=r"in\.csv: line 4, column 'colour': 'violet' is not a value that the model knows"
    ):
        scored(registered_project, tmp_path / "in.csv", tmp_path / "out.csv", strict=True)
    assert not (tmp_path / "out.csv").exists()


def test_a_table_without_rows_gives_a_table_without_rows(registered_project, frame, tmp_path):
    frame.head(0).to_csv(tmp_path / "in.csv", index=False)
    table = scored(registered_project, tmp_path / "in.csv", tmp_path / "out.csv")
    assert list(table.columns) == ["class", "decision", "probability_of_yes, sold", "taken_as_missing"]
    assert table.empty


def test_the_command_names_what_does_not_exist(registered_project, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(registered_project)
    assert main(["score", "models:/ldep-shop@nobody", "in.csv", "out.csv"]) == 1
    assert "there is no model models:/ldep-shop@nobody" in capsys.readouterr().err
    assert main(["score", URI, "none.csv", "out.csv"]) == 1
    assert "none.csv: there is no such file" in capsys.readouterr().err
    assert main(["score", URI, "rows.xlsx", "out.csv"]) == 1
    assert "'.xlsx' is not a format read here" in capsys.readouterr().err


def test_a_file_is_scored_with_the_layout_it_was_trained_with(registered_project, frame, tmp_path):
    """The same rows with `;`, decimal commas, latin-1 and blanks around the cells."""
    frame.to_parquet(tmp_path / "in.parquet")
    expected = scored(registered_project, tmp_path / "in.parquet", tmp_path / "expected.parquet")
    text = frame.drop(columns="sold").to_csv(index=False, sep=";", decimal=",", lineterminator="\n")
    (tmp_path / "in.csv").write_bytes(text.replace(";", " ; ").encode("latin-1"))
    layout = {"delimiter": ";", "decimal": ",", "encoding": "latin-1"}
    for written in (layout, {}):  # the model was trained on Parquet: what is not given is guessed, as `ldep new` does
        table = scored(registered_project, tmp_path / "in.csv", tmp_path / "out.parquet", layout=written)
        pd.testing.assert_frame_equal(table, expected)
    with pytest.raises(UserError, match="line 1 is not utf-8 text"):
        scored(registered_project, tmp_path / "in.csv", tmp_path / "out.csv", layout={**layout, "encoding": "utf-8"})
    written = {"delimiter": ",", "decimal": "."}
    with pytest.raises(UserError, match="it seems to be ';'"):
        scored(registered_project, tmp_path / "in.csv", tmp_path / "out.csv", layout=written)


@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
def test_kept_columns_stand_as_they_are_in_front_of_the_answers(registered_project, frame, tmp_path, target):
    frame["id"] = [f"00{number}" for number in range(len(frame))]
    frame.to_csv(tmp_path / "in.csv", index=False)
    plain = scored(registered_project, tmp_path / "in.csv", tmp_path / target)
    kept = scored(registered_project, tmp_path / "in.csv", tmp_path / target, keep=["id", "width", "id"])
    as_text = pd.read_csv(tmp_path / target, dtype=str) if target.endswith("csv") else kept
    assert list(kept.columns) == ["id", "width", *plain.columns]
    assert as_text["id"].tolist() == frame["id"].tolist()
    assert pd.to_numeric(kept["width"]).equals(frame["width"])
    pd.testing.assert_frame_equal(kept[plain.columns], plain)
    everything = scored(registered_project, tmp_path / "in.csv", tmp_path / target, keep=["all"])
    assert list(everything.columns) == [*frame.columns, *plain.columns]
    frame.iloc[:0].to_csv(tmp_path / "in.csv", index=False)
    empty = scored(registered_project, tmp_path / "in.csv", tmp_path / target, keep=["all"])
    assert (len(empty), list(empty.columns)) == (0, list(everything.columns))


def test_a_column_that_cannot_be_kept_is_refused(registered_project, frame, tmp_path):
    frame.rename(columns={"sold": "class"}).to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(UserError, match="the column 'class' cannot be kept, because a column of the answers has this"):
        scored(registered_project, tmp_path / "in.csv", tmp_path / "out.csv", keep=["all"])
    with pytest.raises(UserError, match="has no column 'idd'"):
        scored(registered_project, tmp_path / "in.csv", tmp_path / "out.csv", keep=["idd"])
    assert not (tmp_path / "out.csv").exists()


def test_the_command_says_what_it_did(registered_project, frame, tmp_path, monkeypatch, ldep):
    monkeypatch.chdir(registered_project)
    frame["id"] = range(len(frame))
    frame.loc[:4, "colour"] = "violet"
    frame.to_csv(tmp_path / "in.csv", index=False, sep=";")
    log = ldep("score", URI, str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "--keep", "id")[2]
    assert "200 rows in " in log
    assert "by version 1 of the model." in log
    assert (
        "4 columns used; 1 ignored (sold); 1 kept; read with the delimiter ';' and the decimal sign '.', as utf-8"
        in log
    )
    assert "unknown values were taken as missing, in cells of: colour (5)" in log


def test_the_command_takes_the_layout(registered_project, frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(registered_project)
    text = frame.drop(columns="sold").to_csv(index=False, sep="\t", decimal=",")
    (tmp_path / "in.csv").write_bytes(text.encode("latin-1"))
    command = ["score", URI, str(tmp_path / "in.csv"), str(tmp_path / "out.csv")]
    assert main([*command, "--delimiter", r"\t", "--decimal", ",", "--encoding", "latin-1"]) == 0
    assert len(pd.read_csv(tmp_path / "out.csv")) == len(frame)
    for encoding in ("punycode", "undefined", "nothing"):
        assert main([*command, "--encoding", encoding]) == 1
        assert f"there is no encoding '{encoding}'" in capsys.readouterr().err


def test_an_arff_file_is_scored(registered_project, tmp_path):
    rows = "@RELATION r\n@ATTRIBUTE width NUMERIC\n@ATTRIBUTE 'größe (cm)' INTEGER\n@ATTRIBUTE grade {3,2,1}\n"
    rows += "@ATTRIBUTE colour STRING\n@DATA\n0.5,1,2,red\n?,-2,3,?\n"
    (tmp_path / "in.arff").write_text(rows, encoding="utf-8")
    (tmp_path / "in.csv").write_text("width,größe (cm),grade,colour\n0.5,1,2,red\n,-2,3,\n", encoding="utf-8")
    from_arff = scored(registered_project, tmp_path / "in.arff", tmp_path / "arff.parquet")
    from_csv = scored(registered_project, tmp_path / "in.csv", tmp_path / "csv.parquet")
    pd.testing.assert_frame_equal(from_arff, from_csv)


def test_the_input_is_not_overwritten(registered_project, frame, tmp_path):
    frame.to_csv(tmp_path / "in.csv", index=False)
    before = (tmp_path / "in.csv").read_bytes()
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    for target in ("in.csv", "link.csv"):
        with pytest.raises(UserError, match="is the input file, and would be overwritten"):
            scored(registered_project, tmp_path / "in.csv", tmp_path / target)
    assert (tmp_path / "in.csv").read_bytes() == before


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9/model", "file:///nowhere", "runs:/1/model", "nowhere"])
def test_a_model_that_is_neither_registered_nor_a_folder_is_refused(registered_project, frame, tmp_path, uri):
    frame.to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(UserError, match="there is no model"):
        scored(registered_project, tmp_path / "in.csv", tmp_path / "out.csv", uri=uri)


MEASURE = """
import sys
from pathlib import Path
from ldep_pipeline.commands import score
for source in sys.argv[3:]:
    score.run(sys.argv[1], Path(source), Path(source).with_stem("out"), root=Path(sys.argv[2]))
    # Not ru_maxrss: a child's begins with its parent's.
    print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(registered_project, tmp_path, kind):
    """Another million rows would take 94 MB, as numbers and answers, if they were held."""
    part = registered.rows(50_000, seed=3).drop(columns="sold")
    sources = [tmp_path / f"in{times}.{kind}" for times in (4, 24)]
    for times, source in zip((4, 24), sources):
        if kind == "csv":
            head, lines = part.to_csv(index=False).split("\n", 1)
            source.write_text(f"{head}\n{lines * times}")
        else:
            table = pyarrow.Table.from_pandas(part)
            with pyarrow.parquet.ParquetWriter(source, table.schema) as writer:
                for _ in range(times):
                    writer.write_table(table)
    command = [sys.executable, "-c", MEASURE, URI, registered_project, *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    small, large = (int(peak) / 1024 for peak in done.stdout.split())
    assert large < small + 60, (small, large)
