"""The benchmarks' own machinery: what they measure is not tested here, that they measure is."""

import subprocess
import sys

import numpy as np
import pandas as pd

from benchmarks import data, grid, scaling, solvers, timing
from benchmarks.report import Report


def test_help_lists_them():
    done = subprocess.run([sys.executable, "-m", "benchmarks", "--help"], capture_output=True, text=True, check=True)
    names = "solvers fit_time dccp scaling serving morpho dask tracking grid streaming scale"
    for name in names.split():
        assert name in done.stdout


def test_an_unknown_name_is_refused():
    done = subprocess.run([sys.executable, "-m", "benchmarks", "spede"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no benchmark is called 'spede'; there are solvers," in done.stderr


def test_all_solvers_take_part():
    row = solvers.against_dccp(0)
    assert row["ccp"] <= row["ccp_bare"]
    assert all(row[name] >= 0 for name in ("dccp", "ccp", "anneal"))


def test_an_exponent_is_a_slope():
    assert scaling.exponent([1, 10, 100], [2, 20, 200]) == 1.0


def test_the_inner_choice_never_sees_the_test_part(monkeypatch):
    monkeypatch.setattr(grid, "SETTINGS", [{"r1": 1, "r2": 1}, {"r1": 3, "r2": 3}])
    X, y = data.synthetic(0, 120, 2)
    assert grid.choose(X, y) == grid.choose(X.copy(), y.copy())
    assert grid.choose(X, y)[0] in grid.SETTINGS


def test_a_competitor_that_takes_too_long_is_ended():
    X, y = data.synthetic(0, 3000, 10, noise=1.0)
    part = data.Fold(X, y, X[:5], y[:5])
    assert timing.fit_within("ldep_dccp", part, 4) == {"status": "not finished in 4 s"}


def test_a_competitor_in_time_is_scored():
    X, y = data.synthetic(0, 100, 2)
    result = timing.fit_within("ldep_default", data.Fold(X, y, X, y), 60)
    assert result["status"] == "ok"
    assert 0.5 < result["accuracy"] <= 1


def test_a_report_holds_figures_and_how_they_were_made(tmp_path):
    report = Report("demo", "A demonstration")
    report.table("rows", pd.DataFrame({"x": np.arange(3), "y": [0.5, 1.5, 2.5]}))
    report.claim("the answer", 42.0, "> 41", True)
    report.write(tmp_path)
    text = (tmp_path / "demo.md").read_text()
    assert "| the answer |         42 | > 41       | yes       |" in text
    assert "python -m benchmarks demo" in text
    assert pd.read_csv(tmp_path / "demo-rows.csv")["y"].sum() == 4.5
