"""The profile of a table: identifiers, dates, leaks and other columns that need attention are named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.data.profile import Profile, profile
from ldep_pipeline.data.tables import Layout
from ldep_pipeline.data.tables.csv_table import guess_layout


def honest_table(generator: np.random.Generator, rows: int) -> pd.DataFrame:
    """Numbers, truth values, few and many categories, of which some have to do with the target."""
    label = generator.random(rows) < generator.uniform(0.05, 0.5)
    label[:2] = [True, False]
    return pd.DataFrame(
        {
            "age": generator.integers(18, 90, rows) + 10 * label,
            "income": generator.normal(3e4, 1e4, rows).round(2),
            "score": generator.normal(size=rows) + label,
            "active": generator.random(rows) < 0.5,
            "colour": generator.choice(["red", "green", "blue"], rows),
            "city": [f"city {number}" for number in generator.integers(0, rows // 10, rows)],
            "target": np.where(label, "yes", "no"),
        }
    )


def identifier(kind: int, generator: np.random.Generator, rows: int) -> tuple[str, object]:
    match kind % 4:
        case 0:
            return "customer", [f"C{number:07d}" for number in generator.permutation(rows)]
        case 1:
            return "line", np.arange(rows) + 1000
        case 2:
            return "account_id", generator.choice(10**7, rows, replace=False)
        case _:
            return "remark", [f"text {number} of {generator.random():.6f}" for number in range(rows)]


def dates(kind: int, generator: np.random.Generator, rows: int) -> list[str]:
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(generator.integers(0, 2000, rows), unit="D")
    forms = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S", "%d %b %Y"]
    return list(days.strftime(forms[kind % len(forms)]))


def leak(kind: int, generator: np.random.Generator, target: pd.Series) -> object:
    positive = (target == "yes").to_numpy()
    match kind % 4:
        case 0:
            return np.where(positive, "closed", "open")
        case 1:
            return positive * 100.0 + generator.normal(size=len(positive))
        case 2:  # filled in only where the event happened
            return np.where(positive, generator.integers(1, 1000, len(positive)), np.nan)
        case _:
            return np.where(
                positive, "reason " + pd.Series(generator.integers(0, 4, len(positive))).astype(str), "none"
            )


@pytest.mark.parametrize("seed", range(20))
def test_planted_identifiers_dates_and_leaks_are_named_and_nothing_else(seed, tmp_path):
    generator = np.random.default_rng(seed)
    rows = int(generator.integers(200, 3000))
    table = honest_table(generator, rows)
    name, values = identifier(seed, generator, rows)
    table.insert(0, name, values)
    table.insert(2, "since", dates(seed, generator, rows))
    table.insert(4, "given_away", leak(seed, generator, table["target"]))
    file = tmp_path / "table.csv"
    table.to_csv(file, index=False)
    found = profile(read_frame(file, "target"))
    columns = {column.name: column for column in found.columns}
    assert found.dropped == [name]
    assert columns["since"].kind == "date"
    leaks = [column.name for column in found.columns if any("separates the classes" in r for r in column.remarks)]
    assert leaks == ["given_away"]
    text = "\n".join(found.warnings())
    assert all(f"'{planted}'" in text for planted in (name, "since", "given_away"))


def frame_of(**columns) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    return frame.assign(target=pd.Categorical(frame["target"]))


def test_constant_empty_and_copied_columns_are_left_out():
    values = np.random.default_rng(0).normal(size=50)
    frame = frame_of(a=values, b=np.ones(50), c=np.full(50, np.nan), d=values, target=["x", "y"] * 25)
    found = profile(frame)
    reasons = {column.name: column.drop for column in found.columns if column.drop}
    assert reasons == {
        "b": "it has the same value in every row",
        "c": "it has no value in any row",
        "d": "it says the same as the column 'a'",
    }


def test_repeated_contradictory_and_rare_rows_are_counted():
    frame = frame_of(a=[1.0, 1.0, 2.0, 2.0, 3.0, 4.0], target=["x", "x", "x", "y", "x", "x"])
    found = profile(frame)
    assert (found.repeated, found.contradictory) == (1, 2)
    text = "\n".join(found.warnings())
    assert "1 rows repeat an earlier row" in text
    assert "2 rows are equal to a row of another class" in text
    assert "'y' (1)" in text
    assert "the smallest class has 16.7% of the rows" in text


def test_a_profile_survives_three_classes_and_one_column():
    frame = frame_of(a=[1.0, 2.0, 3.0] * 10, target=["x", "y", "z"] * 10)
    found = profile(frame)
    assert found.classes == {"x": 10, "y": 10, "z": 10}
    assert found.to_json()["columns"][0]["name"] == "a"


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("a,b\n1.5,x\n2.5,y\n", Layout(",", ".", "utf-8")),
        ("a;b\n1,5;x\n2,5;y\n", Layout(";", ",", "utf-8")),
        ("a;b\n1.5;x\n2.5;y, z\n", Layout(";", ".", "utf-8")),
        ("a\tb\n1,5\tx\n", Layout("\t", ",", "utf-8")),
        ("a|b\n1|caf\xe9\n", Layout("|", ".", "cp1252")),
        ('a,b\n"1,5;2",x\n"3,5;4",y\n', Layout(",", ".", "utf-8")),
        ("only\n1\n", Layout(",", ".", "utf-8")),
        ("", Layout(",", ".", "utf-8")),
    ],
)
def test_the_layout_of_a_csv_file_is_guessed(tmp_path, text, layout):
    file = tmp_path / "table.csv"
    file.write_bytes(text.encode(layout.encoding))
    assert guess_layout(file) == layout


@pytest.mark.parametrize(
    ("classes", "unbalanced"),
    [({"a": 19, "b": 81}, True), ({"a": 21, "b": 79}, False), (dict.fromkeys("abcdefghij", 10), False)],
)
def test_classes_are_compared_with_equal_shares(classes, unbalanced):
    found = Profile(sum(classes.values()), "label", classes, (), 0, 0, None)
    assert found.is_unbalanced is unbalanced
