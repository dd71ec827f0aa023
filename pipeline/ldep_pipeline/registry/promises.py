"""What every version of a data set must keep: promises of params.yaml, proven before it may become champion.

A promise that is broken comes with rows that break it, and one that cannot be decided in time counts as not kept. A
promise about a model that is not an ℓ-DEP counts as not kept too, because nothing can be proven about such a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldep.export import NotExportable
from ldep.table import Numeric
from ldep_pipeline.common.digests import digest
from ldep_pipeline.data.settings import Promised
from ldep_pipeline.serving.served_model import ServedModel

if TYPE_CHECKING:
    from ldep.prove import Subject, Verdict

Record = dict[str, Any]
TAG = "promises"  # of a version
LONGEST = 400  # characters of a reason in the tag


def identity(promises: Sequence[Promised]) -> str:
    """What the decision about a version depends on, beside the rule; empty without promises."""
    return f", promises {digest([text(promise) for promise in promises])[:12]}" if promises else ""


def text(promise: Promised) -> str:
    """A promise in one line, as in params.yaml."""
    kind, stated = promise.statement
    return f"{kind}: {json.dumps(stated, ensure_ascii=False)}"


def check(
    model: ServedModel,
    promises: Sequence[Promised],
    rows: pd.DataFrame,
    open_other: Callable[[str], ServedModel | None],
) -> list[tuple[Record, Any]]:
    """What is known about each promise, with the certificate of a proof.

    rows: the raw rows of training, whose ranges and values are those of the promises. open_other: the model of an
    address, for `agree_with`; None if there is none yet.
    """
    return [_checked(model, promise, rows, open_other) for promise in promises]


def _checked(
    model: ServedModel, promise: Promised, rows: pd.DataFrame, open_other: Callable[[str], ServedModel | None]
) -> tuple[Record, Any]:
    record: Record = {"promise": text(promise), "kept": False, "decided": False, "why": "", "rows": []}
    try:
        verdict = _verdict(model, promise, rows, open_other)
    except NotExportable:
        return {**record, "why": f"{type(model.model).__name__} is no ℓ-DEP, of which nothing can be proven"}, None
    except (ValueError, ArithmeticError) as error:
        return {**record, "why": str(error).rstrip(".")}, None
    if verdict is None:
        return {**record, "kept": True, "decided": True, "why": "there is no other version yet"}, None
    shown = [_cells(model, row) for row in verdict.rows]
    return {
        **record,
        "kept": verdict.kept,
        "decided": verdict.decided,
        "why": verdict.why,
        "rows": shown,
    }, verdict.certificate


def _verdict(
    model: ServedModel, promise: Promised, rows: pd.DataFrame, open_other: Callable[[str], ServedModel | None]
) -> Verdict | None:
    from ldep import prove  # the stages need its solver only if there is a promise
    from ldep.explain import Deadline

    kind, stated = promise.statement
    if kind == "agree_with":
        other = open_other(stated["version"])
        if other is None:
            return None
        return prove.promise(model.table, rows, other=other.table, seconds=promise.seconds, agree_with=stated)
    deadline = Deadline.after(promise.seconds)
    return prove.check_promise(subject(model, rows), kind, stated, deadline, rows, model.table)


def subject(model: ServedModel, rows: pd.DataFrame) -> Subject:
    """The served model as a subject of promises, with the probabilities that it answers."""
    from ldep import prove

    found = prove.Subject.of(model.table, rows)
    if found.model.n_classes > 2:
        return found
    nowhere = np.zeros((1, 1))  # the values decide; there need only be a row

    def probability(tau: float) -> float:
        shares = model.probability(nowhere, np.array([tau]))
        if shares is None:
            raise ValueError("the model has no probabilities; state it about the decision value instead")
        return float(shares[0, 1])

    return replace(found, probability=probability)


def _cells(model: ServedModel, row: dict[str, Any]) -> dict[str, Any]:
    """A row as a client would send it."""
    fitted = {column.name: column for column in model.encoder.fitted_}
    cells = {}
    for name, value in row.items():
        column = fitted[name]
        cells[name] = column.cell(value) if isinstance(column, Numeric) and value is not None else value
    return cells


def why_not(records: Sequence[Record]) -> str | None:
    """Why a version may not become champion; None if it keeps every promise."""
    missed = [record for record in records if not record["kept"]]
    if not missed:
        return None
    first = missed[0]
    state = "breaks" if first["decided"] else "is not proven to keep"
    more = f", and {len(missed) - 1} more" if len(missed) > 1 else ""
    shown = f", as in {rows_text(first['rows'])}" if first["rows"] else ""
    return f"it {state} the promise ‘{first['promise']}’{more}: {first['why']}{shown}"


def rows_text(rows: Sequence[dict[str, Any]]) -> str:
    """Rows that break a promise; of two only what differs is repeated."""
    first, *others = rows
    parts = [", ".join(f"{name} {_shown(value)}" for name, value in first.items())]
    for other in others:
        changed = {name: value for name, value in other.items() if value != first[name]}
        parts.append("with " + ", ".join(f"{name} {_shown(value)}" for name, value in changed.items()))
    return "; and ".join(parts)


def _shown(value: Any) -> str:
    return "missing" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def as_tag(records: Sequence[Record]) -> str:
    """The records without their rows."""
    return json.dumps(
        [{**record, "why": record["why"][:LONGEST], "rows": []} for record in records], ensure_ascii=False
    )


def from_tag(tag: str | None) -> list[Record]:
    """What `as_tag` wrote; empty if somebody wrote something else."""
    try:
        records = json.loads(tag or "[]")
    except ValueError:
        return []
    return [record for record in records if isinstance(record, dict) and {"promise", "kept", "why"} <= {*record}]
