"""params.yaml, checked once, at the door. A new section is one more class, and one more field of Params."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline import catalogue, paths
from pipeline.errors import UserError, nearest


def _safe_name(name: str) -> str:
    # The name becomes part of paths: nothing in it may climb out of the data folder.
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) or len(name) > 100:
        raise ValueError(
            "a data set's name has letters, digits, '-', '_' and '.', "
            "starts with a letter, a digit or '_', and is at most 100 long"
        )
    return name


Name = Annotated[str, AfterValidator(_safe_name)]


class Section(BaseModel):
    """Every key is known and has its declared type; nothing is converted silently, nothing is ignored."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Data(Section):
    source: str = Field(default="auto", min_length=1)
    timeout: float = Field(default=30, gt=0, le=3600)
    retries: int = Field(default=2, ge=0, le=10)


class OwnData(Section):
    path: str = Field(min_length=1)
    target: str = Field(min_length=1)
    positive: str | int | None = None
    ignore: list[str] = []
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    encoding: str = "utf-8"


class Impute(Section):
    strategy: Literal["mean", "median", "most_frequent", "constant"] = "mean"
    fill_value: float = Field(default=0, allow_inf_nan=False)
    scope: Literal["dataset", "fold"] = "dataset"


class Split(Section):
    folds: int = Field(default=5, ge=2, le=1000)
    seed: int = Field(default=1, ge=0, le=2**32 - 1)


class Params(Section):
    data: Data = Data()
    datasets: list[Name] = Field(min_length=1)
    own_data: dict[Name, OwnData] = {}
    impute: Impute = Impute()
    split: Split = Split()

    @model_validator(mode="after")
    def _names_are_known(self) -> Params:
        known = catalogue.load()
        for name in self.own_data:
            if name in known:
                raise ValueError(f"own_data.{name}: the catalogue has a set of this name; choose another")
        for name in self.datasets:
            if name not in known and name not in self.own_data:
                hint = nearest(name, [*known, *self.own_data])
                raise ValueError(f"datasets: '{name}' is neither in the catalogue nor in own_data; {hint}")
            if self.datasets.count(name) > 1:
                raise ValueError(f"datasets: '{name}' is listed twice")
        return self


def load(path: Path = paths.PARAMS) -> Params:
    """Read and check a parameter file; UserError names the key that is wrong."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is not here; run this in the project's folder, or pass --params.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}.") from None
    return check(values, str(path))


def check(values: Any, where: str = "params.yaml") -> Params:
    """Check parameters that are at hand as plain values."""
    if not isinstance(values, dict):
        raise UserError(f"{where} holds {type(values).__name__}, not a mapping of sections (data, datasets, ...).")
    try:
        return Params.model_validate(values)
    except ValidationError as error:
        lines = [f"{where}: {_in_words(item)}" for item in error.errors()]
        raise UserError("\n".join(lines)) from None


def _in_words(item: Any) -> str:
    key = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"unknown key '{key}'; {nearest(str(item['loc'][-1]), _valid_keys(item['loc'][:-1]))}"
    if item["type"] == "missing":
        return f"'{key}' is missing."
    message = item["msg"].removeprefix("Value error, ")
    if not item["loc"]:  # a check across sections: the message names its keys itself
        return message
    if item["loc"][0] == "datasets" and isinstance(item["input"], dict):
        return (
            f"'{key}' is a mapping. List the name under 'datasets', and put the file under "
            "'own_data: {NAME: {path: ..., target: ...}}'."
        )
    return f"'{key}': {message[:1].lower()}{message[1:]}; found {item['input']!r}."


def _valid_keys(location: tuple[Any, ...]) -> list[str]:
    model: Any = Params
    for part in location:
        if isinstance(model, type) and issubclass(model, BaseModel):
            model = model.model_fields[part].annotation
        else:  # dict[Name, OwnData]: any name leads to the value's type
            model = get_args(model)[-1]
    return list(model.model_fields)
