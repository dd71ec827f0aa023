"""The check of data, imputation and folds: scikit-learn's two SVCs must print the paper's numbers."""

from __future__ import annotations

import csv
import io
import logging
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
from pipeline.reporting import paper
from pipeline.stages import fetch, impute, split

log = logging.getLogger(__name__)
MODELS = {"linear_svc": SVC(kernel="linear"), "rbf_svc": SVC()}
# Of the 120 printed numbers: a few hang on the last bit of the scaler's means, and so on the machine.
MAY_DIFFER, TOLERANCE = 3, 0.2


def run(names: Sequence[str], data: Data, out: Path) -> None:
    """Prepare the sets as the paper does, score the SVCs, print the comparison and write it to `out`."""
    made_with = machine.describe()  # now: the commit may move on while this runs
    with tempfile.TemporaryDirectory(prefix="protocol-") as scratch:
        start = time.monotonic()
        sources = {name: prepare(name, data, Path(scratch)) for name in progress.over(names, "prepare")}
        prepared = {"seconds": time.monotonic() - start, "megabytes": _peak_memory()}
        start = time.monotonic()
        rows = [row for name in progress.over(names, "score") for row in score(name, sources[name], Path(scratch))]
        scored = time.monotonic() - start
    write_text(out / "protocol.csv", _csv(rows))
    write_text(out / "protocol.md", _report(rows, names, prepared, scored, made_with))
    print(_table(rows))
    print(f"\n{_verdict(rows)}\nWritten to {out}/.")
    if not _holds(rows):
        raise UserError("the paper's SVC columns do not come out; the table says where.")


def prepare(name: str, data: Data, folder: Path) -> str:
    """Fetch, impute and split one set with the paper's settings, whatever params.yaml says; return its source."""
    provenance = fetch.run(name, data, {}, folder)
    impute.run(name, Impute(), folder)
    split.run(name, Split(), folder)
    return provenance.source


def score(name: str, source: str, folder: Path) -> list[paper.Comparison]:
    """Cross-validate both SVCs on the files that the stages wrote."""
    frame = pd.read_parquet(paths.imputed(name, folder))
    X, y = frame.iloc[:, :-1].to_numpy(), np.asarray(frame.iloc[:, -1], dtype=str)
    fold = folds.read(name, folder)
    rows = []
    for model, classifier in MODELS.items():
        start = time.monotonic()
        scores = []
        for number in range(fold.max() + 1):
            train, test = fold != number, fold == number
            scaled = make_pipeline(StandardScaler(), classifier).fit(X[train], y[train])
            scores.append(100 * scaled.score(X[test], y[test]))
        row = paper.Comparison(
            name, source, model, float(np.mean(scores)), float(np.std(scores, ddof=1)), *paper.table()[name][model]
        )
        log.info("%s, %s: %.1f ± %.1f (%.1f s)", name, model, row.mean, row.std, time.monotonic() - start)
        rows.append(row)
    return rows


def _holds(rows: list[paper.Comparison]) -> bool:
    off = [difference for row in rows for difference in row.off]
    return len(off) <= MAY_DIFFER and all(difference <= TOLERANCE + 1e-9 for difference in off)


def _verdict(rows: list[paper.Comparison]) -> str:
    off = [difference for row in rows for difference in row.off]
    text = f"{2 * len(rows) - len(off)} of {2 * len(rows)} numbers agree with the paper to the digit"
    return text + (f"; the largest difference of the others is {max(off):.1f}." if off else ".")


def _table(rows: list[paper.Comparison]) -> str:
    """A Markdown table that also reads well on a terminal; * marks what differs."""
    lines: list[tuple[str, ...]] = [("set", "source", "linear SVC", "paper", "RBF SVC", "paper")]
    for linear, rbf in zip(rows[::2], rows[1::2]):
        cells: list[str] = []
        for row in (linear, rbf):
            star = " *" if row.off else ""
            cells += [f"{row.mean:.1f} ± {row.std:.1f}{star}", f"{row.paper_mean:.1f} ± {row.paper_std:.1f}"]
        lines.append((catalogue.entry(linear.name).title, linear.source, *cells))
    widths = [max(map(len, column)) for column in zip(*lines)]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join("| " + " | ".join(f"{c:<{w}}" for c, w in zip(line, widths)) + " |" for line in lines)


def _csv(rows: list[paper.Comparison]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["dataset", "source", "model", "mean", "std", "paper_mean", "paper_std", "agree"])
    for row in rows:
        numbers = [f"{row.mean:.4f}", f"{row.std:.4f}", row.paper_mean, row.paper_std]
        writer.writerow([row.name, row.source, row.model, *numbers, 2 - len(row.off)])
    return text.getvalue()


def _report(
    rows: list[paper.Comparison], names: Sequence[str], prepared: dict[str, Any], scored: float, made_with: str
) -> str:
    command = "ldep protocol" + ("" if list(names) == list(catalogue.load()) else " " + " ".join(names))
    return f"""# The paper's SVC columns

Command: `{command}` (with the data sets in the cache of the openml client). {made_with}

{_verdict(rows)}

Each set has four: mean and sample deviation, in per cent, of the accuracy of `SVC(kernel="linear")` and of `SVC()`,
each behind a `StandardScaler` fitted on the training fold, on the data and folds that `ldep fetch`, `ldep impute` and
`ldep split` write. A star marks a pair that differs.

{_table(rows)}

Fetching, imputing and splitting these {len(names)} sets took {prepared["seconds"]:.1f} s, in a process of at most
{prepared["megabytes"]:.0f} MB; scoring took {scored:.0f} s.
"""


def _peak_memory() -> float:
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
