"""A look at a table before anything is trained on it: what its columns are, and which of them look wrong."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldep.table import ColumnDecision, kinds, merges
from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.data import settings

# Accuracy says little if the smallest class has less than this share of what it would have if all were of one size.
UNBALANCED = 0.4
FEWEST_ROWS_PER_CLASS = 10
# More columns are not searched for leaks, which takes a millisecond each.
MOST_COLUMNS = 2000
MANY_MISSING = 0.5  # the share of missing values in a column that a user should know of
# A column that gives the target away is found by a cross-validation of its categories, or of bins of its numbers.
LEAK_FOLDS = 5
LEAK_BINS = 20
# An area under the ROC curve that a single honest feature hardly reaches.
SUSPICIOUS = 0.99
# Less is suspicious too where the next best column is far behind.
HIGH, AHEAD = 0.9, 0.15


@dataclass(frozen=True)
class ProfiledColumn:
    """What was found in a column.

    `treatment` says what the pipeline does with it, `remarks` what a user should look at. `drop` is the reason for
    which the column is left out, or None, and `recipe` is how it is encoded (`ColumnDecision`).
    """

    name: str
    kind: str
    missing: int
    distinct: int
    example: str
    treatment: str
    remarks: tuple[str, ...] = ()
    drop: str | None = None
    recipe: dict[str, Any] | None = None


@dataclass(frozen=True)
class Profile:
    """What is known about a table before training.

    `repeated` counts the rows that are equal to an earlier row, `contradictory` those that are equal to a row of
    another class. `encode` says how the columns were decided: as the user wants it, or None as the table declares them.
    """

    rows: int
    target: str
    classes: dict[str, int]
    columns: tuple[ProfiledColumn, ...]
    repeated: int
    contradictory: int
    encode: str | Mapping[str, str] | None

    @property
    def smallest_class(self) -> float:
        """The share of the rows in the smallest class."""
        return min(self.classes.values()) / self.rows

    @property
    def is_unbalanced(self) -> bool:
        """Whether a model that never predicts the smallest class would still look good: of two classes below 20 %."""
        return self.smallest_class * len(self.classes) < UNBALANCED

    @property
    def dropped(self) -> list[str]:
        """The columns that are left out."""
        return [column.name for column in self.columns if column.drop is not None]

    def warnings(self) -> list[str]:
        """Return one sentence for each thing that needs attention."""
        found = [f"column '{column.name}' is left out: {column.drop}." for column in self.columns if column.drop]
        for column in self.columns:
            if column.drop is None:
                found += [f"column '{column.name}': {remark}." for remark in column.remarks]
        if self.repeated:
            found.append(
                f"{self.repeated} rows repeat an earlier row: in a random split, copies of a test row are trained on."
            )
        if self.contradictory:
            found.append(f"{self.contradictory} rows are equal to a row of another class: no model gets all right.")
        if len(self.columns) > MOST_COLUMNS:
            found.append(f"only the first {MOST_COLUMNS} columns were searched for some that give the target away.")
        small = [f"'{label}' ({count})" for label, count in self.classes.items() if count < FEWEST_ROWS_PER_CLASS]
        if small:
            found.append(f"classes with very few rows: {', '.join(small)}.")
        if self.is_unbalanced:
            found.append(
                f"the smallest class has {self.smallest_class:.1%} of the rows: accuracy says little, so use another "
                "metric, such as balanced_accuracy."
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return {**asdict(self), "warnings": self.warnings()}


def profile(
    frame: pd.DataFrame, encode: str | Mapping[str, str] | None = "auto", merge: Collection[str] = ()
) -> Profile:
    """Look at a frame whose last column is the target, as `read_frame` returns it.

    `encode` and `merge` are those of `own_data`; `encode` is None for a data set of the catalogue. ColumnError names a
    column that cannot be encoded.
    """
    features, target = frame.iloc[:, :-1], frame.iloc[:, -1]
    decisions = kinds.decide(features, encode, merge)
    frame = _with_merges(frame, decisions)
    features = frame.iloc[:, :-1]
    columns = [_profiled(features[name], decision) for name, decision in zip(features.columns, decisions)]
    columns = _with_leaks(columns, features, target)
    same_features = features.duplicated(keep=False)
    repeated = int(frame.duplicated().sum())
    contradictory = int((same_features & ~frame.duplicated(keep=False)).sum())
    counts = target.value_counts(sort=False)
    return Profile(
        rows=len(frame),
        target=str(frame.columns[-1]),
        classes={str(label): int(count) for label, count in counts.items()},
        columns=tuple(columns),
        repeated=repeated,
        contradictory=contradictory,
        encode=encode,
    )


def _with_merges(frame: pd.DataFrame, decisions: Sequence[ColumnDecision]) -> pd.DataFrame:
    """The frame with merged spellings."""
    recipes = {decision.name: decision.recipe or {} for decision in decisions}
    found = {name: recipe["merged"] for name, recipe in recipes.items() if "merged" in recipe}
    if not found:
        return frame
    columns = [merges.merged(frame[name], found.get(str(name), {})) for name in frame.columns]
    return pd.concat(columns, axis=1)


def read_profile(name: str, folder: Path = settings.DATA) -> dict[str, Any]:
    """Return the plain values of a profile; UserError says which stage to run if there is none."""
    path = settings.profile(name, folder)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not {"rows", "columns", "classes", "encode", "warnings"} <= set(content):
            raise ValueError("it is not a profile")
        return content
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist; run `ldep fetch {name}` first, or `dvc repro` for everything."
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep fetch {name}` again.") from None


def read_recipes(name: str, folder: Path = settings.DATA) -> list[dict[str, Any]] | None:
    """Return how the columns of a data set are encoded, as fetch decided; None if as the table declares them."""
    content = read_profile(name, folder)
    if content["encode"] is None:
        return None
    return [column["recipe"] for column in content["columns"] if column["recipe"] is not None]


def _profiled(cells: pd.Series, decision: ColumnDecision) -> ProfiledColumn:
    """Describe one column as the pipeline reads and encodes it."""
    present = cells[cells.notna()]
    missing = len(cells) - len(present)
    remarks = list(decision.remarks)
    if MANY_MISSING * len(cells) < missing < len(cells):
        remarks.append(f"{missing / len(cells):.0%} of its cells are missing")
    return ProfiledColumn(
        decision.name,
        decision.kind,
        missing,
        len(np.unique(present.cat.codes if isinstance(present.dtype, pd.CategoricalDtype) else present)),
        "" if present.empty else kinds.shown(present.iloc[0]),
        decision.treatment(missing > 0),
        tuple(remarks),
        decision.drop,
        decision.recipe,
    )


def _with_leaks(columns: list[ProfiledColumn], features: pd.DataFrame, target: pd.Series) -> list[ProfiledColumn]:
    """Mark the columns that give the target away. They stay: only the user knows whether they are honest."""
    usable = [column.name for column in columns if column.drop is None][:MOST_COLUMNS]
    areas = _suspicious_columns(features[usable], target) if usable else {}
    marked = []
    for column in columns:
        if column.name in areas:
            remark = (
                f"it alone separates the classes almost perfectly (area under the ROC curve {areas[column.name]:.3f}); "
                "leave it out if it is not known at the time of a decision"
            )
            column = replace(column, remarks=(*column.remarks, remark))
        marked.append(column)
    return marked


def _suspicious_columns(features: pd.DataFrame, target: pd.Series) -> dict[str, float]:
    """Return the columns that tell a class apart almost perfectly, with the area under the ROC curve of each."""
    areas = {str(name): _area(features[name], target) for name in features.columns}
    ordered = sorted(areas.values(), reverse=True)
    # The columns above a wide gap.
    least = min(
        (area for area, next_area in pairwise(ordered) if area >= HIGH and area - next_area >= AHEAD), default=1
    )
    return {name: area for name, area in areas.items() if area >= min(least, SUSPICIOUS)}


def _area(cells: pd.Series, target: pd.Series) -> float:
    """The mean over the classes of the area under the ROC curve of a class against the rest.

    The score of a row is the share of the class among other rows with the same category, or in the same twentieth of
    the values. It is computed without the row's own fold, so a column of distinct values says nothing.
    """
    groups = _groups(cells)
    folds = np.random.default_rng(0).permutation(len(cells)) % LEAK_FOLDS
    codes = target.cat.codes.to_numpy()
    areas = []
    for label in range(len(target.cat.categories)):
        positive = codes == label
        if 0 < positive.sum() < len(positive):
            areas.append(_auc(_out_of_fold_shares(groups, positive, folds), positive))
    return float(np.mean(areas)) if areas else 0.5


def _groups(cells: pd.Series) -> np.ndarray:
    """The category or the quantile of each cell, as a number; missing cells are a group of their own."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return cells.cat.codes.to_numpy().astype(np.int64) + 1
    values = cells.to_numpy(dtype=np.float64)
    present = values[~np.isnan(values)]
    edges = np.unique(present)
    if len(edges) > LEAK_BINS:
        edges = np.unique(np.quantile(present, np.arange(LEAK_BINS) / LEAK_BINS, method="lower"))
    return np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="right"))


def _out_of_fold_shares(groups: np.ndarray, positive: np.ndarray, folds: np.ndarray) -> np.ndarray:
    n_groups = int(groups.max()) + 1
    shares = np.empty(len(groups))
    for fold in range(LEAK_FOLDS):
        outside, inside = folds != fold, folds == fold
        count = np.bincount(groups[outside], minlength=n_groups)
        hits = np.bincount(groups[outside], weights=positive[outside], minlength=n_groups)
        overall = positive[outside].mean() if outside.any() else 0.5
        shares[inside] = ((hits + overall) / (count + 1.0))[groups[inside]]
    return shares


def _auc(scores: np.ndarray, positive: np.ndarray) -> float:
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    ranks = pd.Series(scores).rank().to_numpy()
    return float((ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))
