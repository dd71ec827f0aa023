"""The catalogue of the paper's data sets: names, OpenML ids, and the properties that the data must have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from pipeline.common import identifiers
from pipeline.common.errors import UserError, nearest

FILE = Path(__file__).with_name("catalogue.yaml")


@dataclass(frozen=True)
class Entry:
    """One row of catalogue.yaml; the head of the file explains the fields."""

    name: str
    title: str
    openml_id: int
    openml_name: str
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
def load() -> dict[str, Entry]:
    """Return the catalogue by name, in the order of the paper's Table 1."""
    fields = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    try:
        return {
            identifiers.safe(name): Entry(name=name, **{**row, "ignore": tuple(row.get("ignore", ()))})
            for name, row in fields.items()
        }
    except ValueError as error:
        raise UserError(f"{FILE}: {error}.") from None


def entry(name: str) -> Entry:
    catalogue = load()
    if name not in catalogue:
        raise UserError(f"'{name}' is not in the catalogue; {nearest(name, catalogue)}")
    return catalogue[name]
