"""The profile of a table with a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from pipeline.data.profile.columns import ColumnProfile, column_profile
from pipeline.data.profile.leaks import suspicious_columns
from pipeline.encoding.choice import choose, declared

# Accuracy says little if the smallest class has less than this share of what it would have if all were of one size.
UNBALANCED = 0.4
FEWEST_ROWS_PER_CLASS = 10
# More columns are not searched for leaks, which takes a millisecond each.
MOST_COLUMNS = 2000


@dataclass(frozen=True)
class Profile:
    """What is known about a table before training.

    `repeated` counts the rows that are equal to an earlier row, `contradictory` those that are equal to a row of
    another class.
    """

    rows: int
    target: str
    classes: dict[str, int]
    columns: tuple[ColumnProfile, ...]
    repeated: int
    contradictory: int

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


def profile(frame: pd.DataFrame, encode: str | Mapping[str, str] | None = "auto") -> Profile:
    """Look at a frame whose last column is the target, as `read_frame` returns it.

    `encode` is the one of `own_data`, or None for a data set of the catalogue. ColumnError names a column that cannot
    be encoded.
    """
    features, target = frame.iloc[:, :-1], frame.iloc[:, -1]
    choices = declared(features) if encode is None else choose(features, encode)
    columns = [column_profile(features[name], choice) for name, choice in zip(features.columns, choices)]
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
    )


def _with_leaks(columns: list[ColumnProfile], features: pd.DataFrame, target: pd.Series) -> list[ColumnProfile]:
    """Mark the columns that give the target away. They stay: only the user knows whether they are honest."""
    usable = [column.name for column in columns if column.drop is None][:MOST_COLUMNS]
    areas = suspicious_columns(features[usable], target) if usable else {}
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
