"""Drift: which columns of new rows are distributed differently from the rows that a model was trained on.

For each column three questions are asked:

1. Have the values moved? The population stability index (PSI) compares the shares p_k of training and q_k of the new
   rows in the bins of the training profile: sum_k (q_k - p_k) ln(q_k / p_k). By convention, 0.1 is a small and 0.2 a
   considerable shift.
2. Are more, or fewer, cells missing?
3. Are there categories that training has never seen, more than its own rare categories lead to expect?

A difference counts if it is large (a limit below) and if chance hardly explains it. With few rows the PSI is large by
chance alone, so its limit is not enough. The second condition is a test per question: Pearson's chi-squared test of the
counts, Fisher's exact test of the gaps, and a binomial test of unseen categories against the Good-Turing estimate of
their share. The significance level is divided by the number of tests, so that rows of the same distribution are
reported in at most `LEVEL` of the files.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from ldep.table import TableEncoder, dates
from ldep_pipeline.serving.training_profile import ColumnProfile, TrainingProfile

PSI_LIMIT = 0.2
GAP_LIMIT = 0.05  # difference between the shares of missing cells
UNSEEN_LIMIT = 0.01  # share of cells with an unseen category
LEVEL = 0.01  # probability that rows of the same distribution are reported, over all columns
FEWEST = 5  # bins with a smaller expected count are merged for the test
QUESTIONS = 3  # tests per column
EXAMPLES = 5  # unseen categories to show


@dataclass(frozen=True)
class ColumnDrift:
    """The comparison of one column. `reasons` is empty unless the column has moved."""

    column: str
    kind: str
    psi: float
    missing_before: float
    missing_now: float
    unseen: float
    unseen_examples: list[str]
    reasons: list[str]


@dataclass
class _Counts:
    """What the new rows hold in one column."""

    bins: np.ndarray
    missing: int = 0
    unseen: int = 0
    examples: dict[str, None] = field(default_factory=dict)


class DriftCheck:
    """A comparison of rows with a training profile; the rows may arrive in parts."""

    def __init__(self, encoder: TableEncoder, profile: TrainingProfile) -> None:
        self.encoder, self.profile, self.rows = encoder, profile, 0
        self._counts = {column.name: _Counts(np.zeros(len(column.counts))) for column in profile.columns}

    def add(self, frame: pd.DataFrame) -> None:
        """Count some rows; ValueError names a cell that cannot be read."""
        codes, report = self.encoder.read_cells(frame)
        self.rows += len(frame)
        for column in self.profile.columns:
            counts = self._counts[column.name]
            counts.bins += column.count(codes[column.name])
            unseen = report.get(column.name, np.empty(0, dtype=int))
            counts.unseen += len(unseen)
            counts.missing += int(np.isnan(codes[column.name]).sum()) - len(unseen)
            for row in unseen:
                if len(counts.examples) >= EXAMPLES:
                    break
                counts.examples[str(frame[column.name].iloc[row]).strip()[:60]] = None

    def result(self) -> list[ColumnDrift]:
        """Return the comparison of each column: first those that have moved, by their PSI."""
        level = LEVEL / (QUESTIONS * max(len(self.profile.columns), 1))
        compared = [self._compare(column, self._counts[column.name], level) for column in self.profile.columns]
        return sorted(compared, key=_rank)

    def _compare(self, column: ColumnProfile, now: _Counts, level: float) -> ColumnDrift:
        before = np.asarray(column.counts, dtype=float)
        index = psi(before, now.bins)
        reasons = []
        if index >= PSI_LIMIT and chi_squared_p(before, now.bins) < level:
            reasons.append(self._moved_most(column, now.bins))
        missing = column.missing / max(self.profile.rows, 1), now.missing / max(self.rows, 1)
        if abs(missing[1] - missing[0]) >= GAP_LIMIT and self._gap_p(column, now) < level:
            reasons.append(f"missing cells: {missing[0]:.1%} -> {missing[1]:.1%}")
        unseen = now.unseen / max(self.rows, 1)
        if unseen >= UNSEEN_LIMIT and self._unseen_p(column, now, level) < level:
            reasons.append(f"unseen values in {unseen:.1%} of the rows: {', '.join(now.examples)}")
        return ColumnDrift(column.name, column.kind, index, *missing, unseen, list(now.examples), reasons)

    def _gap_p(self, column: ColumnProfile, now: _Counts) -> float:
        rows, present = [column.missing, now.missing], [self.profile.rows - column.missing, self.rows - now.missing]
        return float(stats.fisher_exact([rows, present]).pvalue)

    def _unseen_p(self, column: ColumnProfile, now: _Counts, level: float) -> float:
        """Test against the largest share that training makes plausible.

        It is that of its own unknown values, and of categories with a single row.
        """
        count = column.unknown + column.single
        plausible = stats.chi2.ppf(1 - level, 2 * (count + 1)) / 2  # the upper limit of a Poisson mean
        expected = min(plausible / max(self.profile.rows, 1), 1.0)
        return float(stats.binom.sf(now.unseen - 1, self.rows, expected))

    def _moved_most(self, column: ColumnProfile, now: np.ndarray) -> str:
        """Describe the bin that contributes most to the PSI."""
        before = np.asarray(column.counts, dtype=float)
        bin_ = int(np.argmax(psi_by_bin(before, now)))
        shares = before[bin_] / before.sum(), now[bin_] / now.sum()
        return f"{self._bin_label(column, bin_)}: {shares[0]:.1%} -> {shares[1]:.1%} of the values"

    def _bin_label(self, column: ColumnProfile, bin_: int) -> str:
        if column.kind == "nominal":
            if bin_ == len(column.codes):
                return "rare categories"
            categories = dict(zip(self.encoder.columns_, self.encoder.categories_))[column.name] or []
            return f"'{categories[column.codes[bin_]]}'"
        first = column.edges[bin_ - 1] if bin_ > 0 else None
        last = column.edges[bin_] if bin_ < len(column.edges) else None
        if first is None:
            return "all values" if last is None else f"below {_shown(last, column.kind)}"
        if last is None:
            return f"from {_shown(first, column.kind)}"
        is_point = last == np.nextafter(first, np.inf)
        return _shown(first, column.kind) + ("" if is_point else f" to {_shown(last, column.kind)}")


def _shown(edge: float, kind: str) -> str:
    """Return an edge as text; a date has a moment, in seconds, and a text has a number of known words."""
    if kind == "text":
        return f"{edge:.0f} known words"
    if kind != "date":
        return f"{edge:.4g}"
    return (dates.ORIGIN + datetime.timedelta(seconds=edge)).isoformat(sep=" ").removesuffix(" 00:00:00")


def _rank(drift: ColumnDrift) -> tuple[bool, float]:
    return not drift.reasons, -drift.psi


def psi(before: np.ndarray, now: np.ndarray) -> float:
    """Return the population stability index of two counts over the same bins; 0 if there is nothing to compare."""
    return float(psi_by_bin(before, now).sum()) if before.sum() and now.sum() else 0.0


def psi_by_bin(before: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Return the summands. Each side gets one more row, spread like all rows, so that no share is zero."""
    pooled = (before + now) / (before.sum() + now.sum())
    p, q = (before + pooled) / (before.sum() + 1), (now + pooled) / (now.sum() + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(pooled > 0, (q - p) * np.log(q / p), 0.0)


def chi_squared_p(before: np.ndarray, now: np.ndarray) -> float:
    """Return the p-value of Pearson's test that both counts have one distribution, with bins of few rows merged."""
    if not before.sum() or not now.sum():
        return 1.0
    smaller = min(before.sum(), now.sum()) / (before.sum() + now.sum())
    few = (before + now) * smaller < FEWEST
    table = np.array([[*counts[~few], counts[few].sum()] for counts in (before, now)])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 1.0
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def to_json(check: DriftCheck, result: list[ColumnDrift]) -> dict[str, Any]:
    """Return the comparison as plain values."""
    return {
        "training_rows": check.profile.rows,
        "rows": check.rows,
        "limits": {"psi": PSI_LIMIT, "missing": GAP_LIMIT, "unseen": UNSEEN_LIMIT, "level": LEVEL},
        "moved": [column.column for column in result if column.reasons],
        "columns": [vars(column) for column in result],
    }
