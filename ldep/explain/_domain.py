"""Which rows are allowed as answers, and how their distance is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

# The orders of the norms, and of their dual norms.
NORMS = {"l2": 2, "l1": 1, "linf": np.inf}
DUAL_NORMS = {"l2": 2, "l1": np.inf, "linf": 1}
# Relative difference below which a value of a row counts as one of the categories, which may have been standardised.
SAME_CATEGORY = 1e-6


@dataclass(frozen=True)
class Choice:
    """Columns that take their values together: those of one row of the table."""

    columns: np.ndarray
    table: np.ndarray


@dataclass(frozen=True)
class Domain:
    """The allowed rows.

    Features that are not frozen lie between bounds and change by multiples of their step, where 0 is any change. The
    distance of a row is the norm ("l2", "l1" or "linf") of (z - x) / scale.
    """

    norm: str
    scale: np.ndarray
    frozen: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    steps: np.ndarray
    choices: list[Choice] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def discrete(self) -> bool:
        return bool(self.choices) or bool(self.steps.any())

    @property
    def nominal(self) -> np.ndarray:
        """Features that belong to a choice, as a mask."""
        mask = np.zeros(len(self.scale), dtype=bool)
        for choice in self.choices:
            mask[choice.columns] = True
        return mask

    @property
    def continuous(self) -> np.ndarray:
        """Features that can change by any amount, as a mask."""
        return ~self.frozen & (self.steps == 0) & ~self.nominal

    def distance(self, Z: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Distance of each row of Z from the row of X."""
        U = (Z - X) / self.scale
        return np.linalg.norm(U, ord=NORMS[self.norm], axis=-1)

    def dual_norm(self, A: np.ndarray) -> np.ndarray:
        """Largest rise of the affine functions with these slopes along a way of length 1."""
        A = A * np.where(self.frozen, 0.0, self.scale)
        return np.linalg.norm(A, ord=DUAL_NORMS[self.norm], axis=-1)

    def check_rows(self, X: np.ndarray) -> None:
        """Refuse rows that have a category which is not listed."""
        for choice in self.choices:
            values = X[:, choice.columns]
            size = 1.0 + np.abs(choice.table).max()
            far = np.abs(values[:, None] - choice.table).max(axis=2).min(axis=1) > SAME_CATEGORY * size
            if far.any():
                row = int(np.flatnonzero(far)[0])
                columns = " and ".join(repr(self.names[column]) for column in choice.columns)
                raise ValueError(
                    f"Row {row} has the category {_readable(values[row])} in {columns}, which is not one of "
                    f"{_readable(choice.table)}."
                )


def make_domain(
    names: list[str], *, norm="l2", scale=None, frozen=(), bounds=None, integer=(), categories=()
) -> Domain:
    """The domain that the arguments of `counterfactual` describe."""
    if norm not in NORMS:
        raise ValueError(f"norm={norm!r} is not known: use 'l2', 'l1' or 'linf'.")
    n = len(names)
    columns = _Columns(names)
    fixed = np.zeros(n, dtype=bool)
    fixed[columns.all_of(frozen, "frozen")] = True
    if fixed.all():
        raise ValueError("frozen names every feature, so that no row can change: leave at least one of them free.")
    lower, upper = _bounds(bounds, columns)
    steps = np.zeros(n)
    for column, step in (
        dict(integer).items() if isinstance(integer, Mapping) else [(column, 1.0) for column in integer]
    ):
        if not step > 0:
            raise ValueError(f"integer: the step of {column!r} is {step}, and must be positive.")
        steps[columns.number(column, "integer")] = step
    return Domain(norm, _scale(scale, n), fixed, lower, upper, steps, _choices(categories, columns, steps), list(names))


class _Columns:
    """The numbers of columns, by name or by number."""

    def __init__(self, names: list[str]):
        self.names = names
        self.numbers = {name: number for number, name in enumerate(names)}

    def number(self, column, argument: str) -> int:
        if isinstance(column, str):
            if column not in self.numbers:
                raise ValueError(f"{argument} names {column!r}, which is not a feature of the model.")
            return self.numbers[column]
        if not -len(self.names) <= int(column) < len(self.names):
            raise ValueError(f"{argument} names column {column}, but the model has {len(self.names)} features.")
        return int(column) % len(self.names)

    def all_of(self, columns, argument: str) -> list[int]:
        values = np.asarray(columns)
        if values.dtype == bool:
            if values.shape != (len(self.names),):
                raise ValueError(f"{argument} is a mask of {values.size} entries for {len(self.names)} features.")
            return list(np.flatnonzero(values))
        return [self.number(column, argument) for column in columns]


def _scale(scale, n: int) -> np.ndarray:
    if scale is None:
        return np.ones(n)
    values = np.asarray(scale, dtype=float)
    if values.shape != (n,) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"scale must have one positive number for each of the {n} features.")
    return values


def _bounds(bounds, columns: _Columns) -> tuple[np.ndarray, np.ndarray]:
    n = len(columns.names)
    if bounds is None:
        return np.full(n, -np.inf), np.full(n, np.inf)
    if isinstance(bounds, Mapping):
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        for column, (low, high) in bounds.items():
            number = columns.number(column, "bounds")
            lower[number] = -np.inf if low is None else low
            upper[number] = np.inf if high is None else high
    else:
        lower, upper = (np.broadcast_to(np.asarray(side, dtype=float), n).copy() for side in bounds)
    if np.isnan(lower).any() or np.isnan(upper).any():
        raise ValueError("bounds contain NaN: use None, or infinity, where a feature has no bound.")
    if (lower > upper).any():
        number = int(np.flatnonzero(lower > upper)[0])
        raise ValueError(
            f"bounds of {columns.names[number]!r} are {lower[number]:g} and {upper[number]:g}: "
            "the lower one is the larger."
        )
    return lower, upper


def _choices(categories, columns: _Columns, steps: np.ndarray) -> list[Choice]:
    """A mapping from columns to their allowed values, or a list of groups of one-hot columns."""
    choices, taken = [], set(np.flatnonzero(steps).tolist())
    entries = categories.items() if isinstance(categories, Mapping) else [(tuple(group), None) for group in categories]
    for key, values in entries:
        group = list(key) if isinstance(key, tuple) else [key]
        numbers = columns.all_of(group, "categories")
        table = np.eye(len(numbers)) if values is None else np.asarray(values, dtype=float)
        table = table[:, None] if table.ndim == 1 else table
        if table.shape[1:] != (len(numbers),) or not len(table) or not np.isfinite(table).all():
            raise ValueError(f"categories of {key!r} must be a list of its allowed values.")
        if taken & set(numbers) or len(set(numbers)) < len(numbers):
            raise ValueError(f"categories: a column of {key!r} occurs twice, or is in integer too.")
        taken |= set(numbers)
        choices.append(Choice(np.array(numbers), table))
    return choices


def _readable(values: np.ndarray) -> str:
    return str(np.squeeze(values).tolist())
