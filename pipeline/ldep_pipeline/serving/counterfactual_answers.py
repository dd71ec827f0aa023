"""The output `counterfactual`: the nearest change of each row that gives it another class, as a client asks for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ldep.answers import Limits, RawCounterfactual, answer_rows, check_limits, menu_of_row
from ldep.explain import NORMS, Option
from ldep.export import NotExportable

if TYPE_CHECKING:
    from ldep_pipeline.serving.served_model import ServedModel

OUTPUT = "counterfactual"
MOST_ROWS = 100
MOST_SECONDS = 60.0
MOST_ANSWERS = 20
COLUMNS = "columns, such as ['age']"


class Parameter(NamedTuple):
    """A parameter of a request: its default, which also says of which type it is, and what it means."""

    default: Any
    meaning: str


# Lists of strings and plain values only: MLflow's signatures know no others. 0 and "" stand for "none".
PARAMETERS = {
    "frozen": Parameter([], "columns that must not change."),
    "integer": Parameter([], "columns that change by whole numbers."),
    "norm": Parameter("l2", f"the distance: {', '.join(NORMS)}."),
    "target": Parameter("", "the class to reach; none is the nearest of the other classes."),
    "up": Parameter([], "columns that only rise."),
    "down": Parameter([], "columns that only fall."),
    "beyond": Parameter([], "columns that may leave the range of the training rows and their grid."),
    "constraints": Parameter([], "linear constraints between numbers, such as 'tenure <= 12 * age' or 'age <= 65'."),
    "costs": Parameter([], "what a change of a column counts relative to the others, such as 'age: 5'."),
    "max_changes": Parameter(0, "how many columns change at most; 0 is any number."),
    "margin": Parameter(0.0, "the lead of the decision value that the class must have at least."),
    "probability": Parameter(0.0, "the probability that the class must have at least; 0 is any."),
    "answers": Parameter(1, "answers per row; each further one keeps a column that an earlier one changes."),
    "box": Parameter(False, "whether to tell how far the numbers that change may go on, with every row flipping."),
    "menu": Parameter(0, "the size of the sets of columns of which each is decided; 0 is no menu. For one row."),
    "seconds": Parameter(10.0, "the time limit of all rows."),
}
DEFAULTS = {name: parameter.default for name, parameter in PARAMETERS.items()}


class Request(NamedTuple):
    """What a client asks for, and the time for all rows."""

    limits: Limits
    target: str | None
    menu: int
    seconds: float


def check(rows: int, params: Mapping[str, Any]) -> Request:
    """What a request with so many rows asks for; ValueError says what of it is wrong."""
    given = {name: _read(name, params.get(name, default)) for name, default in DEFAULTS.items()}
    seconds, menu, target = given.pop("seconds"), given.pop("menu"), given.pop("target")
    if given["norm"] not in NORMS:
        raise ValueError(f"params.norm is {given['norm']!r}; it must be one of {', '.join(NORMS)}.")
    if not 0 < seconds <= MOST_SECONDS:
        raise ValueError(f"params.seconds must be a number above 0 and at most {MOST_SECONDS:g}.")
    if rows > MOST_ROWS:
        raise ValueError(f"The request has {rows} rows; the output '{OUTPUT}' takes at most {MOST_ROWS}.")
    if not 1 <= given["answers"] <= MOST_ANSWERS:
        raise ValueError(f"params.answers must be a whole number from 1 to {MOST_ANSWERS}.")
    if menu and rows > 1:
        raise ValueError(f"The request has {rows} rows; a menu is about one row.")
    for name in ("max_changes", "margin", "probability", "menu"):
        if given.get(name, menu) < 0:
            raise ValueError(f"params.{name} must not be negative.")
    up, down = given.pop("up"), given.pop("down")
    both = sorted(set(up) & set(down))
    if both:
        raise ValueError(f"params.up and params.down both name '{both[0]}': to keep it as it is, name it in frozen.")
    given |= {"directions": {**dict.fromkeys(up, "up"), **dict.fromkeys(down, "down")}}
    given |= {"costs": dict(map(_cost, given["costs"])), "probability": given["probability"] or None}
    given |= {"max_changes": given["max_changes"] or None}
    try:
        limits = Limits.of(**given)
    except ValueError as error:
        raise ValueError(f"params.{error}") from None
    return Request(limits, target or None, menu, seconds)


def _read(name: str, value: Any) -> Any:
    """The value of a parameter in the type of its default."""
    default = DEFAULTS[name]
    if isinstance(default, list):
        value = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            kinds = {"constraints": "texts, such as ['tenure <= 12 * age']", "costs": "texts, such as ['age: 5']"}
            raise ValueError(f"params.{name} must be a list of {kinds.get(name, COLUMNS)}.")
        return value
    if isinstance(default, bool | str):
        if not isinstance(value, bool if isinstance(default, bool) else str):
            kind = "true or false" if isinstance(default, bool) else "a text"
            raise ValueError(f"params.{name} is {value!r}; it must be {kind}.")
        return value
    whole = isinstance(default, int)
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    # JSON as Python reads it has infinite numbers, and integers of any length.
    if not is_number or not abs(value) <= sys.float_info.max or (whole and value != int(value)):
        raise ValueError(f"params.{name} is {value!r}; it must be a {'whole ' if whole else ''}number.")
    return int(value) if whole else float(value)


def _cost(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition(":")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise ValueError(f"params.costs has {text!r}; write a column and a number, such as 'age: 5'.") from None


def answers(served: ServedModel, rows: pd.DataFrame, X: np.ndarray, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One answer per row. The time limit is that of all rows; each gets an equal part of what is left."""
    request = check(len(X), params)
    labels = dict(zip(served.classes, served.table.classes_)) if served.is_exact else {}
    try:
        check_limits(served.table, request.limits)
        if request.target is not None and request.target not in labels:
            raise ValueError(f"target {request.target!r} is not one of the classes {', '.join(served.classes)}.")
    except NotExportable as error:
        return [{"not_available": str(error)}] * len(X)
    except ValueError as error:
        raise ValueError(f"params.{error}") from None
    target = None if request.target is None else labels[request.target]
    if request.menu:
        menu = menu_of_row(served.table, rows, X, request.limits, request.menu, target, request.seconds)
        return [{"menu": [_option(option) for option in menu.options]}]
    found = answer_rows(served.table, rows, X, request.limits, request.seconds, target)
    records: list[dict[str, Any]] = []
    for answer in found:
        if answer.row == len(records):
            records.append(_record(answer))
        else:
            records[-1].setdefault("further", []).append(_record(answer))
    return records


def _record(answer: RawCounterfactual) -> dict[str, Any]:
    violated = {"violated": answer.violated} if answer.violated else {}
    if answer.reason is not None:
        return {"not_available": answer.reason, "proven": answer.proven, **violated}
    changes: dict[str, dict[str, Any]] = {
        name: {"from": change.before, "to": change.after} for name, change in answer.changes.items()
    }
    for name, ends in answer.ranges.items():
        changes[name]["range"] = list(ends)
    return {
        "class": str(answer.target),
        "changes": changes,
        "distance": answer.distance,
        "bound": answer.bound,
        "proven": answer.proven,
        **violated,
    }


def _option(option: Option) -> dict[str, Any]:
    record: dict[str, Any] = {"columns": list(option.columns), "possible": option.possible, "proven": option.optimal}
    if option.possible:
        record["class"], record["distance"] = str(option.target), option.distance
        record["changes"] = {change.feature: {"from": change.before, "to": change.after} for change in option.changes}
    return record
