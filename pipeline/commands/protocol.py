"""Checks data, imputation and folds: two SVCs of scikit-learn must reproduce the paper's numbers."""

from __future__ import annotations

import logging
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pipeline.common import machine, progress
from pipeline.common.errors import UserError
from pipeline.common.files import write_text
from pipeline.config import catalogue, paths
from pipeline.config.params import Data, Split
from pipeline.data import folds
from pipeline.fitting.specs import Impute
from pipeline.reporting import paper, renderers
from pipeline.reporting.table import Cell, Column, Table, spread_text
from pipeline.stages import fetch, impute, split

log = logging.getLogger(__name__)
MODELS = {"linear_svc": SVC(kernel="linear"), "rbf_svc": SVC()}
# A few of the 120 printed numbers depend on the last bit of the scaler's means, and so on the machine.
MAY_DIFFER, TOLERANCE = 3, 0.2


def run(names: Sequence[str], data: Data, out: Path) -> None:
    """Prepare the data sets as the paper does, score the SVCs, print the comparison and write it to `out`."""
    made_with = machine.describe()  # first: the commit may change during the run
    with tempfile.TemporaryDirectory(prefix="protocol-") as scratch:
        start = time.monotonic()
        sources = {name: prepare(name, data, Path(scratch)) for name in progress.over(names, "prepare")}
        preparation = f"{time.monotonic() - start:.1f} s and at most {_peak_memory():.0f} MB of memory"
        start = time.monotonic()
        rows = [row for name in progress.over(names, "score") for row in score(name, Path(scratch))]
        scoring = f"{time.monotonic() - start:.0f} s"
    comparison = renderers.markdown(_table(rows, sources))
    write_text(out / "protocol.csv", renderers.csv(_long_table(rows, sources)))
    write_text(out / "protocol.md", _report(names, _verdict(rows), comparison, preparation, scoring, made_with))
    print(f"{comparison}\n\n{_verdict(rows)}\nWritten to {out}/.")
    if not _holds(rows):
        raise UserError("the SVC columns of the paper are not reproduced; the table marks the differences with a star.")


def prepare(name: str, data: Data, folder: Path) -> str:
    """Fetch, impute and split one data set with the paper's settings, not those of params.yaml; return its source."""
    provenance = fetch.run(name, data, {}, folder)
    impute.run(name, Impute(), {}, folder)
    split.run(name, Split(), folder)
    return provenance.source


def score(name: str, folder: Path) -> list[paper.Comparison]:
    """Cross-validate both SVCs on the files that the stages wrote."""
    frame = pd.read_parquet(paths.imputed(name, folder))
    X, y = frame.iloc[:, :-1].to_numpy(), np.asarray(frame.iloc[:, -1], dtype=str)
    partition = folds.read(name, folder)
    rows = []
    for model, classifier in MODELS.items():
        start = time.monotonic()
        scores = []
        for number in range(partition.n_folds):
            train, test = partition.train_rows(number), partition.test_rows(number)
            scaled = make_pipeline(StandardScaler(), classifier).fit(X[train], y[train])
            scores.append(100 * scaled.score(X[test], y[test]))
        mean, std = float(np.mean(scores)), float(np.std(scores, ddof=1))
        row = paper.Comparison(name, model, mean, std, *paper.table()[name][model])
        log.info("%s, %s: %.1f ± %.1f (%.1f s)", name, model, row.mean, row.std, time.monotonic() - start)
        rows.append(row)
    return rows


def _holds(rows: list[paper.Comparison]) -> bool:
    mismatches = _mismatches(rows)
    return len(mismatches) <= MAY_DIFFER and all(difference <= TOLERANCE + 1e-9 for difference in mismatches)


def _verdict(rows: list[paper.Comparison]) -> str:
    mismatches = _mismatches(rows)
    count = 2 * len(rows)
    text = f"{count - len(mismatches)} of {count} numbers agree with the paper to the printed digit"
    return text + (f"; the others differ by at most {max(mismatches):.1f}." if mismatches else ".")


def _mismatches(rows: list[paper.Comparison]) -> list[float]:
    return [difference for row in rows for difference in row.mismatches]


def _table(rows: list[paper.Comparison], sources: Mapping[str, str]) -> Table:
    """One row per data set; a star marks what differs from the paper."""
    titles = ("Data set", "Source", "Linear SVC", "Paper", "RBF SVC", "Paper")
    body = []
    for linear, rbf in zip(rows[::2], rows[1::2]):
        cells = [Cell(catalogue.entry(linear.dataset).title), Cell(sources[linear.dataset])]
        for row in (linear, rbf):
            star = " *" if row.mismatches else ""
            cells += [Cell(spread_text(row.mean, row.std) + star), Cell(spread_text(row.paper_mean, row.paper_std))]
        body.append(cells)
    return Table([Column(title, "left") for title in titles], body)


def _long_table(rows: list[paper.Comparison], sources: Mapping[str, str]) -> Table:
    """One row per data set and model, for machines."""
    titles = ("dataset", "source", "model", "mean", "std", "paper_mean", "paper_std", "agree")
    body = []
    for row in rows:
        texts = [row.dataset, sources[row.dataset], row.model, f"{row.mean:.4f}", f"{row.std:.4f}"]
        texts += [str(row.paper_mean), str(row.paper_std), str(2 - len(row.mismatches))]
        body.append([Cell(text) for text in texts])
    return Table([Column(title) for title in titles], body)


def _report(names: Sequence[str], verdict: str, comparison: str, preparation: str, scoring: str, made_with: str) -> str:
    command = "ldep protocol" + ("" if list(names) == list(catalogue.load()) else " " + " ".join(names))
    return f"""# The SVC columns of the paper

Command: `{command}`, with the data sets in the cache of the openml client. {made_with}

{verdict}

There are four numbers per data set: mean and sample deviation, in per cent, of the accuracy of `SVC(kernel="linear")`
and of `SVC()`. Both follow a `StandardScaler` fitted on the training fold. Data and folds are those that `ldep fetch`,
`ldep impute` and `ldep split` write. A star marks a pair of numbers that differs from the paper's.

{comparison}

Fetching, imputing and splitting these {len(names)} data sets took {preparation}; scoring took {scoring}.
"""


def _peak_memory() -> float:
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
