"""Checks data, imputation and folds: two SVCs of scikit-learn must reproduce the paper's numbers.

`write` writes reports/protocol/.
"""

from __future__ import annotations

import logging
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ldep_pipeline.common import machine, progress
from ldep_pipeline.common.files import write_text
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Data, Split
from ldep_pipeline.data import catalogue, folds
from ldep_pipeline.fitting.specs import Impute
from ldep_pipeline.report import paper, renderers
from ldep_pipeline.report.renderers import Cell, Column, Table, spread_text
from ldep_pipeline.stages import fetch, impute, split

log = logging.getLogger(__name__)
MODELS = {"linear_svc": SVC(kernel="linear"), "rbf_svc": SVC()}
# A few of the 120 printed numbers depend on the last bit of the scaler's means, and so on the machine.
MAY_DIFFER, TOLERANCE = 3, 0.2


@dataclass(frozen=True)
class Comparison:
    """Our numbers beside the paper's, what they cost, and on which machine they were made."""

    rows: list[paper.Reproduction]
    sources: Mapping[str, str]
    preparation: str
    scoring: str
    made_with: str

    def write(self, folder: Path = paths.REPORTS / "protocol") -> None:
        """Print the comparison and write it; end with an error if the paper's numbers are not reproduced."""
        comparison, verdict = renderers.markdown(_table(self.rows, self.sources)), _verdict(self.rows)
        write_text(folder / "protocol.csv", renderers.csv(_long_table(self.rows, self.sources)))
        write_text(folder / "protocol.md", self._report(verdict, comparison))
        print(f"{comparison}\n\n{verdict}\nWritten to {folder}/.")
        if not _holds(self.rows):
            sys.exit("the SVC columns of the paper are not reproduced; the table marks the differences with a star.")

    def _report(self, verdict: str, comparison: str) -> str:
        return f"""# The SVC columns of the paper

Command: `make protocol`, with the data sets in the cache of the openml client. {self.made_with}

{verdict}

There are four numbers per data set: mean and sample deviation, in per cent, of the accuracy of `SVC(kernel="linear")`
and of `SVC()`. Both follow a `StandardScaler` fitted on the training fold. Data and folds are those that `ldep fetch`,
`ldep impute` and `ldep split` write. A star marks a pair of numbers that differs from the paper's.

{comparison}

Preparing these {len(self.sources)} data sets took {self.preparation}; scoring took {self.scoring}.
"""


def run(names: Sequence[str] = tuple(catalogue.load()), data: Data | None = None) -> Comparison:
    """Prepare the data sets as the paper does, and score the SVCs on them."""
    made_with = machine.describe()  # first: the commit may change during the run
    with tempfile.TemporaryDirectory(prefix="protocol-") as scratch:
        start = time.monotonic()
        sources = {name: prepare(name, data or Data(), Path(scratch)) for name in progress.over(names, "prepare")}
        preparation = f"{time.monotonic() - start:.1f} s and at most {_peak_memory():.0f} MB of memory"
        start = time.monotonic()
        rows = [row for name in progress.over(names, "score") for row in score(name, Path(scratch))]
    return Comparison(rows, sources, preparation, f"{time.monotonic() - start:.0f} s", made_with)


def prepare(name: str, data: Data, folder: Path) -> str:
    """Fetch, impute and split one data set with the paper's settings, not those of params.yaml; return its source."""
    provenance = fetch.run(name, data, {}, folder)
    impute.run(name, Impute(), folder)
    split.run(name, Split(), folder)
    return provenance.source


def score(name: str, folder: Path) -> list[paper.Reproduction]:
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
        row = paper.Reproduction(name, model, mean, std, *paper.table()[name][model])
        log.info("%s, %s: %.1f ± %.1f (%.1f s)", name, model, row.mean, row.std, time.monotonic() - start)
        rows.append(row)
    return rows


def _holds(rows: list[paper.Reproduction]) -> bool:
    mismatches = _mismatches(rows)
    return len(mismatches) <= MAY_DIFFER and all(difference <= TOLERANCE + 1e-9 for difference in mismatches)


def _verdict(rows: list[paper.Reproduction]) -> str:
    mismatches = _mismatches(rows)
    count = 2 * len(rows)
    text = f"{count - len(mismatches)} of {count} numbers agree with the paper to the printed digit"
    return text + (f"; the others differ by at most {max(mismatches):.1f}." if mismatches else ".")


def _mismatches(rows: list[paper.Reproduction]) -> list[float]:
    return [difference for row in rows for difference in row.mismatches]


def _table(rows: list[paper.Reproduction], sources: Mapping[str, str]) -> Table:
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


def _long_table(rows: list[paper.Reproduction], sources: Mapping[str, str]) -> Table:
    """One row per data set and model, for machines."""
    titles = ("dataset", "source", "model", "mean", "std", "paper_mean", "paper_std", "agree")
    body = []
    for row in rows:
        texts = [row.dataset, sources[row.dataset], row.model, f"{row.mean:.4f}", f"{row.std:.4f}"]
        texts += [str(row.paper_mean), str(row.paper_std), str(2 - len(row.mismatches))]
        body.append([Cell(text) for text in texts])
    return Table([Column(title) for title in titles], body)


def _peak_memory() -> float:
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
