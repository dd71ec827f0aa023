"""Linear constraints between columns, written as people write them: `tenure <= 12 * age`, `total = parts + labour`.

A constraint compares two linear expressions with <=, >= or =, and may be a chain such as `0 <= a <= b`. Expressions
have numbers, columns, +, -, multiplication by a number, division by a number, and parentheses. The name of a column
that is not one word stands in backticks: `` `mean radius` <= 20 ``. Nothing is ever evaluated as Python.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|`(?P<quoted>[^`]+)`|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|==|\*\*|!=|[-+*/()<>=]))"
)
HINT = "write a linear constraint such as 'tenure <= 12 * age', with a name of several words in `backticks`"


class Linear(NamedTuple):
    """The sum of coefficients times columns is at most the limit or, if `equal`, is the limit.

    `follower` is the column that is the left side of an equation: it follows from those of the right side.
    """

    coefficients: Mapping[str, float]
    limit: float
    equal: bool
    text: str
    follower: str | None = None


@dataclass(frozen=True)
class LinearRows:
    """Rows z with matrix z <= limits. An equation is two of these.

    `texts` are the constraints as they were written, and `followers` the columns that follow from others.
    """

    matrix: np.ndarray
    limits: np.ndarray
    texts: list[str] = field(default_factory=list)
    followers: list[int] = field(default_factory=list)

    @classmethod
    def none(cls, n_features: int) -> LinearRows:
        return cls(np.zeros((0, n_features)), np.zeros(0))

    @classmethod
    def of(cls, constraints: Sequence[Linear], numbers: Mapping[str, int]) -> LinearRows:
        """The rows of constraints, where each column has a number."""
        matrix: list[np.ndarray] = []
        limits: list[float] = []
        texts: list[str] = []
        for one in constraints:
            row = np.zeros(len(numbers))
            for name, coefficient in one.coefficients.items():
                row[numbers[name]] = coefficient
            for sign in (1.0, -1.0) if one.equal else (1.0,):
                matrix.append(sign * row)
                limits.append(sign * one.limit)
                texts.append(one.text)
        followers = [numbers[one.follower] for one in constraints if one.follower is not None]
        return cls(np.array(matrix).reshape(len(matrix), len(numbers)), np.array(limits), texts, followers)

    def excess(self, X: np.ndarray) -> np.ndarray:
        """By how much each row of X violates each constraint, relative to the size of its terms: (n_rows, n_limits).

        It is positive only where it exceeds what rounding may cost.
        """
        size = np.abs(X) @ np.abs(self.matrix).T + np.abs(self.limits)
        return X @ self.matrix.T - self.limits - ROUNDING * size

    def violated(self, x: np.ndarray) -> list[str]:
        """The constraints that a row violates."""
        broken = np.flatnonzero(self.excess(x[None])[0] > 0)
        return list(dict.fromkeys(self.texts[number] for number in broken))


# What rounding may cost a sum, as a share of the sizes of its terms.
ROUNDING = 1e-9


def parse(text: str, columns: Collection[str]) -> list[Linear]:
    """The constraints that a text states about these columns; ValueError says what of it cannot be read."""
    return _Reader(text, columns).read()


class _Expression(NamedTuple):
    coefficients: dict[str, float]
    constant: float

    def times(self, factor: float) -> _Expression:
        return _Expression({name: factor * value for name, value in self.coefficients.items()}, factor * self.constant)

    def plus(self, other: _Expression) -> _Expression:
        total = dict(self.coefficients)
        for name, value in other.coefficients.items():
            total[name] = total.get(name, 0.0) + value
        return _Expression(total, self.constant + other.constant)


class _Reader:
    """Reads one text from left to right."""

    def __init__(self, text: str, columns: Collection[str]):
        self.text, self.columns = text, columns
        self.tokens: list[tuple[str, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = TOKEN.match(text, at)
            if found is None:
                raise self.error(f"{text[at:].split()[0]!r} cannot be read")
            kind = found.lastgroup or ""
            self.tokens.append(("name" if kind == "quoted" else kind, found[kind]))
            at = found.end()
        self.place = 0

    @property
    def single(self) -> list[_Expression]:
        """The columns alone."""
        return [_Expression({name: 1.0}, 0.0) for name in self.columns]

    def error(self, what: str) -> ValueError:
        return ValueError(f"The constraint {self.text!r} is not understood: {what}; {HINT}.")

    def next(self) -> str | None:
        """The sign that comes next, if there is one."""
        kind, value = self.tokens[self.place] if self.place < len(self.tokens) else ("", "")
        return value if kind == "sign" else None

    def read(self) -> list[Linear]:
        sides, signs = [self.sum()], []
        while self.place < len(self.tokens):
            sign = self.next()
            if sign in ("<", ">"):
                raise self.error(f"'{sign}' has no nearest row, so that '{sign}=' is meant")
            if sign not in ("<=", ">=", "=", "=="):
                raise self.error(f"{self.tokens[self.place][1]!r} is not expected there")
            self.place += 1
            signs.append(sign)
            sides.append(self.sum())
        if not signs:
            raise self.error("it compares nothing")
        found = []
        for left, sign, right in zip(sides, signs, sides[1:]):
            low, high = (right, left) if sign == ">=" else (left, right)
            difference = low.plus(high.times(-1.0))
            coefficients = {name: value for name, value in difference.coefficients.items() if value != 0}
            if not coefficients:
                raise self.error("no column is left in it")
            equal = sign in ("=", "==")
            follower = next(iter(left.coefficients)) if equal and left in self.single else None
            found.append(Linear(coefficients, -difference.constant, equal, self.text.strip(), follower))
        return found

    def sum(self) -> _Expression:
        total = self.product()
        while (sign := self.next()) in ("+", "-"):
            self.place += 1
            total = total.plus(self.product().times(1.0 if sign == "+" else -1.0))
        return total

    def product(self) -> _Expression:
        result = self.factor()
        while (sign := self.next()) in ("*", "/", "**"):
            self.place += 1
            other = self.factor()
            if sign == "**" or (other.coefficients and (sign == "/" or result.coefficients)):
                raise self.error("only linear constraints have a nearest row that can be proven")
            if sign == "/" and other.constant == 0:
                raise self.error("it divides by 0")
            if sign == "/":
                result = result.times(1.0 / other.constant)
            else:
                result = other.times(result.constant) if other.coefficients else result.times(other.constant)
        return result

    def factor(self) -> _Expression:
        if self.place >= len(self.tokens):
            raise self.error("it ends too early")
        kind, value = self.tokens[self.place]
        self.place += 1
        if kind == "number":
            return _Expression({}, float(value))
        if kind == "name":
            if value not in self.columns:
                raise ValueError(f"The constraint {self.text!r} names {value!r}, {_unknown(value, self.columns)}.")
            return _Expression({value: 1.0}, 0.0)
        if value in ("+", "-"):
            return self.factor().times(1.0 if value == "+" else -1.0)
        if value == "(":
            inner = self.sum()
            if self.next() != ")":
                raise self.error("a parenthesis is not closed")
            self.place += 1
            return inner
        raise self.error(f"{value!r} is not expected there")


def _unknown(name: str, columns: Collection[str]) -> str:
    near = difflib.get_close_matches(name, list(columns), 1)
    return "which is not a column" + (f"; did you mean {near[0]!r}?" if near else "")
