"""The catalogue of the paper's data sets: names, OpenML ids, and the properties that the data must have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from ldep_pipeline.common.errors import UserError, nearest
from ldep_pipeline.common.files import safe_name

if TYPE_CHECKING:
    import pandas as pd

FILE = Path(__file__).with_name("catalogue.yaml")


@dataclass(frozen=True)
class CatalogueEntry:
    """One row of catalogue.yaml; the head of the file explains the fields."""

    name: str
    title: str
    openml_id: int
    target: str
    rows: int
    numeric: int
    nominal: int
    classes: dict[str, int]
    missing: int
    ignore: tuple[str, ...] = ()
    packaged: str | None = None

    @property
    def features(self) -> int:
        return self.numeric + self.nominal


@cache
def load() -> dict[str, CatalogueEntry]:
    """Return the catalogue by name, in the order of the paper's Table 1."""
    fields = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    try:
        return {
            safe_name(name): CatalogueEntry(name=name, **{**row, "ignore": tuple(row.get("ignore", ()))})
            for name, row in fields.items()
        }
    except ValueError as error:
        raise UserError(f"{FILE}: {error}.") from None


def entry(name: str) -> CatalogueEntry:
    catalogue = load()
    if name not in catalogue:
        raise UserError(f"'{name}' is not in the catalogue; {nearest(name, catalogue)}")
    return catalogue[name]


def checked(frame: pd.DataFrame, entry: CatalogueEntry, where: str) -> pd.DataFrame:
    """Return the data set with its classes in the catalogue's order; UserError if it is not the one described."""
    words = differences(frame, entry)
    if words:
        raise UserError(f"{where} is not the paper's '{entry.title}': {'; '.join(words)}.")
    return frame.assign(**{entry.target: frame[entry.target].cat.set_categories(list(entry.classes))})


def differences(frame: pd.DataFrame, expected: CatalogueEntry) -> list[str]:
    """Say in words how a data set, its target last, differs from what the catalogue promises."""
    features, target = frame.iloc[:, :-1], frame.iloc[:, -1]
    nominal = sum(str(kind) == "category" for kind in features.dtypes)
    counts = {str(label): int(count) for label, count in target.value_counts().items() if count}
    found = [
        ("rows", len(frame), expected.rows),
        ("numeric features", features.shape[1] - nominal, expected.numeric),
        ("nominal features", nominal, expected.nominal),
        ("missing cells", int(features.isna().sum().sum()), expected.missing),
    ]
    words = [f"{what}: {have}, not {want}" for what, have, want in found if have != want]
    unlabelled = int(target.isna().sum())
    if unlabelled:
        words.append(f"rows without a class in '{expected.target}': {unlabelled}, not 0")
    for label in [*expected.classes, *(label for label in counts if label not in expected.classes)]:
        have, want = counts.get(label, 0), expected.classes.get(label, 0)
        if have != want:
            words.append(f"rows of class '{label}': {have}, not {want}")
    return words
