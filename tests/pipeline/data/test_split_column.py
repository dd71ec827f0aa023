"""Own data that is split by a time or by a group: the column is read, checked, and is not a feature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.data import folds, stage_files

ROWS = 40


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(ROWS), unit="D")
    return pd.DataFrame(
        {
            "size": np.arange(ROWS) / 4,
            "customer": [f"c{number}" for number in rng.integers(0, 12, ROWS)],
            "day": days.strftime("%d.%m.%Y"),
            "label": np.where(np.arange(ROWS) % 2, "yes", "no"),
        }
    )


@pytest.fixture
def own(project, write_params, ldep):
    """Write a file, then fetch and split it as `mine`."""

    def run(table: pd.DataFrame, name: str = "my.csv", folds: int = 4, **entry: object) -> tuple[int, str]:
        path = Path("data/own") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".csv":
            table.to_csv(path, index=False)
        else:
            table.to_parquet(path)
        entry = {"path": str(path), "target": "label", **entry}
        write_params(datasets=["mine"], own_data={"mine": entry}, split={"folds": folds})
        code, _, text = ldep("fetch")
        if code == 0:
            code, _, text = ldep("split")
        return code, text

    return run


@pytest.mark.parametrize("name", ["my.csv", "my.parquet"])
def test_by_time(own, name):
    table = frame()
    code, text = own(table, name, ignore=["customer"], split={"time": "day"})
    assert code == 0, text
    assert "40 rows in 4 folds by time (day)" in text
    assert stage_files.read_raw("mine").columns.tolist() == ["size", "label"]
    partition = folds.read("mine")
    day = pd.to_datetime(table["day"], format="%d.%m.%Y")
    for fold in range(4):
        assert day[partition.train_rows(fold)].max() < day[partition.test_rows(fold)].min()
    assert pd.read_csv("data/folds/mine.csv").columns.tolist() == ["row", "fold", "time"]


def test_by_group(own):
    table = frame()
    code, text = own(table, ignore=["day"], split={"group": "customer"})
    assert code == 0, text
    assert stage_files.read_raw("mine").columns.tolist() == ["size", "label"]
    partition = folds.read("mine")
    for fold in range(4):
        assert not set(table["customer"][partition.train_rows(fold)]) & set(
            table["customer"][partition.test_rows(fold)]
        )


def test_a_time_may_be_a_number_and_stay_a_feature(own):
    table = frame().assign(year=np.arange(ROWS) // 5 + 1990)
    code, text = own(table, ignore=["customer", "day"], split={"time": "year", "keep": True})
    assert code == 0, text
    assert stage_files.read_raw("mine").columns.tolist() == ["size", "year", "label"]


def spoilt(column: str, row: int, cell: object) -> pd.DataFrame:
    table = frame()
    table.loc[row, column] = cell
    return table


@pytest.mark.parametrize(
    ("table", "entry", "message"),
    [
        (spoilt("day", 7, "soon"), {"split": {"time": "day"}}, r"my\.csv: line 9, column 'day': 'soon' is not a date"),
        (spoilt("day", 7, None), {"split": {"time": "day"}}, r"my\.csv: line 9, column 'day': the time is missing"),
        (spoilt("customer", 3, None), {"split": {"group": "customer"}}, r"column 'customer': the group is missing"),
        (frame(), {"split": {"time": "customer"}}, r"column 'customer': 'c\d+' and others are neither dates nor"),
        (frame(), {"split": {"time": "dya"}}, r"own_data\.mine\.split\.time: .*my\.csv has no column 'dya'"),
        (frame(), {"split": {"group": "customer"}, "folds": 30}, r"'customer' has 12 groups, too few for split\.folds"),
        (frame().assign(day=2024), {"split": {"time": "day"}}, r"too many rows have the same time in the column 'day'"),
        (
            frame().assign(customer=lambda table: table["customer"].where(table["label"] == "no", "a")),
            {"split": {"group": "customer"}, "folds": 3},
            r"the training part of fold \d has no row of class",
        ),
        (frame(), {"split": {"time": "day", "group": "customer"}}, r"give one column, as time or as group"),
        (frame(), {"split": {"group": "label"}}, r"'label' is the target"),
    ],
)
def test_what_cannot_be_split_is_refused(own, table, entry, message):
    code, text = own(table, **entry)
    assert code == 1, text
    assert pd.Series([text]).str.contains(message).all(), text
    assert "Traceback" not in text
