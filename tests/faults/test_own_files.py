"""Mutated data files of a user: each is read as its cells say, or refused in one sentence that names the file."""

from __future__ import annotations

import datetime
import logging
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from ldep.table import cells
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import Data, Impute, OwnData, Split
from ldep_pipeline.data import own_file
from ldep_pipeline.stages import fetch, impute, split
from tests.support import killing, mutated_files
from tests.support.mutated_files import TARGET, OwnFile

pytestmark = pytest.mark.fault
SECONDS = 10.0  # of CPU time per file
LONGEST_MESSAGE = 700
SLOW_RUN, PROCESSES = 1000, 20
RAW = "data/raw/mine.parquet"
COMPARED = 0.1  # at least this share of the files must be read and compared, or the test would say little


def prepare(file: OwnFile, folder: Path) -> None:
    """The stages that a file passes before training."""
    path = folder / f"my{file.suffix}"
    path.write_bytes(file.content)
    own = OwnData(path=str(path), target=TARGET, **file.settings)
    fetch.run("mine", Data(), {"mine": own}, folder / "data")
    impute.run("mine", Impute(), folder / "data")
    split.run("mine", Split(folds=2), folder / "data")


def misread(file: OwnFile, folder: Path) -> str | None:
    """The first cell that was not read as it was written."""
    frame = pd.read_parquet(folder / RAW)
    for name, column in (file.cells or {}).items():
        stored = name.strip() if file.suffix == ".csv" else name
        for row, (cell, read) in enumerate(zip(column, frame[stored], strict=True)):
            if meaning(cell) != meaning(read):
                return f"column {name!r}, row {row}: {cell!r} was read as {read!r}"
    return None


def meaning(cell: object) -> object:
    """What a cell stands for; a date is compared by its text."""
    return str(cell)[:10] if isinstance(cell, datetime.date) else cells.read(cell)


def complaint(file: OwnFile, folder: Path) -> str | None:
    """What is wrong with the way in which a file is treated. A file may be read, and refused by a later stage."""
    (folder / RAW).unlink(missing_ok=True)
    began = time.process_time()
    message = None
    try:
        prepare(file, folder)
    except UserError as error:
        message = str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    seconds = time.process_time() - began
    if seconds > SECONDS:
        return f"it took {seconds:.1f} s"
    wrong = misread(file, folder) if (folder / RAW).is_file() else None
    return wrong or (complaint_about(message) if message is not None else None)


def complaint_about(message: str) -> str | None:
    if len(message) > LONGEST_MESSAGE or "\n" in message.strip():
        return f"this is not one sentence: {message[:300]}"
    # The rarer class may be too small for the folds: then the message names the data set.
    if not any(name in message for name in ("my.csv", "my.arff", "my.parquet", "own_data.mine", "mine: ")):
        return f"the message does not name the file: {message}"
    return None


def check_all(folder: Path, files: Iterable[OwnFile]) -> None:
    logging.getLogger("ldep_pipeline").setLevel(logging.ERROR)
    complaints, compared = {}, []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for number, file in enumerate(files):
                if wrong := complaint(file, folder):
                    complaints[f"{number}: {file.change}"] = wrong
                compared.append(file.cells is not None and (folder / RAW).is_file())
    finally:
        logging.getLogger("ldep_pipeline").setLevel(logging.INFO)
    assert not complaints
    assert np.mean(compared) >= COMPARED


def test_mutated_files_are_read_rightly_or_refused(tmp_path):
    check_all(tmp_path, mutated_files.files(50, seed=1))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_mutated_files_are_read_rightly_or_refused(tmp_path):
    check_all(tmp_path, mutated_files.files(SLOW_RUN))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", range(0, SLOW_RUN, SLOW_RUN // PROCESSES))
def test_the_real_command_refuses_them_without_a_traceback(tmp_path, number):
    file = list(mutated_files.files(number + 1 + number // 50 % 10))[-1]
    (tmp_path / f"my{file.suffix}").write_bytes(file.content)
    own = {"path": f"my{file.suffix}", "target": TARGET, **file.settings}
    (tmp_path / "params.yaml").write_text(f"datasets: [mine]\nown_data: {{mine: {own}}}\n", encoding="utf-8")
    done = killing.run(tmp_path, "ldep", "fetch", "mine", seconds=60)
    assert "Traceback" not in done.stderr
    if done.returncode != 0:
        assert done.returncode == 1
        assert complaint_about(done.stderr[done.stderr.index("ldep fetch: ") :]) is None


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_columns_are_read(tmp_path):
    prepare(OwnFile(mutated_files.wide_csv(100_000), ".csv", {}, "wide"), tmp_path)
    assert pd.read_parquet(tmp_path / "data/imputed/mine.parquet", columns=["c99999"])["c99999"].notna().all()


def read(path: Path, content: bytes, **settings: str) -> pd.DataFrame:
    path.write_bytes(content)
    return own_file.fetch("mine", OwnData(path=str(path), target=TARGET, **settings))[0]


@pytest.mark.parametrize("content", [b'"a"x,label\n1,b\n', b'"a,label\n1,b\n', b'\n"a\n'])
def test_a_header_with_a_quote_out_of_place_is_refused(tmp_path, content):
    with pytest.raises(UserError, match=r"my\.csv: the header in line \d has cells that cannot be read: "):
        read(tmp_path / "my.csv", content)


def test_a_very_long_cell_is_named_by_its_line(tmp_path):
    with pytest.raises(UserError, match=r"line 3, column 'a': the number is infinite"):
        read(tmp_path / "my.csv", b"a,label\n2,y\n" + b"1" * 200_000 + b",x\n")
    with pytest.raises(UserError, match=r"line 3 has cells that cannot be read: field larger than field limit"):
        read(tmp_path / "my.csv", b'a,label\n"' + (b"x" * 6_000_000 + b"\n") * 2 + b'",x\n2,y\n')


def test_an_encoding_that_cannot_replace_letters_is_refused_by_its_key(tmp_path):
    with pytest.raises(UserError, match=r"own_data\.mine: there is no encoding 'idna' for text files"):
        read(tmp_path / "my.csv", b"a,label\n\xff,x\n", encoding="idna")


def write_parquet(path: Path, column: pa.Array) -> bytes:
    pyarrow.parquet.write_table(pa.table({"a": column, TARGET: ["x", "y"]}), path)
    return path.read_bytes()


def test_parquet_text_that_is_not_utf8_is_refused_by_its_column(tmp_path):
    offsets, data = pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
    column = pa.Array.from_buffers(pa.string(), 2, [None, offsets, data])
    for stored in (column, pa.array([b"a", b"\xff"]), pa.array([b"a", b"\xff"]).dictionary_encode()):
        with pytest.raises(UserError, match=r"my\.parquet: the column 'a' cannot be read: .*UTF8"):
            read(tmp_path / "my.parquet", write_parquet(tmp_path / "my.parquet", stored))


def test_parquet_categories_of_bytes_are_text(tmp_path):
    categories = pa.array([b"red", b"blue"]).dictionary_encode()
    frame = read(tmp_path / "my.parquet", write_parquet(tmp_path / "my.parquet", categories))
    assert frame["a"].tolist() == ["red", "blue"]


def test_many_long_columns_make_no_long_message(tmp_path):
    header = ",".join(f"{'x' * 1000}{number}" for number in range(500))
    with pytest.raises(UserError, match=r"there is no target column 'label'; the columns are: x{60}\.\.\., ") as caught:
        read(tmp_path / "my.csv", header.encode() + b"\n")
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(("cell", "expected"), [("1_000", None), ("1000", 1000.0), (" 7 ", 7.0), ("1e3", 1000.0)])
def test_a_number_in_arff_is_read_as_everywhere_else(tmp_path, cell, expected):
    content = f"@RELATION r\n@ATTRIBUTE a NUMERIC\n@ATTRIBUTE label {{x,y}}\n@DATA\n{cell},x\n2,y\n?,x\n".encode()
    if expected is None:
        with pytest.raises(UserError, match=r"my\.arff: line 5, column 'a': '1_000' is not a number"):
            read(tmp_path / "my.arff", content)
    else:
        np.testing.assert_array_equal(read(tmp_path / "my.arff", content)["a"], [expected, 2.0, np.nan])
