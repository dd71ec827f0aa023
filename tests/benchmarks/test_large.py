"""The benchmark of many rows: one task as it is measured, and the claims about all of them."""

import pandas as pd

from benchmarks import large
from benchmarks.classifiers import SINGLE, TUNED


def test_a_model_is_scored_on_rows_that_it_was_not_fitted_to(monkeypatch):
    monkeypatch.setattr(large, "TEST", 1000)
    row = large.measure(SINGLE, 1500, 2)
    assert (row["model"], row["rows"], row["classes"]) == (SINGLE, 1500, 2)
    assert 60 < row["accuracy"] < 100
    assert row["cpu_seconds"] > 0
    assert row["peak_mb"] > 50


def test_time_that_grows_faster_than_the_rows_misses_its_target():
    """Ten times the rows take twenty times as long; everything else is reached."""
    seconds = {large.ROWS: 1.0, large.BETWEEN: 20**0.477, large.LARGE: 20.0}
    table = pd.DataFrame(
        [
            {"model": model, "rows": rows, "classes": classes}
            | {"accuracy": 95.0 if model in (SINGLE, TUNED) else 90.0, "peak_mb": 900.0}
            | {"cpu_seconds": seconds.get(rows, 1.0)}
            for model, rows, classes in large.TASKS
        ]
    )
    reached = {claim[0].text: claim[-1].text for claim in large.compare(table).claims}
    missed = [claim for claim, answer in reached.items() if answer == "no"]
    assert missed == [f"{SINGLE}: exponent of the time, 100,000 to 1,000,000 rows"]
