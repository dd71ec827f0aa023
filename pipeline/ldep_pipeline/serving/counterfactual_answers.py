"""The output `counterfactual`: the nearest change of each row that gives it another class, as a client asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ldep.answers import Limits, RawCounterfactual, answer_rows, check_limits
from ldep.explain import NORMS
from ldep.export import NotExportable

if TYPE_CHECKING:
    from ldep_pipeline.serving.served_model import ServedModel

OUTPUT = "counterfactual"
MOST_ROWS = 100
MOST_SECONDS = 60.0
DEFAULTS = {"frozen": [], "integer": [], "norm": "l2", "seconds": 10.0}


class Request(NamedTuple):
    """What a client allows, and the time for all rows."""

    limits: Limits
    seconds: float


def check(rows: int, params: Mapping[str, Any]) -> Request:
    """What a request with so many rows asks for; ValueError says what of it is wrong."""
    values = {**DEFAULTS, **{name: value for name, value in params.items() if name in DEFAULTS}}
    for name in ("frozen", "integer"):
        names = values[name].tolist() if isinstance(values[name], np.ndarray) else values[name]
        if not isinstance(names, list) or not all(isinstance(column, str) for column in names):
            raise ValueError(f"params.{name} must be a list of columns, such as ['age'].")
        values[name] = tuple(names)
    if values["norm"] not in NORMS:
        raise ValueError(f"params.norm is {values['norm']!r}; it must be one of {', '.join(NORMS)}.")
    seconds = values.pop("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= MOST_SECONDS:
        raise ValueError(f"params.seconds must be a number above 0 and at most {MOST_SECONDS:g}.")
    if rows > MOST_ROWS:
        raise ValueError(f"The request has {rows} rows; the output '{OUTPUT}' takes at most {MOST_ROWS}.")
    return Request(Limits(**values), seconds)


def answers(served: ServedModel, rows: pd.DataFrame, X: np.ndarray, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One answer per row. The time limit is that of all rows; each gets an equal part of what is left."""
    request = check(len(X), params)
    try:
        check_limits(served.table, request.limits)
    except NotExportable as error:
        return [{"not_available": str(error)}] * len(X)
    except ValueError as error:
        raise ValueError(f"params.{error}") from None
    return [_record(answer) for answer in answer_rows(served.table, rows, X, request.limits, request.seconds)]


def _record(answer: RawCounterfactual) -> dict[str, Any]:
    if answer.reason is not None:
        return {"not_available": answer.reason}
    return {
        "class": str(answer.target),
        "changes": {name: {"from": change.before, "to": change.after} for name, change in answer.changes.items()},
        "distance": answer.distance,
        "bound": answer.bound,
        "proven": answer.proven,
    }
