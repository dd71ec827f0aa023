"""`ldep stream`: a model that scores and explains, from a Parquet file that never has to fit into memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from pipeline.commands import check_drift, score, stream
from pipeline.commands.main import main
from pipeline.common.errors import UserError
from pipeline.registry import download
from tests.support import registered

SETTINGS = {"r1": 4, "r2": 4, "alpha": 0.1, "sample_size": 500, "max_iter": 20}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rows = registered.rows(3000)
    rows["grade"] = pd.Categorical(rows["grade"], categories=["3", "2", "1", "0"])
    rows["member"] = rows.index % 4 == 0
    return rows


@pytest.fixture(scope="module")
def fitted(frame, tmp_path_factory) -> tuple:
    folder = tmp_path_factory.mktemp("stream")
    frame.to_parquet(folder / "rows.parquet", row_group_size=400)
    outcome = stream.run(folder / "rows.parquet", folder / "model", "sold", settings=SETTINGS)
    return folder, outcome


def test_the_model_scores_raw_rows_and_explains(fitted, frame):
    folder, outcome = fitted
    done = score.run(str(folder / "model"), folder / "rows.parquet", folder / "scored.parquet", explain=True)
    scored = pd.read_parquet(folder / "scored.parquet")
    assert done == outcome["rows"] == len(frame)
    assert np.mean(scored["class"].astype(str) == frame["sold"]) > 0.93
    assert outcome["accuracy"] == pytest.approx(np.mean(scored["class"].astype(str) == frame["sold"]), abs=0.05)
    contributions = scored.filter(like="contribution_of_").sum(axis=1)
    np.testing.assert_allclose(contributions + scored["bias"], scored["decision"], atol=1e-9)
    assert ((scored["probability_of_yes, sold"] > 0.5) == (scored["class"] == "yes, sold")).mean() > 0.95


def test_the_model_can_be_compared_with_later_rows(fitted, frame, tmp_path):
    uri = str(fitted[0] / "model")
    assert not check_drift.run(uri, fitted[0] / "rows.parquet")
    frame.assign(width=frame["width"] + 1).to_parquet(tmp_path / "moved.parquet")
    assert [column.column for column in check_drift.run(uri, tmp_path / "moved.parquet")] == ["width"]


def test_the_encoder_equals_one_fitted_in_memory(fitted, frame):
    encoder = download.load(str(fitted[0] / "model")).encoder
    assert encoder.categories_ == [None, None, ["3", "2", "1", "0"], ["blue", "green", "red"], ["False", "True"]]
    assert encoder.fill_[0] == pytest.approx(frame["width"].mean())
    assert encoder.fill_[2] == pytest.approx(frame["grade"].cat.codes.mean())
    codes = frame["colour"].dropna().map({"blue": 0, "green": 1, "red": 2})
    assert encoder.fill_[3] == pytest.approx(codes.mean())
    np.testing.assert_array_equal(encoder.transform(frame)[:, 4], frame["member"])


def test_equal_numbers_that_the_file_declares_apart_stay_apart(tmp_path):
    calipers = pd.Categorical([".2", "0.2", "0.20", "0.20"] * 100, categories=[".2", "0.2", "0.20"])
    rows = pd.DataFrame({"caliper": calipers, "sold": ["no", "yes", "no", "no"] * 100})
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    stream.run(tmp_path / "rows.parquet", tmp_path / "model", "sold", settings=SETTINGS)
    encoder = download.load(str(tmp_path / "model")).encoder
    assert encoder.categories_ == [[".2", "0.2", "0.20"]]
    assert encoder.fill_ == [1.25]
    np.testing.assert_array_equal(encoder.transform(rows)[:, 0], calipers.codes)


def test_the_same_file_gives_the_same_model(fitted, tmp_path):
    folder, outcome = fitted
    assert stream.run(folder / "rows.parquet", tmp_path / "again", "sold", settings=SETTINGS) == outcome
    one, other = (download.load(str(path)).model for path in (folder / "model", tmp_path / "again"))
    np.testing.assert_array_equal(one.W_, other.W_)


def test_errors_are_named_and_leave_no_files(fitted, frame, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame.assign(when=pd.Timestamp("2020-01-01")).to_parquet("time.parquet")
    frame.assign(width=np.where(frame.index == 1234, np.inf, 0.0)).to_parquet("inf.parquet")
    frame.assign(id=[f"row {i}" for i in range(len(frame))]).to_parquet("id.parquet")
    frame.assign(sold=frame["sold"].where(frame.index != 17)).to_parquet("gap.parquet")
    frame.assign(sold=frame["grade"]).to_parquet("three.parquet")
    frame.assign(sold="no").to_parquet("one.parquet")
    frame.assign(empty=np.nan).to_parquet("empty.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nothing")
    frame.to_csv("rows.csv")
    monkeypatch.setattr(stream, "MOST_CATEGORIES", 100)
    before = sorted(tmp_path.iterdir())
    for name, words in (
        ("time.parquet", "the column 'when' holds timestamp"),
        ("inf.parquet", "column 'width', row 1235: the number is infinite"),
        ("id.parquet", "column 'id' has more than 100 values"),
        ("gap.parquet", "row 18: the target 'sold' is missing"),
        ("three.parquet", "more than two classes: '1', '2', '3'"),
        ("one.parquet", "has 1 of the two classes"),
        ("empty.parquet", "column 'empty' has no value in any row"),
        ("broken.parquet", "not a readable Parquet file"),
        ("rows.csv", "only .parquet files are streamed"),
        ("none.parquet", "there is no such file"),
    ):
        assert main(["stream", name, "model", "--target", "sold"]) == 1
        assert words in capsys.readouterr().err
    assert main(["stream", "gap.parquet", "model", "--target", "sould"]) == 1
    assert "no column 'sould'; did you mean 'sold'?" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(UserError, match="is already there"):
        stream.run(fitted[0] / "rows.parquet", fitted[0] / "model", "sold", settings=SETTINGS)
    with pytest.raises(SystemExit):
        main(["stream", "gap.parquet", "model", "--target", "sold", "--pieces", "0"])


MEASURE = """
import sys
from pathlib import Path
from pipeline.commands import stream
settings = {"r1": 2, "r2": 2, "sample_size": 1000, "max_iter": 2}
for source in sys.argv[1:]:
    stream.run(Path(source), Path(source).with_suffix(""), "label", settings=settings)
    # Not ru_maxrss: a child's begins with its parent's.
    print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Another 900,000 rows would take 150 MB, if they were held."""
    X = np.random.default_rng(0).normal(size=(50_000, 20))
    table = pa.table({f"x{k}": X[:, k] for k in range(20)} | {"label": (X[:, 0] > 0).astype(int)})
    sources = [tmp_path / f"in{times}.parquet" for times in (6, 24)]
    for times, source in zip((6, 24), sources):
        with pyarrow.parquet.ParquetWriter(source, table.schema) as writer:
            for _ in range(times):
                writer.write_table(table)
    done = subprocess.run([sys.executable, "-c", MEASURE, *sources], capture_output=True, text=True, check=True)
    small, large = (int(peak) / 1024 for peak in done.stdout.split())
    assert large < small + 60, (small, large)
