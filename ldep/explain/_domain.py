"""Which rows are allowed as answers, and how their distance is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from ldep.explain._constraints import Linear, LinearRows, parse

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
    """The allowed rows z, and their distance from the row x that they are an answer for.

    They are the points of a mixed-integer polyhedron, of which only `frozen`, `directions` and `steps` depend on x.

    Parameters
    ----------
    norm : {"l2", "l1", "linf"}
        The norm of (z - x) / scale, which is the distance.
    scale : ndarray of shape (n_features,)
        Length of one unit of each feature, divided by its cost.
    frozen : ndarray of bool of shape (n_features,)
        Features with z_f = x_f.
    lower, upper : ndarray of shape (n_features,)
        Bounds of the other features; infinite where there is none.
    steps : ndarray of shape (n_features,)
        z_f - x_f is a multiple of the step; 0 is any change.
    choices : list of Choice
        Features that take their values together, those of one row of a table.
    names : list of str
        Names of the features.
    directions : ndarray of int of shape (n_features,) or None
        1 where z_f >= x_f, -1 where z_f <= x_f, and 0 where both ways are open; None is 0 everywhere.
    linear : LinearRows or None
        The linear constraints matrix z <= limits, which hold for z whether they hold for x or not; None is none.
    max_changes : int or None
        How many columns may change at most. A choice is one column, and so is every other feature, except for those
        that an equation such as `total = parts + labour` defines: these follow from others.
    """

    norm: str
    scale: np.ndarray
    frozen: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    steps: np.ndarray
    choices: list[Choice] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    directions: np.ndarray | None = None
    linear: LinearRows | None = None
    max_changes: int | None = None

    @property
    def discrete(self) -> bool:
        """Whether the search has to branch on features, as the allowed rows are not convex."""
        return bool(self.choices) or bool(self.steps.any()) or self.max_changes is not None

    @property
    def columns(self) -> list[np.ndarray]:
        """The features of each column that counts as one change."""
        counts = ~self.nominal
        if self.linear is not None:
            counts[self.linear.followers] = False
        single = np.flatnonzero(counts)
        return [*(choice.columns for choice in self.choices), *single[:, None]]

    def sides(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of the features of a row, with what the directions leave of them."""
        if self.directions is None:
            return self.lower, self.upper
        low = np.where(self.directions > 0, np.maximum(self.lower, x), self.lower)
        return low, np.where(self.directions < 0, np.minimum(self.upper, x), self.upper)

    def holds(self, Z: np.ndarray) -> np.ndarray:
        """Whether each row satisfies the linear constraints, up to rounding."""
        if self.linear is None:
            return np.ones(len(Z), dtype=bool)
        return np.all(self.linear.excess(Z) <= 0, axis=1)

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
    names: list[str],
    *,
    norm="l2",
    scale=None,
    frozen=(),
    bounds=None,
    integer=(),
    categories=(),
    directions=(),
    constraints=(),
    costs=(),
    max_changes=None,
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
    if max_changes is not None and (
        isinstance(max_changes, bool) or max_changes != int(max_changes) or max_changes < 1
    ):
        raise ValueError(f"max_changes={max_changes} must be a whole number of columns, at least 1.")
    domain = Domain(
        norm,
        _scale(scale, n) / _costs(costs, columns),
        fixed,
        lower,
        upper,
        steps,
        _choices(categories, columns, steps),
        list(names),
        _directions(directions, columns),
        _linear(constraints, columns),
        None if max_changes is None or max_changes >= n else int(max_changes),
    )
    if domain.linear is not None:
        _refuse_contradictions(domain)
    return domain


def _directions(directions, columns: _Columns) -> np.ndarray | None:
    signs = np.zeros(len(columns.names), dtype=int)
    for column, way in dict(directions).items():
        if way not in ("up", "down"):
            raise ValueError(f"directions: {column!r} goes {way!r}; it can go 'up' or 'down'.")
        signs[columns.number(column, "directions")] = 1 if way == "up" else -1
    return signs if signs.any() else None


def _costs(costs, columns: _Columns) -> np.ndarray:
    values = np.ones(len(columns.names))
    for column, cost in dict(costs).items():
        if not (np.isfinite(cost) and cost > 0):
            raise ValueError(f"costs: the cost of {column!r} is {cost}, and must be a positive number.")
        values[columns.number(column, "costs")] = cost
    return values


def _linear(constraints, columns: _Columns) -> LinearRows | None:
    """The rows of constraints, which are texts or already read."""
    given = [constraints] if isinstance(constraints, str | Linear) else constraints
    read: list[Linear] = []
    for one in given:
        read += parse(one, columns.numbers) if isinstance(one, str) else [one]
    return LinearRows.of(read, columns.numbers) if read else None


def _refuse_contradictions(domain: Domain) -> None:
    """Refuse constraints that no row within the bounds satisfies, and name the fewest that contradict each other."""
    linear = domain.linear
    assert linear is not None
    lower = np.where(domain.frozen, -np.inf, domain.lower)
    upper = np.where(domain.frozen, np.inf, domain.upper)
    for choice in domain.choices:
        lower[choice.columns] = np.maximum(lower[choice.columns], choice.table.min(axis=0))
        upper[choice.columns] = np.minimum(upper[choice.columns], choice.table.max(axis=0))

    def possible(texts: list[str], low: np.ndarray, high: np.ndarray) -> bool:
        kept = [number for number, text in enumerate(linear.texts) if text in texts]
        if (low > high).any():
            return False
        sides = np.column_stack([low, high])
        done = linprog(np.zeros(len(low)), A_ub=linear.matrix[kept], b_ub=linear.limits[kept], bounds=sides)
        return done.status != INFEASIBLE

    texts = list(dict.fromkeys(linear.texts))
    if possible(texts, lower, upper):
        return
    for text in list(texts):
        fewer = [other for other in texts if other != text]
        if not possible(fewer, lower, upper):
            texts = fewer
    nowhere = np.full(len(lower), np.inf)
    within = " within the bounds" if possible(texts, -nowhere, nowhere) else ""
    if len(texts) == 1:
        raise ValueError(f"No row{within} satisfies the constraint {texts[0]!r}.")
    named = ", ".join(repr(text) for text in texts[:-1])
    raise ValueError(f"The constraints {named} and {texts[-1]!r} contradict each other{within}.")


# The status of scipy for a program without any solution.
INFEASIBLE = 2


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
