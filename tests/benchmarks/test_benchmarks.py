"""The machinery of the benchmarks: that they measure what they say. The figures themselves are not tested."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from benchmarks import data, grid, multiclass, scaling, search, solvers, timing
from benchmarks.__main__ import BENCHMARKS
from benchmarks.report import Report


def test_help_lists_the_benchmarks():
    done = subprocess.run([sys.executable, "-m", "benchmarks", "--help"], capture_output=True, text=True, check=True)
    for name in BENCHMARKS:
        assert name in done.stdout


def test_an_unknown_name_is_refused():
    done = subprocess.run([sys.executable, "-m", "benchmarks", "spede"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no benchmark is called 'spede'; there are solvers," in done.stderr


def test_all_solvers_are_compared():
    row = solvers.against_dccp(0)
    assert row["ccp"] <= row["ccp_bare"]
    assert all(row[name] >= 0 for name in ("dccp", "ccp", "anneal"))


def test_the_problems_with_many_classes_have_3_to_26_of_them():
    n_classes = {name: len(np.unique(multiclass.load(name)[1])) for name in multiclass.PROBLEMS}
    assert len(n_classes) >= 10
    assert (min(n_classes.values()), max(n_classes.values())) == (3, 26)


def test_all_models_are_compared_on_many_classes():
    row = multiclass.one("iris")
    assert all(row[f"{model}_accuracy"] > 85 for model in multiclass.MODELS)
    assert all(row[f"{model}_seconds"] > 0 for model in multiclass.MODELS)


def test_search_strategies_are_valid_and_compared_with_the_list():
    assert all(entry.trials == tuning.trials for entry, tuning in search.STRATEGIES.values())
    rows = [
        {"problem": problem, "strategy": strategy, "inner": 90.0, "accuracy": accuracy, "seconds": 2.0, "pruned": 3}
        | {"r1": 1, "r2": number, "ensembled": accuracy}
        for problem in ("a", "b")
        for number, (strategy, accuracy) in enumerate(((search.LIST, 80.0), ("other", 82.0)), 1)
    ]
    table = search.summary(pd.DataFrame(rows)).set_index("strategy")
    assert table.loc["other", ["wins", "losses", "seconds", "asymmetric"]].tolist() == [2, 0, 4.0, 2]


def test_the_exponent_is_the_slope_in_logarithms():
    assert scaling.exponent([1, 10, 100], [2, 20, 200]) == pytest.approx(1.0)


def test_the_test_part_decides_the_score_and_nothing_else(monkeypatch):
    """With another test part, the chosen setting and its inner score stay, and the scores on the test part change."""
    X, y = data.synthetic(0, 160, 2)
    honest = data.Fold(X[:120], y[:120], X[120:], y[120:])
    poisoned = honest._replace(X_test=100 * honest.X_test, y_test=1 - honest.y_test)
    monkeypatch.setattr(grid, "SETTINGS", [{"r1": 1, "r2": 1}, {"r1": 3, "r2": 3}])
    rows = []
    for part in (honest, poisoned):
        monkeypatch.setattr(data, "fold", lambda name, number, part=part: part)
        rows.append(grid.outer("synthetic", 0))
    decided = ["r1", "r2", "inner"]
    assert [rows[0][key] for key in decided] == [rows[1][key] for key in decided]
    assert rows[0]["single"] > 70
    assert rows[1]["single"] != rows[0]["single"]


def test_the_training_part_is_scaled_by_its_own_rows(monkeypatch):
    X, y = data.synthetic(0, 100, 2)
    folds = np.arange(100) % 5
    scaled = []
    for offset in (0, 1000):
        shifted = X + offset * (folds == 0)[:, np.newaxis]
        monkeypatch.setattr(data, "load", {"synthetic": (shifted, y, folds)}.__getitem__)
        scaled.append(data.fold("synthetic", 0))
    np.testing.assert_array_equal(scaled[0].X, scaled[1].X)
    assert np.abs(scaled[1].X_test - scaled[0].X_test).min() > 100


def test_a_competitor_that_needs_too_much_cpu_time_is_stopped():
    X, y = data.synthetic(0, 3000, 10, noise=1.0)
    part = data.Fold(X, y, X[:5], y[:5])
    assert timing.fit_within("ldep_dccp", part, 4) == {"status": "not finished in 4 s"}


def test_a_competitor_that_finishes_is_scored():
    X, y = data.synthetic(0, 100, 2)
    result = timing.fit_within("ldep_default", data.Fold(X, y, X, y), 60)
    assert result["status"] == "ok"
    assert 0.5 < result["accuracy"] <= 1


def test_a_report_has_the_figures_and_the_command_that_made_them(tmp_path):
    report = Report("demo", "A demonstration")
    report.table("rows", pd.DataFrame({"x": np.arange(3), "y": [0.5, 1.5, 2.5]}))
    report.claim("the answer", 42.0, "> 41", True)
    report.write(tmp_path)
    text = (tmp_path / "demo.md").read_text()
    assert "| the answer |       42 | > 41   | yes     |" in text
    assert "python -m benchmarks demo" in text
    assert pd.read_csv(tmp_path / "demo-rows.csv")["y"].sum() == 4.5
