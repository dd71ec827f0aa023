"""What params.yaml says about the data, and where the files of a data set lie, relative to the project folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ldep_pipeline.common.errors import nearest, short

DATA = Path("data")
OWN = DATA / "own"  # the folder that DVC watches for the user's own files


def raw(name: str, data: Path = DATA) -> Path:
    return data / "raw" / f"{name}.parquet"


def provenance(name: str, data: Path = DATA) -> Path:
    # Not next to the data: its timestamp would make every later stage run again.
    return data / "provenance" / f"{name}.json"


def profile(name: str, data: Path = DATA) -> Path:
    return data / "profile" / f"{name}.json"


def imputed(name: str, data: Path = DATA) -> Path:
    return data / "imputed" / f"{name}.parquet"


def encoder(name: str, data: Path = DATA) -> Path:
    return data / "imputed" / f"{name}.encoder.json"


def folds(name: str, data: Path = DATA) -> Path:
    return data / "folds" / f"{name}.csv"


def _known(encode: str | dict[str, str]) -> str | dict[str, str]:
    from ldep.table import kinds  # it imports pandas, for which a command that only needs a location would wait

    wanted, known = (encode.values(), kinds.KINDS) if isinstance(encode, dict) else ([encode], kinds.NOMINAL)
    for name in wanted:
        if name not in known:
            raise ValueError(f"there is no encoding '{short(name)}'; {nearest(name, known)}")
    return encode


class DataSection(BaseModel):
    """Every key is known and has its declared type; nothing is converted silently, nothing is ignored."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Data(DataSection):
    source: str = Field(default="auto", min_length=1)
    timeout: float = Field(default=30, gt=0, le=3600)
    retries: int = Field(default=2, ge=0, le=10)


class OwnSplit(DataSection):
    """The column that splits the rows, if there is one, and what replaces a value of the section `split`."""

    time: str | None = Field(default=None, min_length=1)
    group: str | None = Field(default=None, min_length=1)
    keep: bool = False
    folds: int | None = Field(default=None, ge=2, le=1000)
    seed: int | None = Field(default=None, ge=0, le=2**32 - 1)
    repeats: int | None = Field(default=None, ge=1, le=100)

    @model_validator(mode="after")
    def _at_most_one_column(self) -> OwnSplit:
        if self.time is not None and self.group is not None:
            raise ValueError("give one column, as time or as group")
        if self.keep and not self.column:
            raise ValueError("keep needs a column, as time or as group")
        return self

    @property
    def kind(self) -> Literal["time", "group"]:
        return "group" if self.time is None else "time"

    @property
    def column(self) -> str:
        """Empty if the rows are split at random."""
        return self.time or self.group or ""


# A range of numbers, or some of the values of a column.
Values = list[float | str] | float | str


class NeverChanges(DataSection):
    column: str | list[str] = Field(min_length=1)
    where: dict[str, Values] = Field(default_factory=dict)
    probability: float | None = Field(default=None, gt=0, lt=1)


class InRange(DataSection):
    probability: tuple[float, float] | None = Field(default=None, strict=False)
    decision: tuple[float, float] | None = Field(default=None, strict=False)
    class_: str | None = Field(default=None, alias="class")
    where: dict[str, Values] = Field(default_factory=dict)


class Stable(DataSection):
    within: dict[str, float] = Field(min_length=1)
    share: float = Field(default=1.0, gt=0, le=1)


class AgreeWith(DataSection):
    version: str = Field(min_length=1)
    within: float | None = Field(default=None, ge=0)
    where: dict[str, Values] = Field(default_factory=dict)


class Promised(DataSection):
    """One promise about every version, of one of these kinds, and how many seconds its proof may take."""

    never_changes: NeverChanges | None = None
    monotone: dict[str, Any] | None = Field(default=None, min_length=1)
    range: InRange | None = None
    stable: Stable | None = None
    agree_with: AgreeWith | None = None
    seconds: float = Field(default=60.0, gt=0, le=3600)

    @model_validator(mode="after")
    def _one_kind(self) -> Promised:
        stated = self.model_fields_set - {"seconds"}
        if len(stated) != 1 or any(getattr(self, name) is None for name in stated):
            kinds = ", ".join(name for name in type(self).model_fields if name != "seconds")
            raise ValueError(f"give one promise per entry, of {kinds}")
        return self

    @property
    def statement(self) -> tuple[str, dict[str, Any]]:
        """The kind, and what is stated, without what is left at its default."""
        (kind,) = self.model_fields_set - {"seconds"}
        stated = self.model_dump(by_alias=True, exclude_unset=True)[kind]
        return kind, {key: list(value) if isinstance(value, tuple) else value for key, value in stated.items()}


class OwnData(DataSection):
    """A file of the user's, and how its rows are read."""

    path: str = Field(min_length=1)
    target: str = Field(min_length=1)
    ignore: list[str] = Field(default_factory=list)
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    decimal: Literal[".", ","] = "."
    encoding: str = "utf-8"
    encode: Annotated[str | dict[str, str], AfterValidator(_known)] = "auto"
    merge: list[str] = Field(default_factory=list)
    groups: str | list[str] = Field(default_factory=list)
    split: OwnSplit | None = None
    promises: list[Promised] = Field(default_factory=list)

    @model_validator(mode="after")
    def _target_does_not_split(self) -> OwnData:
        if self.split is not None and self.split.column == self.target:
            raise ValueError(f"split: '{self.target}' is the target; split by another column")
        return self

    @model_validator(mode="after")
    def _target_makes_no_groups(self) -> OwnData:
        if self.target in self.grouped:
            raise ValueError(f"groups: '{self.target}' is the target; name a column that describes the rows")
        return self

    @property
    def grouped(self) -> list[str]:
        """The columns whose groups the report compares."""
        return [self.groups] if isinstance(self.groups, str) else list(dict.fromkeys(self.groups))

    @property
    def split_column(self) -> OwnSplit | None:
        """What says by which column the rows are split; None if they are split at random."""
        return self.split if self.split is not None and self.split.column else None

    def reading(self) -> dict[str, Any]:
        """All that decides which rows `fetch` reads from the file."""
        counts = {"folds", "seed", "repeats"}
        others = {"groups", "promises", *([] if self.split_column else ["split"])}
        included = {*OwnData.model_fields} - others
        return self.model_dump(include=included, exclude={"split": counts}, exclude_defaults=True)
