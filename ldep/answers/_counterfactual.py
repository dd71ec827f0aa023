"""The nearest change of each row that gives it another class, in the raw columns as the user knows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ldep.answers._space import Limits, RowSpace
from ldep.explain import NORMS, Deadline, Outcome, counterfactuals, is_proven
from ldep.solvers import single_thread

if TYPE_CHECKING:
    from ldep.answers._table_model import TableModel

NOTHING = "No allowed change gives the row another class."


class RawChange(NamedTuple):
    """From what to what the cell of a column changes."""

    before: Any
    after: Any


@dataclass(frozen=True)
class RawCounterfactual:
    """The nearest row of another class for one row.

    Attributes
    ----------
    before, target : class
        The class of the row, and that of the nearest row; None if there is none.
    changes : dict of str to RawChange
        The columns that change, from what and to what.
    distance : float
        The distance of the nearest row; infinite if there is none.
    bound : float
        Proven: no allowed row of another class is nearer than this.
    reason : str or None
        Why there is no row.
    """

    before: Any
    target: Any = None
    changes: dict[str, RawChange] = field(default_factory=dict)
    distance: float = np.inf
    bound: float = 0.0
    reason: str | None = None

    @property
    def proven(self) -> bool:
        """Whether the row is proven to be the nearest, or proven not to exist."""
        return bool(is_proven(np.array(self.distance), np.array(self.bound)))

    def __str__(self) -> str:
        if self.reason is not None:
            return f"{self.before} -> none. {self.reason}"
        quality = "proven to be the nearest" if self.proven else f"none is nearer than {self.bound:.6g}"
        lines = [f"{self.before} -> {self.target}, distance {self.distance:.6g}, {quality}"]
        lines += [f"    {name}: {_shown(one.before)} -> {_shown(one.after)}" for name, one in self.changes.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class RawCounterfactuals:
    """One answer per row of a table; print it to read them.

    Attributes
    ----------
    answers : list of RawCounterfactual
        The answers, in the order of the rows.
    frame : DataFrame
        The rows.
    """

    answers: list[RawCounterfactual]
    frame: pd.DataFrame = field(repr=False)

    @property
    def rows(self) -> pd.DataFrame:
        """The rows after their changes; a row without an answer is left out."""
        changed = self.frame.astype(object)
        for number, answer in enumerate(self.answers):
            for name, change in answer.changes.items():
                changed.iloc[number, changed.columns.get_loc(name)] = change.after
        return changed[[answer.reason is None for answer in self.answers]]

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, number: int) -> RawCounterfactual:
        return self.answers[number]

    def __str__(self) -> str:
        return "\n".join(f"row {number}: {answer}" for number, answer in enumerate(self.answers))


def answer_rows(
    model: TableModel, frame: pd.DataFrame, X: np.ndarray, limits: Limits, seconds: float
) -> list[RawCounterfactual]:
    """One answer per row, X before scaling. The time limit is that of all rows; each gets an equal part of the rest."""
    check_limits(model, limits)
    before = model.classes_[model.class_numbers(X)] if len(X) else []
    answers = []
    with single_thread():
        deadline = Deadline.after(seconds)
        for number in range(len(X)):
            row = frame.iloc[number]
            space = RowSpace.of(model.raw, X[number], limits.with_gaps_frozen(row))
            part = max(deadline.left / (len(X) - number), 0.001)
            answers.append(_answer(model, space, row, before[number], part))
    return answers


def check_limits(model: TableModel, limits: Limits) -> None:
    """Refuse columns that do not exist, or that cannot be what the limits say of them."""
    if limits.norm not in NORMS:
        raise ValueError(f"norm is {limits.norm!r}; it must be one of {', '.join(NORMS)}.")
    for argument in ("frozen", "integer"):
        for name in getattr(limits, argument):
            if name not in model.encoder.columns_:
                raise ValueError(f"{argument} names '{name}', which is not a column of the model.")
    if all(column.name in limits.frozen for column, _ in model.raw.columns):
        raise ValueError("frozen names every column that the model uses, so that no row can change.")
    for column, _ in model.raw.columns:
        if column.kind != "numeric" and column.name in limits.integer:
            raise ValueError(f"integer names '{column.name}', which is a {column.kind} column.")


def _answer(model: TableModel, space: RowSpace, row: pd.Series, before: Any, seconds: float) -> RawCounterfactual:
    if not len(space.start):
        kept = "No column of the row can change: dates, texts and some missing values are kept."
        return RawCounterfactual(before, bound=np.inf, reason=kept)
    question = space.question(model.fitted, model.decision, model.classes_, seconds)
    try:
        reached, (outcome,) = counterfactuals(question, space.start[None], None)
    except ValueError:  # no row of another class differs from this one only in what can change
        return RawCounterfactual(before, bound=np.inf, reason=NOTHING)
    if outcome.z is None:
        return RawCounterfactual(before, bound=outcome.bound, reason=_why_none(outcome))
    changes = {name: RawChange(*change) for name, change in space.changes(outcome.z, row).items()}
    return RawCounterfactual(before, model.classes_[reached[0]], changes, outcome.distance, outcome.bound)


def _why_none(outcome: Outcome) -> str:
    if np.isinf(outcome.bound):
        return NOTHING
    return f"No change was found in time that gives the row another class; none is nearer than {outcome.bound:g}."


def _shown(cell: Any) -> str:
    return "missing" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)
