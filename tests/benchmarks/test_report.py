"""The tables of a benchmark's report."""

from __future__ import annotations

import pandas as pd

from benchmarks.report import from_frame
from ldep_pipeline.report import renderers


def test_a_data_frame_becomes_a_table():
    frame = pd.DataFrame({"name": ["x", None], "count": [1, 20], "seconds": [0.123456789, float("nan")]})
    assert renderers.markdown(from_frame(frame)).splitlines() == [
        "| name | count | seconds |",
        "| ---- | ----: | ------: |",
        "| x    |     1 |  0.1235 |",
        "|      |    20 |         |",
    ]
    assert renderers.csv(from_frame(frame), ".6g") == "name,count,seconds\nx,1,0.123457\n,20,\n"
