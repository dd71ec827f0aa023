"""What is crowned on 60 generated tables: 20 without any relation, 20 with a rare class, 20 with dates, groups or text.

Each table goes through the stages fetch, impute, split, train and register, as a user's file does. A reference says
what is to be reached: nothing on noise, LightGBM's defaults for a rare class, TF-IDF with a logistic regression for
text. The references are measured on the same folds, and cannot be crowned.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tqdm import tqdm

from benchmarks.report import Report
from ldep_pipeline.config import params
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import results
from ldep_pipeline.stages import fetch, impute, register, split, train

EACH = 20
NAME = "table"
MODELS = {
    "logistic": {"class": "sklearn.linear_model.LogisticRegression", "params": {"max_iter": 1000}},
    "ldep": {"class": "ldep.LDEPClassifier"},
    "extra_trees": {"class": "sklearn.ensemble.ExtraTreesClassifier"},
}
REFERENCE = "lightgbm"
LIGHTGBM = {"class": "lightgbm.LGBMClassifier", "params": {"n_jobs": 1, "verbosity": -1}}
SUBJECTS = ("invoice", "password", "delivery", "refund", "printer", "contract", "update", "account")
FILLERS = (
    *("the", "a", "is", "was", "and", "my", "please", "again", "still", "not", "since", "yesterday", "after", "our"),
    *("this", "with", "for", "at", "very"),
)


def noise(seed: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Columns and classes that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    rows, features = int(rng.integers(120, 600)), int(rng.integers(2, 12))
    frame = pd.DataFrame(rng.normal(size=(rows, features)), columns=[f"x{k}" for k in range(features)])
    frame["kind"] = rng.choice(["red", "green", "blue"], size=rows)
    shares = [(0.5, 0.5), (0.7, 0.3), (0.9, 0.1), (0.4, 0.3, 0.3)][seed % 4]
    frame["label"] = rng.choice([f"c{k}" for k in range(len(shares))], size=rows, p=shares)
    metric = ["accuracy", "balanced_accuracy", "average_precision", "f1_macro", "log_loss"][seed % 5]
    return frame, {"metric": metric}


def rare(seed: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """One row in twenty to one in a hundred fails, more likely for some numbers and kinds."""
    rng = np.random.default_rng(1000 + seed)
    rows, share = int(rng.integers(1000, 2500)), float(rng.uniform(0.01, 0.05))
    X = rng.normal(size=(rows, 6))
    kind = rng.integers(0, 4, size=rows)
    score = X @ np.append(rng.normal(size=4), [0, 0]) + 0.8 * (kind == 2)
    if seed % 2:
        score += np.abs(X[:, 0] * X[:, 1])
    score += rng.logistic(size=rows)
    fails = score > np.quantile(score, 1 - share)
    frame = pd.DataFrame(X.round(4), columns=[f"x{k}" for k in range(6)])
    return frame.assign(kind=np.array(list("abcd"))[kind], label=np.where(fails, "fail", "fine")), {
        "metric": "average_precision"
    }


def mixed(seed: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """By turns: dates that matter and a split by time, groups with a level of their own, and tickets of words."""
    rng = np.random.default_rng(2000 + seed)
    rows = 500
    x = rng.normal(size=rows)
    if seed % 3 == 0:
        days = np.sort(rng.integers(0, 700, size=rows))
        moments = (pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")).strftime("%Y-%m-%d")
        late = x + 1.5 * (days % 7 >= 5) + 0.7 * rng.logistic(size=rows) > 0.5
        frame = pd.DataFrame(
            {"day": moments, "x": x, "z": rng.normal(size=rows), "label": np.where(late, "late", "ok")}
        )
        return frame, {"split": {"time": "day", "keep": True}}
    if seed % 3 == 1:
        machine = rng.integers(0, 40, size=rows)
        level = rng.normal(size=40)[machine]
        fails = x + level + 0.7 * rng.logistic(size=rows) > 0
        frame = pd.DataFrame({"machine_id": machine, "x": x, "level": level + 0.3 * rng.normal(size=rows)})
        return frame.assign(label=np.where(fails, "fail", "fine")), {"split": {"group": "machine_id"}}
    topic = rng.integers(0, len(SUBJECTS), size=rows)
    texts = [
        " ".join([*rng.choice(FILLERS, size=8), SUBJECTS[number], *rng.choice(FILLERS, size=6)]) for number in topic
    ]
    team = np.where(topic < len(SUBJECTS) // 2, "billing", "support")
    label = np.where(rng.random(rows) < 0.05, "support", team)
    return pd.DataFrame({"text": texts, "x": x, "label": label}), {}


FAMILIES: dict[str, Callable[[int], tuple[pd.DataFrame, dict[str, Any]]]] = {
    "noise": noise,
    "rare": rare,
    "dates, groups, text": mixed,
}


def crowned(frame: pd.DataFrame, settings: dict[str, Any], reference: bool) -> dict[str, Any]:
    """Run the stages on a table; the record of `register`, the best score of each model, and that of a reference."""
    models = MODELS | ({REFERENCE: LIGHTGBM} if reference else {})
    own = {"path": "data/own/table.csv", "target": "label"} | {k: v for k, v in settings.items() if k == "split"}
    checked = params.check(
        {
            "datasets": [NAME],
            "own_data": {NAME: own},
            "metric": settings.get("metric", "accuracy"),
            "models": list(models),
            "classifiers": models,
            "execution": {"n_jobs": 1},
            "tracking": {"enabled": False},
            "register": {"candidates": list(MODELS)},
        }
    )
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("data/own").mkdir(parents=True)
        frame.to_csv("data/own/table.csv", index=False)
        fetch.run(NAME, checked.data, checked.own_data)
        impute.run(NAME, checked.impute)
        split.run(NAME, checked.split)
        train.run(NAME, checked)
        record = register.run(NAME, checked)
        table = results.read(NAME)
        found = table[table["metric"] == checked.metric].groupby("model")["value"].mean()
        degenerate = sorted(table[table["status"] != "ok"]["model"].unique())
        texts = _of_texts(frame) if "text" in frame else float("nan")
    skilled = record["beats_guessing"]
    return {
        "crowned": record["model"] if skilled else "nothing",
        "score": record["metrics"][checked.metric],
        "guessing": record["guessing"]["guess"],
        "reference": float(found.get(REFERENCE, texts)),
        "degenerate": ", ".join(degenerate),
    }


def _of_texts(frame: pd.DataFrame) -> float:
    """The accuracy of TF-IDF with a logistic regression, on the folds of the pipeline."""
    data = load_training_data(NAME)
    texts, scores = frame["text"].to_numpy(), []
    for fold in range(data.n_folds):
        rows, tested = data.train_rows(fold), data.test_rows(fold)
        model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000)).fit(texts[rows], data.y[rows])
        scores.append(model.score(texts[tested], data.y[tested]))
    return float(np.mean(scores))


def run() -> Report:
    report = Report("decisions", "What is crowned on 60 generated tables")
    rows = []
    for family, make in FAMILIES.items():
        for seed in tqdm(range(EACH), desc=f"decisions, {family}", disable=None):
            frame, settings = make(seed)
            found = crowned(frame, settings, reference=family == "rare")
            rows.append({"family": family, "table": seed, "metric": settings.get("metric", "accuracy"), **found})
    table = pd.DataFrame(rows)
    report.table("tables", table)
    claims(report, table)
    return report


def claims(report: Report, table: pd.DataFrame) -> None:
    """What is to be reached on each family."""
    families = {str(name): part for name, part in table.groupby("family")}
    of_noise, of_rare, others = families["noise"], families["rare"], families["dates, groups, text"]
    wrong = int((of_noise["crowned"] != "nothing").sum())
    report.claim(f"champions on {len(of_noise)} tables of noise", wrong, "0", wrong == 0)
    constant = sum(row.crowned in row.degenerate.split(", ") for row in of_rare.itertuples())
    report.claim("constant champions where a class is rare", constant, "0", constant == 0)
    crowned_rare = int((of_rare["crowned"] != "nothing").sum())
    report.claim("tables with a rare class that have a champion", crowned_rare, "", True)
    gap = float((of_rare["score"] - of_rare["reference"]).mean())
    report.claim("mean average precision above that of LightGBM's defaults", gap, "≥ 0", gap >= 0)
    texts = others[others["reference"].notna()]
    behind = float(100 * (texts["reference"] - texts["score"]).max())
    report.claim("points behind TF-IDF with logistic regression, at most", behind, "≤ 2", behind <= 2)
    missing = int((others["crowned"] == "nothing").sum())
    report.claim(f"tables without a champion of {len(others)} with dates, groups or text", missing, "0", missing == 0)
