"""The nearest change of each row that gives it another class, in the raw columns as the user knows them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ldep.answers._space import Limits, RowSpace
from ldep.explain import (
    NORMS,
    Change,
    Deadline,
    Levers,
    Menu,
    Outcome,
    Question,
    best_of,
    box_of_answer,
    is_proven,
    menu,
    parse,
    several,
    shown,
    wanted_of,
)
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
    row : int
        The number of the row.
    ranges : dict of str to pair of float
        On request, from where to where each number that changes may go on: every row in between flips.
    violated : list of str
        The constraints that the row itself violates. The answer satisfies all of them.
    grid : float
        What rounding to fine grids may add to the distance of the nearest row.
    """

    before: Any
    target: Any = None
    changes: dict[str, RawChange] = field(default_factory=dict)
    distance: float = np.inf
    bound: float = 0.0
    reason: str | None = None
    row: int = 0
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    violated: list[str] = field(default_factory=list)
    grid: float = 0.0

    @property
    def proven(self) -> bool:
        """Whether the row is proven to be the nearest, up to the steps of fine grids, or proven not to exist."""
        return bool(is_proven(np.array(self.distance), np.array(self.bound + self.grid)))

    def __str__(self) -> str:
        if self.reason is not None:
            return f"{self.before} -> none. {self.reason}"
        quality = "proven to be the nearest" if self.proven else f"none is nearer than {self.bound:.6g}"
        lines = [f"{self.before} -> {self.target}, distance {self.distance:.6g}, {quality}"]
        lines += [f"    now violates {text}" for text in self.violated]
        for name, change in self.changes.items():
            low, high = self.ranges.get(name, (0.0, 0.0))
            others = f" (or any from {shown(low)} to {shown(high)})" if low < high else ""
            lines.append(f"    {name}: {shown(change.before)} -> {shown(change.after)}{others}")
        return "\n".join(lines)


@dataclass(frozen=True)
class RawCounterfactuals:
    """One answer per row of a table, or several; print it to read them.

    Attributes
    ----------
    answers : list of RawCounterfactual
        The answers, in the order of the rows, and about each row the nearest one first.
    frame : DataFrame
        The rows.
    """

    answers: list[RawCounterfactual]
    frame: pd.DataFrame = field(repr=False)

    @property
    def rows(self) -> pd.DataFrame:
        """The rows after their changes, one per answer; what has no answer is left out."""
        changed = self.frame.iloc[[answer.row for answer in self.answers]].astype(object)
        for number, answer in enumerate(self.answers):
            for name, change in answer.changes.items():
                changed.iloc[number, changed.columns.get_loc(name)] = change.after
        return changed[[answer.reason is None for answer in self.answers]]

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, number: int) -> RawCounterfactual:
        return self.answers[number]

    def __str__(self) -> str:
        return "\n".join(f"row {answer.row}: {answer}" for answer in self.answers)


def answer_rows(
    model: TableModel,
    frame: pd.DataFrame,
    X: np.ndarray,
    limits: Limits,
    seconds: float,
    target: Any = None,
) -> list[RawCounterfactual]:
    """The answers about each row, X before scaling. The time limit is that of all rows, in equal parts."""
    check_limits(model, limits)
    before = model.classes_[model.class_numbers(X)] if len(X) else []
    answers = []
    with single_thread():
        deadline = Deadline.after(seconds)
        for number in range(len(X)):
            row = frame.iloc[number]
            space = RowSpace.of(model.raw, X[number], limits.with_gaps_frozen(row))
            part = max(deadline.left / (len(X) - number), 0.001)
            found = _answers(model, space, row, before[number], target, part)
            answers += [replace(answer, row=number) for answer in found]
    return answers


def check_limits(model: TableModel, limits: Limits) -> None:
    """Refuse columns that do not exist, or that cannot be what the limits say of them."""
    if limits.norm not in NORMS:
        raise ValueError(f"norm is {limits.norm!r}; it must be one of {', '.join(NORMS)}.")
    kinds = model.encoder.kinds
    for argument, name in limits.named():
        if name not in kinds:
            raise ValueError(f"{argument} names '{name}', which is not a column of the model.")
        if argument not in ("frozen", "costs") and kinds[name] != "numeric":
            raise ValueError(f"{argument} names '{name}', which is a {kinds[name]} column.")
    if all(column.name in limits.frozen for column, _ in model.raw.columns):
        raise ValueError("frozen names every column that the model uses, so that no row can change.")
    numbers = [name for name in model.columns if kinds[name] == "numeric"]
    for text in limits.constraints:
        for name in (name for name, kind in kinds.items() if kind != "numeric" and name in text.split()):
            raise ValueError(f"The constraint {text!r} names '{name}', which is a {kinds[name]} column, not a number.")
        parse(text, numbers)


def _answers(
    model: TableModel, space: RowSpace, row: pd.Series, before: Any, target: Any, seconds: float
) -> list[RawCounterfactual]:
    if not len(space.start):
        kept = "No column of the row can change: dates, texts and some missing values are kept."
        return [RawCounterfactual(before, bound=np.inf, reason=kept)]
    x, limits, deadline = space.start, space.limits, Deadline.after(seconds)
    question = space.question(model.fitted, model.decision, model.classes_, seconds / limits.answers, model.link)
    domain = question.domain
    violated = [] if domain.linear is None else domain.linear.violated(x)
    number = None if target is None else np.flatnonzero(model.classes_ == target)[:1]
    (wanted,) = wanted_of(question, x[None], number)
    if not wanted.any():
        return [RawCounterfactual(before, target, {}, 0.0, 0.0, violated=violated)]
    ((reached,), (first,)) = best_of(question, x[None], wanted[None])
    found = [(int(reached), first)]
    if limits.answers > 1:
        found = several(Levers(question, x, wanted, deadline), found[0], limits.answers)
    answers: list[RawCounterfactual] = []
    for reached, outcome in found:
        if outcome.z is None:
            if not answers or np.isfinite(outcome.bound):
                nothing = RawCounterfactual(before, bound=outcome.bound, reason=_why_none(outcome, violated))
                answers.append(replace(nothing, violated=violated))
            break
        v = space.rounded(outcome.z, partial(_accepted, question, x, reached))
        grid = float(domain.distance(v, outcome.z))
        changes = {name: RawChange(*change) for name, change in space.changes(v, row).items()}
        distance, ranges = float(domain.distance(v, x)), {}
        if limits.box:
            classes = np.arange(len(model.classes_))
            avoided = classes == np.flatnonzero(model.classes_ == before) if target is None else classes != reached
            ranges = space.ranges(*box_of_answer(question, x, v, avoided, deadline))
        label = model.classes_[reached]
        answers.append(
            RawCounterfactual(before, label, changes, distance, outcome.bound, None, 0, ranges, violated, grid)
        )
    return answers


def menu_of_row(
    model: TableModel, frame: pd.DataFrame, X: np.ndarray, limits: Limits, most: int, target: Any, seconds: float
) -> Menu:
    """For every set of up to so many columns whether changing these alone is enough for the row, and the nearest way.

    X has the row before scaling.
    """
    check_limits(model, limits)
    if len(X) != 1:
        raise ValueError(f"A menu is about one row, but there are {len(X)}.")
    row = frame.iloc[0]
    space = RowSpace.of(model.raw, X[0], limits.with_gaps_frozen(row))
    if not len(space.start):
        raise ValueError("No column of the row can change: dates, texts and some missing values are kept.")
    with single_thread():
        question = space.question(model.fitted, model.decision, model.classes_, seconds, model.link)
        number = None if target is None else np.flatnonzero(model.classes_ == target)[:1]
        (wanted,) = wanted_of(question, space.start[None], number)
        if not wanted.any():
            raise ValueError("The row has what is asked for already, so that nothing has to change.")
        owners = {f"v{at}": part.column.name for part in space.parts for at in part.at.tolist()}
        found = menu(Levers(question, space.start, wanted, Deadline.after(seconds)), most, list(owners), model.classes_)
    options = []
    for option in found.options:
        names = tuple(dict.fromkeys(owners[label.split(" + ")[0]] for label in option.columns))
        changes = {} if option.row is None else space.changes(option.row, row)
        listed = [Change(name, before, after) for name, (before, after) in changes.items()]
        options.append(replace(option, columns=names, changes=listed))
    return Menu(options, [part.column.name for part in space.parts if len(part.at)])


def _accepted(question: Question, x: np.ndarray, target: int, v: np.ndarray) -> bool:
    """Whether a rounded answer about the row x is one."""
    low, high = question.domain.sides(x)
    inside = ((v >= low - WITHIN) & (v <= high + WITHIN)).all()
    return bool(inside and question.surely(v[None], target)[0] and question.domain.holds(v[None])[0])


# What rounding may cost a bound.
WITHIN = 1e-9


def _why_none(outcome: Outcome, violated: list[str]) -> str:
    if np.isinf(outcome.bound):
        also = f" The row violates {' and '.join(map(repr, violated))}, and an answer must not." if violated else ""
        return NOTHING + also
    return f"No change was found in time that gives the row another class; none is nearer than {outcome.bound:g}."
