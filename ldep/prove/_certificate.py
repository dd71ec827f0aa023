"""Questions about models, as certificates state them, and the files that carry the proofs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ldep.export import program_of
from ldep.model import FittedModel, Maxima
from ldep.prove.verify import FORMAT, NUMBERS, Problem


def numbers_of(model: FittedModel) -> dict[str, Any]:
    """The numbers of a model, as its portable form has them.

    Features with missing values count twice: the second time as marks, which are 1 where the value is missing.
    """
    marked = np.flatnonzero(model.takes_missing)
    if marked.size:
        center = model.members[0].center
        model = FittedModel(
            [_with_marks(member, marked, center) for member in model.members],
            model.weights,
            model.votes,
            model.thresholds,
            model.factors,
        )
    program = program_of(model, np.arange(model.n_classes)).to_json()
    return {name: program[name] for name in NUMBERS}


def _with_marks(member: Maxima, marked: np.ndarray, center: np.ndarray) -> Maxima:
    """The member over features and marks, for rows whose missing values are filled with those of the centre."""
    slopes = []
    for g, own in enumerate(member.slopes):
        marks = np.zeros((len(own), len(marked)))
        if member.missing is not None:
            places = np.searchsorted(marked, member.missing.features)
            marks[:, places] = member.missing.added[g]
        marks += own[:, marked] * (member.center - center)[marked]
        slopes.append(np.hstack([own, marks]))
    center = np.concatenate([member.center, np.zeros(len(marked))])
    intercepts = [offset - w @ center for offset, w in zip(member.offsets, slopes)]
    return Maxima(slopes, member.offsets, intercepts, center, member.signs)


@dataclass
class Inputs:
    """The allowed rows of a question: inputs with ranges and grids, choices, linear rows, and a ball."""

    names: list[str] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    grids: list[tuple[float, float] | None] = field(default_factory=list)
    choices: list[tuple[list[int], np.ndarray]] = field(default_factory=list)
    rows: list[tuple[list[tuple[int, float]], float]] = field(default_factory=list)
    ball: dict[str, Any] | None = None

    def add(self, name: str, low: float, high: float, grid: tuple[float, float] | None = None) -> int:
        """Add an input, and return its place."""
        self.names.append(name)
        self.low.append(float(low))
        self.high.append(float(high))
        self.grids.append(grid)
        return len(self.names) - 1

    def add_choice(self, places: Sequence[int], table: np.ndarray) -> None:
        """Let inputs take the values of one row of the table together."""
        self.choices.append((list(places), np.asarray(table, dtype=float)))


# A feature of a copy: (sum of coefficient times input + constant) / scale.
Feature = dict[str, Any]


def feature(terms: Sequence[tuple[int, float]], constant: float = 0.0, scale: float = 1.0) -> Feature:
    terms = [(int(place), float(factor)) for place, factor in terms]
    return {"terms": [list(term) for term in terms], "constant": float(constant), "scale": float(scale)}


@dataclass
class Question:
    """Models, the rows that are asked about, and copies of the models at these rows."""

    models: list[dict[str, Any]]
    inputs: Inputs
    copies: list[dict[str, Any]] = field(default_factory=list)
    bridges: list[tuple[int, int]] = field(default_factory=list)

    def add_copy(self, model: int, features: Sequence[Feature]) -> int:
        self.copies.append({"model": model, "features": list(features)})
        return len(self.copies) - 1

    def to_json(self) -> dict[str, Any]:
        inputs = self.inputs
        return {
            "format": FORMAT,
            "models": self.models,
            "inputs": [
                {"name": name, "low": low, "high": high, "grid": None if grid is None else list(grid)}
                for name, low, high, grid in zip(inputs.names, inputs.low, inputs.high, inputs.grids)
            ],
            "choices": [{"inputs": places, "table": table.tolist()} for places, table in inputs.choices],
            "rows": [{"terms": [list(term) for term in terms], "at_most": bound} for terms, bound in inputs.rows],
            "ball": inputs.ball,
            "copies": self.copies,
            "bridges": [list(bridge) for bridge in self.bridges],
        }

    def problem(self) -> Problem:
        return Problem(self.to_json())

    def bridge_copies(self, first: int, second: int) -> None:
        """Compare the maxima of two copies of one model with each other, in both directions."""
        counts = [Problem({**self.to_json(), "bridges": [], "copies": self.copies[:k]}) for k in (first, first + 1)]
        one = range(len(counts[0].pieces), len(counts[1].pieces))
        start = len(Problem({**self.to_json(), "bridges": [], "copies": self.copies[:second]}).pieces)
        for number, g in enumerate(one):
            self.bridges += [(g, start + number), (start + number, g)]


def condition(terms: Sequence[tuple[int, int, float]], constant: float = 0.0) -> dict[str, Any]:
    """The sum of factor times the score of a class of a copy, plus a constant."""
    return {"terms": [[copy, label, float(factor)] for copy, label, factor in terms], "constant": float(constant)}


def written(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def write(path: Path, certificate: dict[str, Any]) -> None:
    """Write a certificate."""
    path.write_text(json.dumps(certificate) + "\n", encoding="utf-8")
