"""docs/results.md and the results in README.md: each number is the one that the published results give."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.execution.results import COLUMNS
from ldep_pipeline.report.report_data import COMPARED, DatasetInfo, ReportData

ROOT = Path(__file__).parents[2]
FAMILIES = {
    "ℓ-DEP": ("ldep_default", "ldep", "ldep_ensembled"),
    **{
        name: (model, f"{model}_tuned", f"{model}_ensembled")
        for name, model in {
            "LightGBM": "lightgbm",
            "RBF SVC": "rbf_svc",
            "HistGradientBoosting": "hist_gradient_boosting",
            "CatBoost": "catboost",
            "extra trees": "extra_trees",
            "MLP": "mlp",
            "random forest": "random_forest",
            "EBM, limited": "ebm",
            "logistic regression": "logistic",
        }.items()
    },
}
MODELS = {
    **{name: forms[0] for name, forms in FAMILIES.items()},
    **{f"{name}, tuned": forms[1] for name, forms in FAMILIES.items()},
    **{f"{name}, ensembled": forms[2] for name, forms in FAMILIES.items()},
    "`LDEPClassifier()`": "ldep_default",
    "`LDEPClassifierCV()`": "ldep_cv",
    "linear SVC": "linear_svc",
    "maxout": "maxout",
    "dilation": "dilation",
    "erosion": "erosion",
    "DEP": "dep",
    "r-DEP": "rdep",
}


@cache
def published(folder: str, repeats: int) -> ReportData:
    """A published table, which may be older than a column of the results."""
    table = pd.read_csv(ROOT / "reports" / folder / "results.csv.gz", usecols=lambda column: column in COLUMNS)
    datasets = {name: DatasetInfo("OpenML", repeats=repeats) for name in table["dataset"].unique()}
    return ReportData(results=table, curves=pd.DataFrame(), datasets=datasets)


def rows_below(page: str, header: str) -> dict[str, list[str]]:
    """{first cell: the other cells} of the only table whose first line begins so."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text.count(f"| {header} |") == 1, f"{page} has no table, or several, that begin with {header}"
    lines = text.partition(f"| {header} |")[2].splitlines()[2:]
    rows: dict[str, list[str]] = {}
    for line in lines:
        if not line.startswith("|"):
            break
        first, *others = (cell.strip().strip("*") for cell in line.strip().strip("|").split("|"))
        rows[first] = others
    return rows


def mean(data: ReportData, model: str, metric: str = "accuracy") -> float:
    return float(data.by(COMPARED[metric]).scores.mean[model].mean())


def rank(data: ReportData, model: str) -> float:
    assert data.ranks is not None
    return float(data.ranks.mean[model])


def time_relative_to_the_mlp(data: ReportData, model: str) -> float:
    times = data.by(COMPARED["fit_time"]).scores.mean
    return float((times[model] / times["mlp"]).median())


COLUMNS_OF_DEFAULTS: list[Callable[[ReportData, str], float]] = [
    mean,
    rank,
    lambda data, model: mean(data, model, "log_loss"),
    lambda data, model: data.costs.loc[model, "fitting"],
    time_relative_to_the_mlp,
]


def agree(printed: str, exact: float) -> bool:
    """Whether the printed number, which may have a unit, is the exact one, rounded to as many digits."""
    number, _, unit = printed.partition(" ")
    digits = len(number.partition(".")[2])
    exact = exact / 60 if unit == "min" else exact
    return abs(float(number.replace(",", "")) - exact) <= 0.5 * 10.0**-digits + 1e-9


def test_models_with_their_defaults():
    data = published("paper", 1)
    rows = rows_below("docs/results.md", "model | mean accuracy, % | mean rank among 38 | log-loss")
    assert len(rows) == 11
    for name, cells in rows.items():
        exact = [column(data, MODELS[name]) for column in COLUMNS_OF_DEFAULTS]
        for printed, value in zip(cells, exact, strict=True):
            assert agree(printed, value) if printed else np.isnan(value), (name, printed, value)


def test_families_in_three_forms():
    data = published("paper", 1)
    rows = rows_below("docs/results.md", "family | default | rank")
    assert set(rows) == set(FAMILIES)
    for name, cells in rows.items():
        exact = [column(data, form) for form in FAMILIES[name] for column in (mean, rank)]
        exact.append(data.costs.loc[FAMILIES[name][1], "tuning"])
        for printed, value in zip(cells, exact, strict=True):
            assert agree(printed, value), (name, printed, value)


def test_the_readme_names_the_best_models_and_their_means():
    data = published("paper", 1)
    rows = data.results[data.results["metric"] == "accuracy"]
    accuracy = 100 * rows.groupby(["dataset", "model"])["value"].mean().unstack()
    means, without_one = accuracy.mean(), accuracy.drop("hill-valley").mean()
    ranks = pd.Series({model: rank(data, model) for model in means.index})
    log_losses = pd.Series({model: mean(data, model, "log_loss") for model in means.index})
    others = means.drop(["ldep_cv", *FAMILIES["ℓ-DEP"]])
    assert means.idxmax() == ranks.idxmin() == log_losses.idxmin() == "ldep_cv"
    assert others.idxmax() == "lightgbm_tuned"
    assert round(without_one["ldep_cv"], 1) == round(without_one["lightgbm_tuned"], 1)
    expected = [means["ldep_cv"], others.max(), without_one["ldep_cv"], means["ldep_default"], means["random_forest"]]
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Results")[2].partition("\n## ")[0]
    assert re.findall(r"(\d+\.\d) %", section) == [f"{value:.1f}" for value in expected]


def test_five_repeats():
    data = published("paper-repeats", 5)
    of_repeats = data.means_of_repeats
    assert of_repeats is not None
    rows = rows_below("docs/results.md", "model | mean of five repeats")
    assert len(rows) == 20
    for name, (printed_mean, printed_range, printed_rank, seconds) in rows.items():
        model = MODELS[name]
        values = of_repeats[model]
        assert agree(printed_mean, values.mean()), name
        lowest, highest = printed_range.split(" to ")
        assert agree(lowest, values.min()), name
        assert agree(highest, values.max()), name
        assert agree(printed_rank, rank(data, model)), name
        tuning = 0.0 if name.endswith("ensembled") else data.costs.loc[model, "tuning"]
        assert agree(seconds, (data.costs.loc[model, "fitting"] + tuning) / 5), name


@pytest.mark.parametrize(
    ("printed", "exact", "expected"),
    [
        ("90.2", 90.24, True),
        ("90.2", 90.26, False),
        ("12.4 min", 743.0, True),
        ("319 s", 319.4, True),
        ("1", 1.6, False),
    ],
)
def test_a_number_agrees_if_it_is_rounded_correctly(printed: str, exact: float, expected: bool):
    assert agree(printed, exact) is expected
