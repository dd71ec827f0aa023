"""Do columns of prose lose accuracy, compared with TF-IDF and logistic regression?

Generated support tickets, whose departments share words, and a real text: the first paragraphs of the documentation of
functions and classes, of which the package is to be told. The names of the packages are replaced. No choice of the
encoding was made on the tickets with these seeds; the number of words and their length were chosen on the real text and
on two others.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import time
import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from benchmarks.data import stratified_folds
from benchmarks.report import Report
from ldep import LDEPClassifier
from ldep.table import TableEncoder, Text, kinds
from ldep_pipeline.fitting.models import one_core
from tests.support import tickets

FOLDS = 3
REFERENCE = "TF-IDF + logistic"
MODELS = {
    "words + logistic": lambda: LogisticRegression(C=0.01, max_iter=2000),
    "words + ℓ-DEP": lambda: LDEPClassifier(random_state=0),
}
# Rows, departments, the share of tickets that mention another department, and of wrong labels.
TICKETS = {
    "tickets, 2 departments, few": (300, 2, 0.25, 0.03),
    "tickets, 2 departments": (1500, 2, 0.25, 0.03),
    "tickets, 2 departments, hard": (1500, 2, 0.6, 0.1),
    "tickets, 3 departments": (1500, 3, 0.25, 0.03),
    "tickets, 4 departments, few": (400, 4, 0.25, 0.03),
    "tickets, 4 departments": (1500, 4, 0.25, 0.03),
    "tickets, 4 departments, hard": (1500, 4, 0.6, 0.1),
}
PACKAGES = ("matplotlib", "pandas", "scipy", "sklearn")
DOCUMENTED = {"documentation, 2 packages": PACKAGES[2:], "documentation, 4 packages": PACKAGES}
DOCUMENTED_ROWS = 2000
MOST_CHARACTERS = 400


def documentation(packages: tuple[str, ...]) -> pd.DataFrame:
    """The first two paragraphs of the docstrings of each package."""
    rows = {}
    names = re.compile(rf"\b({'|'.join([*PACKAGES, 'scikit-learn'])})\b", re.IGNORECASE)
    for package in packages:
        root = importlib.import_module(package)
        for found in pkgutil.walk_packages(root.__path__, f"{package}.", onerror=lambda name: None):
            if "test" in found.name:
                continue
            try:
                members = vars(importlib.import_module(found.name)).values()
            except (Exception, SystemExit):  # a module that needs an optional dependency, or is a command
                continue
            for member in members:
                is_own = str(getattr(member, "__module__", None)).split(".")[0] == package
                if is_own and (inspect.isfunction(member) or inspect.isclass(member)):
                    text = " ".join((inspect.getdoc(member) or "").split("\n\n")[:2])
                    rows[names.sub("X", " ".join(text.split()))[:MOST_CHARACTERS]] = package
    table = pd.DataFrame(
        [(text, package) for text, package in rows.items() if len(text) > 40], columns=["text", "label"]
    )
    return table.sort_values("text").sample(min(DOCUMENTED_ROWS, len(table)), random_state=0, ignore_index=True)


def load(name: str) -> pd.DataFrame:
    """A table whose last column is the label."""
    if name in DOCUMENTED:
        return documentation(DOCUMENTED[name])
    rows, departments, elsewhere, wrong = TICKETS[name]
    return tickets.table(rows, departments, seed=100 + list(TICKETS).index(name), elsewhere=elsewhere, wrong=wrong)


def compare(frame: pd.DataFrame) -> dict[str, float]:
    """The mean accuracy of each model in percent, and the seconds of its fits."""
    texts, y = frame.iloc[:, :-1], np.asarray(frame.iloc[:, -1].astype(str))
    decisions = kinds.decide(texts.astype("category"))
    recipes = [decision.recipe for decision in decisions if decision.recipe is not None]
    encoder = TableEncoder(recipes, scale=False).fit(texts)
    assert all(isinstance(column, Text) for column in encoder.fitted_)
    X, folds = encoder.transform(texts), stratified_folds(texts, y, FOLDS)
    scores: dict[str, list[float]] = {name: [] for name in (REFERENCE, *MODELS)}
    seconds = dict.fromkeys(scores, 0.0)
    for fold in range(FOLDS):
        train, test = folds != fold, folds == fold
        vectorizers = [TfidfVectorizer().fit(texts[name][train]) for name in texts]
        weights = sparse.hstack([v.transform(texts[name]) for v, name in zip(vectorizers, texts)]).tocsr()
        fits = {REFERENCE: (LogisticRegression(max_iter=2000), weights)}
        fits |= {name: (make_pipeline(StandardScaler(), make()), X) for name, make in MODELS.items()}
        for name, (model, features) in fits.items():
            began = time.process_time()
            model.fit(features[train], y[train])
            seconds[name] += time.process_time() - began
            scores[name].append(100 * model.score(features[test], y[test]))
    means = {name: float(np.mean(values)) for name, values in scores.items()}
    return {"words": X.shape[1], **means, **{f"{name}, s": value / FOLDS for name, value in seconds.items()}}


def run() -> Report:
    report, rows = Report("texts", "Columns of prose, compared with TF-IDF and logistic regression"), []
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in tqdm([*TICKETS, *DOCUMENTED], desc="texts", disable=None):
            frame = load(name)
            rows.append({"table": name, "rows": len(frame), **compare(frame)})
    table = pd.DataFrame(rows)
    report.table("tables", table)
    for name in MODELS:
        lead = table[name] - table[REFERENCE]
        report.claim(f"{name}: mean lead in accuracy, in points", float(lead.mean()), "≥ -2", lead.mean() >= -2)
        report.claim(f"{name}: least lead in accuracy, in points", float(lead.min()), "≥ -2", lead.min() >= -2)
    report.note(
        f"Accuracy in percent, mean of {FOLDS} folds; seconds of a fit. The settings of no model were tuned. Words are "
        "chosen from all rows without their labels, the weights of TF-IDF from the training rows."
    )
    return report
