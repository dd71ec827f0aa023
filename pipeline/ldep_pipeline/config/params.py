"""The validation of params.yaml, and changes of its values. A new section is one class and one field of Params."""

from __future__ import annotations

import copy
import re
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, BaseModel, Field, ValidationError, field_validator, model_validator

from ldep_pipeline.common.errors import UserError, nearest, short
from ldep_pipeline.common.files import safe_name, write_text
from ldep_pipeline.config import classifiers as known_classifiers
from ldep_pipeline.config import paths, yaml_file
from ldep_pipeline.config.yaml_file import read_yaml
from ldep_pipeline.data import catalogue
from ldep_pipeline.data.settings import Data, OwnData
from ldep_pipeline.fitting.specs import Classifier, Costs, Impute, MetricName, Plain, Section, Tuning
from ldep_pipeline.metrics.metric import COST

Key = tuple[str, ...]
MOST_PROBLEMS = 20  # in one message
STANDARD_ERROR: Literal["standard_error"] = "standard_error"  # of the difference from the best model

Name = Annotated[str, AfterValidator(safe_name)]


class Split(Section):
    folds: int = Field(default=5, ge=2, le=1000)
    seed: int = Field(default=1, ge=0, le=2**32 - 1)
    repeats: int = Field(default=1, ge=1, le=100)


class Execution(Section):
    seed: int = Field(default=0, ge=0, le=2**32 - 1)
    n_jobs: int | None = Field(default=None, ge=1, le=1024)
    backend: Literal["local", "dask"] = "local"
    scheduler: str | None = Field(default=None, pattern=r"^(tcp|tls|ucx|ws|wss)://[^\s/]+:\d+$")

    @model_validator(mode="after")
    def _parts_fit(self) -> Execution:
        if self.scheduler is not None and self.backend != "dask":
            raise ValueError("scheduler needs backend: dask")
        return self


class Tracking(Section):
    enabled: bool = True
    experiment: str = Field(default="ldep", min_length=1, max_length=200)
    models: bool = True
    folds: bool = True
    trials: Literal["none", "first", "all"] = "first"


class Register(Section):
    tolerance: Annotated[float, Field(ge=0, le=1)] | Literal["standard_error"] = STANDARD_ERROR
    margin: float = Field(default=0, ge=0, le=1)
    candidates: list[Name] = Field(default_factory=list)
    ship_code: bool = False
    example_row: bool = True


EventName = Literal["promotion", "rollback", "drift", "missed_promise"]
VARIABLE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def check_address(url: str) -> str:
    """An address that may be notified: encrypted, or on this machine, and without a password; else ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("the address to notify must begin with https://")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ValueError("an address to notify that is not on this machine must begin with https://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address to notify holds no password; put it into a header, by an environment variable")
    return url


class Notify(Section):
    """Whom to tell what happened. `$NAME` stands for an environment variable: params.yaml holds no secret."""

    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    command: list[str] = Field(default_factory=list)
    events: list[EventName] = Field(default_factory=lambda: list(get_args(EventName)))

    @field_validator("url")
    @classmethod
    def _may_be_notified(cls, url: str | None) -> str | None:
        return url if url is None or VARIABLE.fullmatch(url) else check_address(url)

    @field_validator("headers")
    @classmethod
    def _hold_no_secret(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not VARIABLE.fullmatch(value):
                raise ValueError(f"the value of {short(name)} must be $ and the name of an environment variable")
            if not re.fullmatch(r"[A-Za-z0-9-]+", name):
                raise ValueError(f"'{short(name)}' is not the name of a header")
        return headers


class OwnDataSet(OwnData):
    """A file of the user's, and what replaces the parameters of the project for this data set."""

    metric: MetricName | None = None
    costs: Costs | None = None
    models: list[Name] | None = None
    classifiers: dict[Name, dict[str, Plain]] = Field(default_factory=dict)
    impute: Impute | None = None
    tuning: Tuning | None = None
    register_: Register | None = Field(default=None, alias="register")


class Params(Section):
    """The parameters of a project; `of` gives those of one data set."""

    data: Data = Data()
    datasets: list[Name] = Field(default_factory=list)
    own_data: dict[Name, OwnDataSet] = Field(default_factory=dict)
    impute: Impute = Impute()
    split: Split = Split()
    metric: MetricName = "accuracy"
    costs: Costs | None = None
    models: list[Name] = Field(default_factory=list)
    classifiers: dict[Name, Classifier] = Field(default_factory=dict)
    tuning: Tuning = Tuning()
    execution: Execution = Execution()
    tracking: Tracking = Tracking()
    notify: Notify = Notify()
    # A model has a method `register` already.
    register_: Register = Field(default=Register(), alias="register")

    def datasets_to_run(self) -> list[str]:
        """The data sets; UserError if there is none yet."""
        if not self.datasets:
            raise UserError("params.yaml has no data set yet; add one: ldep new NAME FILE --target COLUMN.")
        return self.datasets

    def of(self, name: str) -> Params:
        """The parameters of one data set: those of the project, with what its entry in own_data replaces."""
        own = self.own_data.get(name)
        if own is None:
            return self
        changes = {
            "metric": own.metric or self.metric,
            "costs": own.costs or self.costs,
            "models": self.models if own.models is None else own.models,
            "classifiers": known_classifiers.changed(self.classifiers, own.classifiers, f"own_data.{name}."),
        }
        for section in ("impute", "tuning", "register_", "split"):
            of_project, of_set = getattr(self, section), getattr(own, section)
            given = (
                {}
                if of_set is None
                else of_set.model_dump(include={*type(of_project).model_fields}, exclude_unset=True)
            )
            changes[section] = of_project.model_copy(update={key: v for key, v in given.items() if v is not None})
        return self.model_copy(update=changes)

    @model_validator(mode="before")
    @classmethod
    def _models_of_the_package_are_known(cls, values: Any) -> Any:
        given = values.get("classifiers") if isinstance(values, dict) else None
        if not isinstance(values, dict) or not isinstance(given, dict | None):
            return values
        return {**values, "classifiers": known_classifiers.in_project(given or {})}

    @model_validator(mode="after")
    def _names_are_known(self) -> Params:
        known = catalogue.load()
        for name in self.own_data:
            if name in known:
                raise ValueError(f"own_data.{name}: the catalogue has a data set of this name; choose another")
        for name in self.datasets:
            if name not in known and name not in self.own_data:
                hint = nearest(name, [*known, *self.own_data])
                raise ValueError(f"datasets: '{name}' is neither in the catalogue nor in own_data; {hint}")
            if self.datasets.count(name) > 1:
                raise ValueError(f"datasets: '{name}' is listed twice")
        return self

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Params:
        self._check("")
        for name in self.own_data:
            self.of(name)._check(f"own_data.{name}.")
        return self

    def _check(self, where: str) -> None:
        """ValueError if two sections do not fit together; `where` begins the keys in its message."""
        if self.metric == COST and self.costs is None:
            costs = "{false_positive: 1.0, false_negative: 5.0}"
            raise ValueError(f"{where}metric: cost needs costs, such as '{where}costs: {costs}'")
        for name in self.models:
            if name not in self.classifiers:
                raise ValueError(
                    f"{where}models: '{name}' is not one of classifiers; {nearest(name, self.classifiers)}"
                )
            if self.models.count(name) > 1:
                raise ValueError(f"{where}models: '{name}' is listed twice")
        for name in self.register_.candidates:
            if name not in self.classifiers:
                hint = nearest(name, self.classifiers)
                raise ValueError(f"{where}register.candidates: '{name}' is not one of classifiers; {hint}")


def load(path: Path = paths.PARAMS) -> Params:
    """Read and check a parameter file; UserError names the key that is wrong."""
    return check(read_yaml(path), str(path))


def check(values: Any, where: str = "params.yaml") -> Params:
    """Check parameters given as plain values."""
    if not isinstance(values, dict):
        raise UserError(f"{where} holds {type(values).__name__}, not a mapping of sections (data, datasets, ...).")
    try:
        return Params.model_validate(values)
    except ValidationError as error:
        problems = error.errors()
        lines = [f"{where}: {_in_words(item)}" for item in problems[:MOST_PROBLEMS]]
        if len(problems) > MOST_PROBLEMS:
            lines.append(f"{where}: {len(problems) - MOST_PROBLEMS} more problems are not shown.")
        raise UserError("\n".join(lines)) from None


def set_values(changes: Mapping[Key, Any], path: Path = paths.PARAMS) -> None:
    """Write new values into a parameter file, or change nothing if the result would not be valid.

    A key is a path into the file, such as ("tuning", "trials"). Sections that the file does not have are added.
    """
    expected = read_yaml(path)
    text = path.read_text(encoding="utf-8")
    for whole_key, whole_value in changes.items():
        key, value = _with_new_sections(expected, whole_key, whole_value)
        expected = _with_value(expected, key, value)
        text = yaml_file.with_value(text, key, value)
    check(expected, f"{path} with these values")
    if yaml.safe_load(text) != expected:
        shown = ", ".join(".".join(key) for key in changes)
        raise UserError(f"{path} is laid out in a way that cannot be edited safely; set {shown} by hand.")
    write_text(path, text)


def assignments(texts: Sequence[str]) -> dict[Key, Any]:
    """Read several KEY=VALUE texts; a key may appear once."""
    changes: dict[Key, Any] = {}
    for text in texts:
        key, value = assignment(text)
        if key in changes:
            raise UserError(f"the key {'.'.join(key)} is set twice.")
        changes[key] = value
    return changes


def assignment(text: str) -> tuple[Key, Any]:
    """Read KEY=VALUE, with a dotted key and a value in YAML."""
    key, separator, value = text.partition("=")
    if not separator or not all(key.split(".")):
        raise UserError(f"'{text}' is not of the form KEY=VALUE, such as tuning.trials=50.")
    try:
        return tuple(key.split(".")), yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise UserError(f"'{text}': the value is not valid YAML: {' '.join(str(error).split())}.") from None


def _with_new_sections(values: Any, key: Key, value: Any) -> tuple[Key, Any]:
    """The same change, for which every section exists: one that is missing or empty is part of the value."""
    parent = values
    for depth, part in enumerate(key[:-1], 1):
        parent = parent.get(part) if isinstance(parent, dict) else None
        if parent is None or parent == {}:
            for name in reversed(key[depth:]):
                value = {name: value}
            return key[:depth], value
    return key, value


def _with_value(values: Any, key: Key, value: Any) -> Any:
    changed = copy.deepcopy(values)
    parent = changed
    for part in key[:-1]:
        if not isinstance(parent, dict) or not isinstance(parent.get(part), dict):
            raise UserError(f"params.yaml has no section '{part}' for '{'.'.join(key)}'; add it to the file first.")
        parent = parent[part]
    if not isinstance(parent, dict):
        raise UserError(f"params.yaml holds no mapping at '{'.'.join(key[:-1])}'.")
    parent[key[-1]] = value
    return changed


def _in_words(item: Any) -> str:
    key = ".".join(short(str(part)) for part in item["loc"])
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
    problem = f"'{key}': {message[:1].lower()}{message[1:]}"
    if item["type"] == "value_error" and isinstance(item["input"], dict):  # a check of a whole section
        return f"{problem}."
    return f"{problem}; found {reprlib.repr(item['input'])}."


def _valid_keys(location: tuple[Any, ...]) -> list[str]:
    model: Any = Params
    for part in location:
        if isinstance(model, type) and issubclass(model, BaseModel):
            fields = {field.alias or name: field for name, field in model.model_fields.items()}
            model = fields[part].annotation
            options = [kind for kind in get_args(model) if isinstance(kind, type) and issubclass(kind, BaseModel)]
            model = options[0] if get_origin(model) is UnionType else model
        else:  # dict[Name, OwnData]: any name leads to the value's type
            model = get_args(model)[-1]
    return [field.alias or name for name, field in model.model_fields.items()]
