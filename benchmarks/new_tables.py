"""Five kinds of own table, each added by `ldep new` alone: is the champion as good as a quick baseline?

The commands are those of README.md. Champion and baselines are compared on rows of the same kind that neither has seen,
by the metric that the data set is tuned for. A baseline is what many write first: LightGBM or a logistic regression
with their defaults, behind one-hot codes and TF-IDF. Where a class is rare and answers count, its classes are weighted.
The champion may be behind the better one by no more than two standard errors of the difference, which come from a
bootstrap of the new rows, or of their groups.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.report import Report
from ldep_pipeline.config import paths
from tests.support import churn, tickets

STAGES = ("check", "fetch", "impute", "split", "train", "register", "report")
SAMPLES = 300  # of the bootstrap
ERRORS = 2.0
NEW_ROWS = 4000


def machines(rows: int, seed: int) -> pd.DataFrame:
    """Logs of machines; 3 % are followed by a failure, likelier where it is hot or the bearing is worn and shakes."""
    rng = np.random.default_rng(seed)
    machine = np.repeat(np.arange(rows // 100), 100)
    level = rng.normal(size=rows // 100)[machine]
    temperature = 70 + 6 * level + rng.normal(0, 5, rows)
    hours = rng.uniform(0, 5000, rows)
    vibration = rng.gamma(2, 0.5, rows) + hours / 5000 * rng.gamma(1.5, 0.6, rows)
    pressure = rng.normal(30, 3, rows)
    shift = rng.choice(["day", "evening", "night"], rows)
    score = 0.25 * np.maximum(temperature - 78, 0) + 1.1 * np.maximum(vibration - 2.2, 0) * (hours > 2500)
    score += 0.4 * (shift == "night") - 0.08 * np.abs(pressure - 30) + 0.6 * level + 0.7 * rng.logistic(size=rows)
    frame = {
        "machine_id": machine + 1000 * (seed + 1),
        "temperature": temperature.round(1),
        "vibration": vibration.round(3),
        "hours": hours.round(),
        "pressure": pressure.round(2),
        "shift": shift,
        "failed": np.where(score > np.quantile(score, 0.97), "yes", "no"),
    }
    return pd.DataFrame(frame)


def claims(rows: int, seed: int) -> pd.DataFrame:
    """Insurance claims, of which 4 % are fraud: an unusual amount for its kind, or a new customer with few papers."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["glass", "theft", "water", "collision"], rows, p=[0.4, 0.1, 0.2, 0.3])
    usual = pd.Series(kind).map({"glass": 5.5, "theft": 7.3, "water": 7.8, "collision": 8.2}).to_numpy()
    amount = np.exp(usual + rng.normal(0, 0.6, rows))
    years, papers = rng.exponential(6, rows), rng.poisson(3, rows)
    score = 1.3 * (np.log(amount) - usual) + 1.5 * (years < 1) - 0.5 * papers + rng.logistic(size=rows)
    frame = {
        "kind": kind,
        "amount": amount.round(2),
        "years_insured": years.round(1),
        "papers": papers,
        "weekday": rng.choice(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], rows),
        "verdict": np.where(score > np.quantile(score, 0.96), "fraud", "honest"),
    }
    return pd.DataFrame(frame)


def ticket_table(rows: int, seed: int) -> pd.DataFrame:
    return tickets.table(rows, seed=seed)


@dataclass(frozen=True)
class Kind:
    """How rows are made, how many there are, and what a user says of them to `ldep new`."""

    make: Callable[[int, int], pd.DataFrame]
    rows: int
    target: str
    options: tuple[str, ...] = ()
    metric: str = "accuracy"
    prose: tuple[str, ...] = ()
    group: str | None = None
    appended: int = 0


FAILURES = ("--group", "machine_id", "--metric", "average_precision")
KINDS = {
    "rare failures, split by machine": Kind(
        machines, 6000, "failed", FAILURES, metric="average_precision", group="machine_id"
    ),
    "tickets of two texts": Kind(ticket_table, 1500, tickets.TARGET, prose=("subject", "body")),
    "a rare class": Kind(claims, 5000, "verdict", metric="balanced_accuracy"),
    "churn": Kind(churn.table, 4000, churn.TARGET),
    "churn, 1,000 rows appended": Kind(churn.table, 4000, churn.TARGET, appended=1000),
}


def baselines(kind: Kind, train: pd.DataFrame) -> dict[str, Any]:
    """LightGBM and a logistic regression, fitted to raw rows."""
    features = train.drop(columns=[kind.target, *([kind.group] if kind.group else [])])
    numbers = list(features.select_dtypes("number"))
    names = [name for name in features if name not in numbers and name not in kind.prose]
    names = [name for name in names if features[name].nunique() < 0.5 * len(features)]
    encoder = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            ("names", OneHotEncoder(handle_unknown="ignore", min_frequency=10), names),
            *((name, TfidfVectorizer(), name) for name in kind.prose),
        ],
        sparse_threshold=0,
    )
    weight = "balanced" if kind.metric == "balanced_accuracy" else None
    models = {
        "lightgbm": lightgbm.LGBMClassifier(n_jobs=1, verbosity=-1, random_state=0, class_weight=weight),
        "logistic": LogisticRegression(max_iter=2000, class_weight=weight),
    }
    return {
        name: make_pipeline(encoder, model).fit(train.drop(columns=kind.target), train[kind.target])
        for name, model in models.items()
    }


def score(kind: Kind, labels: np.ndarray, answers: np.ndarray, ranking: np.ndarray, rare: str) -> float:
    if kind.metric == "average_precision":
        return float(average_precision_score(labels == rare, ranking))
    return float((balanced_accuracy_score if kind.metric == "balanced_accuracy" else accuracy_score)(labels, answers))


def _ranking(scored: pd.DataFrame, label: str) -> np.ndarray:
    """The probability of a class; the file has that of every class, or of the second of two."""
    name = f"probability_of_{label}"
    (other,) = scored.filter(like="probability_of_") if name not in scored else (name,)
    return scored[name].to_numpy() if name in scored else 1 - scored[other].to_numpy()


def resampled(test: pd.DataFrame, kind: Kind, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn with replacement, or all rows of groups drawn so."""
    if kind.group is None:
        return rng.integers(0, len(test), len(test))
    places = [np.flatnonzero(test[kind.group] == group) for group in test[kind.group].unique()]
    return np.concatenate([places[number] for number in rng.integers(0, len(places), len(places))])


def ldep(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-c", "from ldep_pipeline.commands.main import main; raise SystemExit(main())"]
    done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ldep {' '.join(arguments)} failed: {done.stderr[-2000:]}")
    return done.stdout + done.stderr


def champion(kind: Kind, train: pd.DataFrame, test: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The model that the pipeline crowns, and its answers to the new rows; no answers if there is none."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(paths.PARAMS, folder)
        train[: kind.rows].to_csv(folder / "table.csv", index=False)
        test.drop(columns=kind.target).to_csv(folder / "new.csv", index=False)
        ldep(folder, "new", "own", "table.csv", "--target", kind.target, *kind.options)
        for stage in STAGES:
            ldep(folder, stage)
        if kind.appended:
            train.to_csv(folder / "data/own/own.csv", index=False)
            for stage in STAGES:
                ldep(folder, stage)
        said = ldep(folder, "register")
        if "no model beats guessing" in said:
            return "nothing", pd.DataFrame()
        ldep(folder, "score", "models:/ldep-own@champion", "new.csv", "scored.csv")
        found = re.search(r"version (\d+) \((\w+)", said)
        return f"{found[2]}, version {found[1]}" if found else said.strip(), pd.read_csv(folder / "scored.csv")


def compared(kind: Kind, seed: int) -> dict[str, Any]:
    train = kind.make(kind.rows + kind.appended, seed)
    test = kind.make(NEW_ROWS, seed + 100)
    labels = test[kind.target].to_numpy()
    counts = train[kind.target].value_counts()
    rare = str(counts.index[-1])
    models = {
        name: (model.predict(test), model.predict_proba(test)[:, list(model.classes_).index(rare)])
        for name, model in baselines(kind, train).items()
    }
    crowned, scored = champion(kind, train, test)
    if not scored.empty:
        models["champion"] = scored["class"].astype(str).to_numpy(), _ranking(scored, rare)
    scores = {name: score(kind, labels, *outputs, rare) for name, outputs in models.items()}
    best = max((name for name in scores if name != "champion"), key=lambda name: scores[name])
    row: dict[str, Any] = {
        "rows": len(train),
        "metric": kind.metric,
        "crowned": crowned,
        "champion": scores.get("champion", float("nan")),
        "lightgbm": scores["lightgbm"],
        "logistic": scores["logistic"],
    }
    rng, differences = np.random.default_rng(0), []
    for _ in range(SAMPLES if not scored.empty else 0):
        rows = resampled(test, kind, rng)
        drawn = {
            name: score(kind, labels[rows], models[name][0][rows], models[name][1][rows], rare)
            for name in ("champion", best)
        }
        differences.append(drawn["champion"] - drawn[best])
    error = float(np.std(differences)) if differences else float("nan")
    return {**row, "behind": scores[best] - row["champion"], "error": error}


def run() -> Report:
    report = Report("new_tables", "Champions on five kinds of own table, and quick baselines")
    rows = []
    for seed, (name, kind) in enumerate(KINDS.items()):
        rows.append({"table": name, **compared(kind, seed)})
        print(rows[-1], file=sys.stderr)
    table = pd.DataFrame(rows)
    report.table("tables", table)
    within = int((table["behind"] <= ERRORS * table["error"]).sum())
    claim = f"of {len(table)} champions, behind the better baseline by at most {ERRORS:.0f} standard errors"
    report.claim(claim, within, f"{len(table)}", within == len(table))
    report.note(
        f"Each table is added with `ldep new`, the suite `standard`, and the options {' '.join(FAILURES)} for the "
        f"failures; nothing else is set. Scores are of {NEW_ROWS:,} new rows, of other machines where the split is by "
        "machine. `behind` is the score of the better baseline less that of the champion, `error` its standard error."
    )
    return report
