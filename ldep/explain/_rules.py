"""A model as a sheet of rules.

With one maximum per class, the class k is predicted where one of its pieces is above all pieces of the other classes.
Each such region is a rule: a list of linear conditions that hold together. Rules of one class are alternatives.
Conditions that the others imply are removed by linear programs, and so are rules that nothing can satisfy.

With several maxima per class there would be one rule per combination of their pieces. The sheet then has one score per
class, the largest of some formulas minus the largest of others, without the formulas that are nowhere the largest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from ldep.explain._regions import Regions, box_of, has_regions, needed_conditions, without_dead_pieces
from ldep.model import FittedModel, Maxima, class_numbers, folded, form_of


class Condition(NamedTuple):
    """coefficients . x >= bound, or > bound if strict."""

    coefficients: np.ndarray
    bound: float
    strict: bool

    def holds(self, X: np.ndarray) -> np.ndarray:
        value = X @ self.coefficients - self.bound
        return value > 0 if self.strict else value >= 0

    def rounded(self, digits: int) -> Condition:
        """The condition with all numbers at this number of digits, relative to its largest coefficient."""
        size = np.abs(self.coefficients).max()
        numbers = [float(f"{value / size:.{digits}g}") for value in (*self.coefficients, self.bound)]
        return Condition(np.array(numbers[:-1]), numbers[-1], self.strict)


class Rule(NamedTuple):
    """All conditions hold: the class is predicted."""

    label: object
    conditions: list[Condition]

    def holds(self, X: np.ndarray) -> np.ndarray:
        fulfilled = np.ones(len(X), dtype=bool)
        for condition in self.conditions:
            fulfilled &= condition.holds(X)
        return fulfilled


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A model to print and to read.

    Attributes
    ----------
    names : list of str
        Names of the features.
    covers : str
        Which rows the sheet decides as `predict` does.
    units : dict
        Units of features.
    digits : int
        Digits of the printed numbers.
    max_terms : int
        Number of features that a printed condition names.
    size : ndarray of shape (n_features,)
        Typical size of a change of each feature, by which terms are ordered.
    """

    names: list[str]
    covers: str = "These rules decide every row as predict does."
    units: dict = field(default_factory=dict)
    digits: int = 4
    max_terms: int = 8
    size: np.ndarray = field(default_factory=lambda: np.ones(1), repr=False)

    def predict(self, X) -> np.ndarray:
        """The classes of rows, by the numbers in full precision."""
        raise NotImplementedError

    def predict_as_printed(self, X) -> np.ndarray:
        """The classes of rows, by the numbers with the digits that are printed, and all terms."""
        raise NotImplementedError

    def with_agreement(self, X: np.ndarray, labels: np.ndarray) -> Self:
        """The sheet with a statement of how many of these rows have their class with the digits that are printed."""
        agree = int((self.predict_as_printed(X) == labels).sum())
        covers = (
            f"These rules decide every row in the box of the {len(X)} given rows as predict does. "
            f"With the printed digits, and all terms, they agree with it on {agree} of them."
        )
        return replace(self, covers=covers)

    def terms(self, coefficients: np.ndarray) -> str:
        """A linear function, its largest terms first."""
        weight = np.abs(coefficients) * self.size
        order = [f for f in np.argsort(-weight, kind="stable") if weight[f] > 0]
        terms: list[str] = []
        for f in order[: self.max_terms]:
            value = coefficients[f]
            sign = ("- " if value < 0 else "+ ") if terms else ("-" if value < 0 else "")
            unit = f" [{self.units[self.names[f]]}]" if self.names[f] in self.units else ""
            terms.append(f"{sign}{abs(value):.{self.digits}g} {self.names[f]}{unit}")
        if len(order) > self.max_terms:
            terms.append(f"+ ({len(order) - self.max_terms} smaller terms)")
        return " ".join(terms) or "0"


@dataclass(frozen=True, kw_only=True)
class RuleSheet(Sheet):
    """The rules of a model with one maximum per class; print it to read them.

    Attributes
    ----------
    rules : list of Rule
        The rules. A row that satisfies one of them has its class.
    default : class
        The class of all other rows.
    names, covers, units, digits, max_terms, size
        As for `Sheet`.
    """

    rules: list[Rule]
    default: object

    def predict(self, X) -> np.ndarray:
        return self._decide(self.rules, np.asarray(X, dtype=float))

    def predict_as_printed(self, X) -> np.ndarray:
        rounded = [
            Rule(rule.label, [condition.rounded(self.digits) for condition in rule.conditions]) for rule in self.rules
        ]
        return self._decide(rounded, np.asarray(X, dtype=float))

    def _decide(self, rules: list[Rule], X: np.ndarray) -> np.ndarray:
        labels = np.array([self.default, *(rule.label for rule in rules)])
        result = np.repeat(labels[:1], len(X))
        for rule, label in zip(rules, labels[1:]):
            result[rule.holds(X)] = label
        return result

    def __str__(self) -> str:
        lines = []
        for number, rule in enumerate(self.rules):
            lines.append(f"{'If' if number == 0 else 'Or if'} all of these hold, the class is {rule.label}:")
            lines += [f"    {self._condition(condition)}" for condition in rule.conditions] or ["    (always)"]
        otherwise = "Otherwise the" if self.rules else "The"
        lines += [f"{otherwise} class is {self.default}.", self.covers]
        return "\n".join(lines)

    def _condition(self, condition: Condition) -> str:
        condition = condition.rounded(self.digits)
        sign = ">" if condition.strict else ">="
        return f"{self.terms(condition.coefficients)} {sign} {condition.bound:.{self.digits}g}"


class Largest(NamedTuple):
    """The largest of some formulas, coefficients . x + constants, and what it counts in the score of each class."""

    coefficients: np.ndarray
    constants: np.ndarray
    counts: np.ndarray

    def rounded(self, digits: int) -> Largest:
        """The same with all numbers at this number of digits."""
        coefficients, constants = (
            np.array([float(f"{value:.{digits}g}") for value in part.ravel()]).reshape(part.shape)
            for part in (self.coefficients, self.constants)
        )
        return Largest(coefficients, constants, self.counts)


@dataclass(frozen=True, kw_only=True)
class ScoreSheet(Sheet):
    """The scores of a model with several maxima per class; print it to read them.

    Attributes
    ----------
    maxima : list of Largest
        The maxima of which the scores consist.
    labels : ndarray of shape (n_classes,)
        The classes. The one with the largest score is predicted.
    names, covers, units, digits, max_terms, size
        As for `Sheet`.
    """

    maxima: list[Largest]
    labels: np.ndarray

    def predict(self, X) -> np.ndarray:
        return self._decide(self.maxima, np.asarray(X, dtype=float))

    def predict_as_printed(self, X) -> np.ndarray:
        return self._decide([largest.rounded(self.digits) for largest in self.maxima], np.asarray(X, dtype=float))

    def _decide(self, maxima: list[Largest], X: np.ndarray) -> np.ndarray:
        values = [(X @ largest.coefficients.T + largest.constants).max(axis=1) for largest in maxima]
        scores = np.column_stack(values) @ np.array([largest.counts for largest in maxima])
        return self.labels[class_numbers(folded(scores))]

    def __str__(self) -> str:
        lines = ["Compute the score of each class. The class with the largest score is predicted."]
        for k, label in enumerate(self.labels):
            own = [largest for largest in self.maxima if largest.counts[k] != 0]
            for number, largest in enumerate(sorted(own, key=lambda one: -one.counts[k])):
                count = largest.counts[k]
                times = "" if abs(count) == 1 else f"{abs(count):.{self.digits}g} times "
                sign = "  minus" if count < 0 else "  plus"
                lines.append(f"{sign if number else f'The score of {label} is'} {times}the largest of")
                rounded = largest.rounded(self.digits)
                for coefficients, constant in zip(rounded.coefficients, rounded.constants):
                    end = f"{'-' if constant < 0 else '+'} {abs(constant):.{self.digits}g}"
                    lines.append(f"    {self.terms(coefficients)} {end}")
        return "\n".join([*lines, self.covers])


def rule_sheet(
    model: FittedModel, classes: np.ndarray, names: list[str], rows: np.ndarray | None, scaler=None, **shown
) -> Sheet:
    """The rules of all classes but the one that takes the most conditions, which is the default; or the scores.

    With rows they hold in the smallest box that contains these, and the sheet says how well its printed digits agree.
    `shown` are the units, the digits and the number of terms that a sheet prints.
    """
    low, high = box_of(rows, model.n_features)
    smaller = without_dead_pieces(model.maxima(), low, high)
    shown |= {"names": names, "size": np.ones(len(names))}
    sheet: Sheet
    if has_regions(model):
        by_class = [_rules_of_class(smaller, k, classes, low, high) for k in range(model.n_classes)]
        lengths = [sum(len(rule.conditions) for rule in rules) for rules in by_class]
        default = int(np.argmax(lengths))
        rules = [rule for k, rules in enumerate(by_class) if k != default for rule in rules]
        if scaler is not None:
            rules = [
                Rule(rule.label, [_unscaled(condition, scaler) for condition in rule.conditions]) for rule in rules
            ]
        sheet = RuleSheet(rules=rules, default=classes.tolist()[default], **shown)
    else:
        maxima = [
            _largest(slopes, offsets - slopes @ smaller.center, counts, scaler)
            for slopes, offsets, counts in zip(smaller.slopes, smaller.offsets, smaller.signs.T)
        ]
        sheet = ScoreSheet(maxima=maxima, labels=classes, **shown)
    if rows is None:
        return sheet
    raw = rows if scaler is None else scaler.inverse_transform(rows)
    size = raw.std(axis=0)
    labels = classes[class_numbers(model.decision(rows))]
    return replace(sheet, size=np.where(size > 0, size, 1e-300)).with_agreement(raw, labels)


def _largest(slopes: np.ndarray, constants: np.ndarray, counts: np.ndarray, scaler) -> Largest:
    """The largest of some formulas in the features before a StandardScaler, if there is one."""
    scale, mean = _scaling(scaler, slopes.shape[1])
    slopes = slopes / scale
    return Largest(slopes, constants - slopes @ mean, counts)


def _scaling(scaler, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """What a StandardScaler divides by, and what it subtracts before."""
    scale = np.ones(n_features) if scaler is None or scaler.scale_ is None else scaler.scale_
    mean = np.zeros(n_features) if scaler is None or scaler.mean_ is None else scaler.mean_
    return scale, mean


def _unscaled(condition: Condition, scaler) -> Condition:
    """The condition in the features before a StandardScaler."""
    scale, mean = _scaling(scaler, len(condition.coefficients))
    coefficients = condition.coefficients / scale
    return Condition(coefficients, condition.bound + float(coefficients @ mean), condition.strict)


def _rules_of_class(model: Maxima, k: int, classes: np.ndarray, low, high) -> list[Rule]:
    regions = Regions.of(model, k)
    others = np.repeat(
        [other for other in range(model.n_classes) if other != k],
        [len(model.offsets[other]) for other in range(model.n_classes) if other != k],
    )
    # Against a class that wins at equal scores, the score has to be larger.
    strict = (others > k) == form_of(model.n_classes).last_wins
    rules = []
    for A, b in zip(regions.differences, regions.offsets):
        needed = needed_conditions(A, b, low - model.center, high - model.center)
        if needed is not None:
            conditions = [
                Condition(A[j], float(A[j] @ model.center - b[j]), bool(strict[j])) for j in np.flatnonzero(needed)
            ]
            rules.append(Rule(classes.tolist()[k], conditions))
    return rules
