"""Drift: rows of the training distribution are not reported, planted shifts are, and the message says what moved."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldep.table import TableEncoder
from ldep_pipeline.commands import drift
from ldep_pipeline.commands.drift import UNSEEN_LIMIT, ColumnDrift, DriftCheck
from ldep_pipeline.serving.training_profile import TrainingProfile, profile_of
from tests.support.encoders import encoder_for

CITIES = [f"city {number}" for number in range(60)]
ZIPF = 1 / np.arange(1, 61)
sizes = st.tuples(st.integers(100, 5000), st.integers(50, 5000))
seeds = st.integers(0, 2**32 - 1)


def rows(count: int, seed: int) -> pd.DataFrame:
    """Columns of many shapes: normal, skewed, whole numbers, mostly zero, constant, two and sixty categories, gaps."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "normal": rng.normal(50, 10, count),
            "skewed": rng.lognormal(0, 2, count),
            "whole": rng.poisson(3, count).astype(float),
            "mostly zero": np.where(rng.random(count) < 0.8, 0.0, rng.exponential(size=count)),
            "constant": np.ones(count),
            "flag": rng.choice(["no", "yes"], count, p=[0.9, 0.1]),
            "city": rng.choice(CITIES, count, p=ZIPF / ZIPF.sum()),
        }
    )
    frame.loc[rng.random(count) < 0.1, "normal"] = np.nan
    frame.loc[rng.random(count) < 0.3, "city"] = None
    return frame.astype({"flag": "category", "city": "category"})


def compared(before: pd.DataFrame, now: pd.DataFrame, parts: int = 1) -> dict[str, ColumnDrift]:
    encoder = TableEncoder(None, scale=False).fit(before)
    check = DriftCheck(encoder, profile_of(encoder, before))
    size = -(-len(now) // parts)
    for start in range(0, max(len(now), 1), max(size, 1)):
        check.add(now.iloc[start : start + size])
    return {column.column: column for column in check.result()}


def moved(before: pd.DataFrame, now: pd.DataFrame) -> set[str]:
    return {name for name, column in compared(before, now).items() if column.reasons}


def test_rows_of_the_same_distribution_are_hardly_ever_reported():
    """At the documented level: at most one file in a hundred, over all columns; here of 60 files of many sizes."""
    rng = np.random.default_rng(0)
    reported = 0
    for seed in range(60):
        before, now = (int(size) for size in np.exp(rng.uniform(np.log(100), np.log(3000), size=2)))
        reported += bool(moved(rows(before, 2 * seed), rows(now, 2 * seed + 1)))
    assert reported <= 1


@settings(max_examples=25, deadline=None)
@given(sizes, seeds)
def test_the_training_rows_themselves_are_never_reported(size, seed):
    frame = rows(size[0], seed)
    result = compared(frame, frame)
    assert list(result) == list(frame)
    assert not any(column.reasons for column in result.values())
    assert all(abs(column.psi) < 1e-12 for column in result.values())


@settings(max_examples=25, deadline=None)
@given(st.integers(300, 3000), st.integers(300, 3000), seeds, st.sampled_from([-1, 1]))
def test_planted_shifts_are_reported_and_an_untouched_column_is_not(before, now, seed, sign):
    training, later = rows(before, seed), rows(now, seed + 1)
    rng = np.random.default_rng(seed)
    shifted = later.copy()
    shifted["normal"] += 10.0 * sign  # one standard deviation
    shifted["mostly zero"] = np.where(rng.random(now) < 0.5, 0.0, rng.exponential(size=now))
    shifted["constant"] += 0.5
    shifted["city"] = shifted["city"].astype(object).where(rng.random(now) < 0.6, "Atlantis")
    shifted.loc[rng.random(now) < 0.3, "skewed"] = np.nan
    assert {"normal", "mostly zero", "constant", "city", "skewed"} <= moved(training, shifted)
    unchanged = compared(training, shifted)
    assert not unchanged["whole"].reasons or compared(training, later)["whole"].reasons


def test_the_reasons_name_what_moved():
    before, now = rows(2000, 0), rows(1000, 1)
    now["normal"] += 30
    now["flag"] = pd.Categorical(["yes"] * 500 + ["no"] * 500)
    now["city"] = ["Atlantis"] * 200 + [None] * 800
    result = compared(before, now)
    assert result["normal"].reasons[0].startswith("from 6")
    assert result["flag"].reasons == ["'yes': 9.0% -> 50.0% of the values"]
    assert result["city"].reasons[-1] == "unseen values in 20.0% of the rows: Atlantis"
    assert result["city"].reasons[-2].startswith("missing cells: 29.3% -> 80.0%")
    assert list(result)[:1] == ["normal"]  # the largest first
    assert not result["whole"].reasons


def test_rows_may_arrive_in_parts():
    before, now = rows(500, 0), rows(700, 1)
    assert compared(before, now, parts=7) == compared(before, now)


def test_a_column_that_was_always_empty_is_reported_when_it_has_values():
    before = pd.DataFrame({"x": np.arange(200.0), "new": np.full(200, np.nan)})
    assert moved(before, before.assign(new=1.0)) == {"new"}


def test_dates_are_compared_and_shown_as_dates_and_known_typing_errors_are_not_new():
    days = pd.date_range("2020-01-01", periods=400).strftime("%Y-%m-%d").tolist()
    before = pd.DataFrame({"day": pd.Categorical([*days, *["2020-13-32"] * 12])})
    encoder = encoder_for(before).fit(before)
    check = DriftCheck(encoder, profile_of(encoder, before))
    check.add(before)
    (same,) = check.result()
    assert (same.kind, same.psi, same.unseen > UNSEEN_LIMIT, same.reasons) == ("date", 0.0, True, [])
    check = DriftCheck(encoder, profile_of(encoder, before))
    check.add(pd.DataFrame({"day": [*days[-60:] * 3, *["soon"] * 60]}))
    (moved,) = check.result()
    assert moved.reasons == [
        "from 2020-12-25: 10.2% -> 68.3% of the values",
        "unseen values in 25.0% of the rows: soon",
    ]


def test_few_rows_are_not_enough_for_a_report():
    """Three of three rows in one bin are a PSI of more than 1, and mean nothing."""
    before = rows(1000, 0)
    now = before[before["normal"] > 55].head(3)
    result = compared(before, now)
    assert result["normal"].psi > 1
    assert not any(column.reasons for column in result.values())


def test_no_rows_have_not_moved():
    assert moved(rows(100, 0), rows(100, 1).head(0)) == set()


@pytest.mark.parametrize("counts", [[0, 0], [0, 5]])
def test_the_index_of_nothing_is_zero(counts):
    assert drift.psi(np.zeros(2), np.array(counts, dtype=float)) == 0


def test_the_index_is_the_textbooks_for_many_rows():
    before, now = np.array([500.0, 300, 200]) * 1e6, np.array([400.0, 300, 300]) * 1e6
    p, q = before / before.sum(), now / now.sum()
    assert drift.psi(before, now) == pytest.approx(((q - p) * np.log(q / p)).sum(), rel=1e-6)


def test_a_profile_is_the_same_after_storing(tmp_path):
    frame = rows(300, 0)
    profile = profile_of(TableEncoder(None, scale=False).fit(frame), frame, {"normal": 1.0, "city": None})
    profile.save(tmp_path)
    assert TrainingProfile.load(tmp_path) == profile
    assert TrainingProfile.load(tmp_path / "none") is None
    (tmp_path / "training_profile.json").write_text('{"rows": 1}')
    with pytest.raises(ValueError, match="cannot be read"):
        TrainingProfile.load(tmp_path)
