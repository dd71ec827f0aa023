"""Does the encoding that own data gets by default predict better than the ordinal codes of the paper?

Ten tables with nominal columns, five of the catalogue and five generated ones, are encoded both ways and classified by
the same models. No choice of the encoding was made on them.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from benchmarks.data import stratified_folds
from benchmarks.report import Report
from ldep import LDEPClassifier
from ldep.table import TableEncoder, kinds
from ldep_pipeline.config.params import Data
from ldep_pipeline.data import catalogue, sources
from ldep_pipeline.fitting.models import one_core
from ldep_pipeline.serving.served_model import ServedModel

FOLDS = 5
OF_CATALOGUE = ("tic-tac-toe", "credit-approval", "colic", "credit-g", "cylinder-bands")
GENERATED = ("few", "many", "gaps", "dates", "mixed")
MODELS = {"logistic": LogisticRegression(max_iter=2000), "ℓ-DEP": LDEPClassifier(random_state=0)}
ENCODINGS = {"ordinal": None, "auto": "auto"}


def generated(kind: str, rows: int = 1500) -> pd.DataFrame:
    """A table whose classes depend on numbers, on categories in no order, and for some kinds on gaps or dates."""
    rng = np.random.default_rng(GENERATED.index(kind))
    sizes = {"few": (3, 5, 8), "many": (60, 100), "gaps": (4, 6), "dates": (5,), "mixed": (4, 40)}[kind]
    score = np.zeros(rows)
    columns: dict[str, object] = {}
    for number in range(3):
        values = rng.normal(size=rows)
        score += 0.6 * values
        columns[f"number {number}"] = values
    for number, size in enumerate(sizes):
        codes = rng.integers(0, size, rows)
        score += rng.normal(0, 1, size)[codes]
        columns[f"nominal {number}"] = pd.Categorical([f"value {code}" for code in codes])
    if kind in ("gaps", "mixed"):
        gaps = rng.random(rows) < 0.2
        score += 1.0 * gaps
        columns["number 0"] = np.where(gaps, np.nan, columns["number 0"])
    if kind in ("dates", "mixed"):
        days = rng.integers(0, 2000, rows)
        score += np.where(days % 7 >= 5, 1.0, 0.0) + days / 2000
        moments = pd.Timestamp("2019-01-07") + pd.to_timedelta(days, unit="D")
        columns["date"] = pd.Categorical(moments.strftime("%Y-%m-%d"))
    positive = score + rng.logistic(size=rows) > np.median(score)
    return pd.DataFrame(columns).assign(label=pd.Categorical(np.where(positive, "yes", "no")))


def run() -> Report:
    report = Report("encoding", "The encoding of own data, compared with ordinal codes")
    rows = []
    unequal = 0
    with one_core():
        for name in tqdm([*OF_CATALOGUE, *GENERATED], desc="encoding", disable=None):
            if name in OF_CATALOGUE:
                frame, _ = sources.fetch(catalogue.entry(name), Data())
            else:
                frame = generated(name)
            scores, differing = compare(frame)
            rows.append({"table": name, "rows": len(frame), **scores})
            unequal += differing
    table = pd.DataFrame(rows)
    report.table("tables", table)
    for model in MODELS:
        gain = float((table[f"{model}, auto"] - table[f"{model}, ordinal"]).mean())
        report.claim(f"{model}: mean gain of auto in accuracy, in points", gain, "≥ 0", gain >= 0)
    report.claim("served answers that differ from those of training", unequal, "0", unequal == 0)
    report.note(
        f"Accuracy in percent, mean of {FOLDS} folds. Served answers: the decision values of test rows of one fold, "
        "sent as JSON to a model whose encoder was stored and read back."
    )
    return report


def compare(frame: pd.DataFrame) -> tuple[dict[str, float], int]:
    """Return the accuracy of each model with each encoding, and the number of served answers that differ."""
    features, y = frame.iloc[:, :-1], np.asarray(frame.iloc[:, -1].astype(str))
    folds = stratified_folds(features, y, FOLDS)
    scores, unequal = {}, 0
    for model, classifier in MODELS.items():
        for encoding, encode in ENCODINGS.items():
            recipes = [decision.recipe for decision in kinds.decide(features, encode) if decision.recipe is not None]
            encoder = TableEncoder(recipes, scale=False).fit(features)
            X = encoder.transform(features)
            accuracies = []
            for fold in range(FOLDS):
                train, test = folds != fold, folds == fold
                pipe = make_pipeline(StandardScaler(), classifier).fit(X[train], y[train])
                accuracies.append(100 * pipe.score(X[test], y[test]))
                if fold == 0:
                    expected = pipe.decision_function(X[test])
                    unequal += int((served_values(encoder, pipe, features[test]) != expected).sum())
            scores[f"{model}, {encoding}"] = float(np.mean(accuracies))
    return scores, unequal


def served_values(encoder: TableEncoder, pipe: Pipeline, rows: pd.DataFrame) -> np.ndarray:
    """The decision values of raw rows that went through JSON, by an encoder that did so too."""
    loaded = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    served = ServedModel(Pipeline([("encode", loaded), *pipe.steps]), None)
    sent = json.loads(json.dumps(rows.astype(object).where(rows.notna(), None).to_dict("records")))
    return pipe.decision_function(served.numbers(pd.DataFrame(sent, dtype=object)))
