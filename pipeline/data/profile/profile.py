"""The profile of a table with a target."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from pipeline.data.profile.columns import ColumnProfile, column_profile
from pipeline.data.profile.leaks import suspicious_columns

# The share of the smallest class below which accuracy says little.
UNBALANCED = 0.2
FEWEST_ROWS_PER_CLASS = 10


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
    def dropped(self) -> list[str]:
        """The columns that should be left out."""
        return [column.name for column in self.columns if column.drop is not None]

    def warnings(self) -> list[str]:
        """Return one sentence for each thing that needs attention."""
        found = [f"column '{column.name}' should be left out: {column.drop}." for column in self.columns if column.drop]
        for column in self.columns:
            if column.drop is None:
                found += [f"column '{column.name}': {remark}." for remark in column.remarks]
        if self.repeated:
            found.append(
                f"{self.repeated} rows repeat an earlier row: in a random split, copies of a test row are trained on."
            )
        if self.contradictory:
            found.append(f"{self.contradictory} rows are equal to a row of another class: no model gets all right.")
        small = [f"'{label}' ({count})" for label, count in self.classes.items() if count < FEWEST_ROWS_PER_CLASS]
        if small:
            found.append(f"classes with very few rows: {', '.join(small)}.")
        if self.smallest_class < UNBALANCED:
            found.append(
                f"the smallest class has {self.smallest_class:.1%} of the rows: accuracy says little, so use another "
                "metric, such as balanced_accuracy."
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return asdict(self)


def profile(frame: pd.DataFrame) -> Profile:
    """Look at a frame whose last column is the target, as `read_frame` returns it."""
    features, target = frame.iloc[:, :-1], frame.iloc[:, -1]
    columns = [column_profile(str(name), features[name]) for name in features.columns]
    columns = _with_copies(columns, features)
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


def _with_copies(columns: list[ColumnProfile], features: pd.DataFrame) -> list[ColumnProfile]:
    """Mark the columns that are equal to an earlier one; categories may have other names."""
    first: dict[bytes, str] = {}
    marked = []
    for column in columns:
        cells = features[column.name]
        values = pd.factorize(cells)[0] if isinstance(cells.dtype, pd.CategoricalDtype) else cells.to_numpy(float)
        original = first.setdefault(values.tobytes(), column.name)
        if original != column.name and column.drop is None:
            column = replace(column, drop=f"it says the same as the column '{original}'")
        marked.append(column)
    return marked


def _with_leaks(columns: list[ColumnProfile], features: pd.DataFrame, target: pd.Series) -> list[ColumnProfile]:
    """Mark the columns that give the target away. They stay: only the user knows whether they are honest."""
    usable = [column.name for column in columns if column.drop is None]
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
