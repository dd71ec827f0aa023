"""A fitted ℓ-DEP as a program of primitive steps: the portable form, from which ONNX, C and the page are printed.

The steps have a fixed order, so that a program is stored as their arguments: names, texts and numbers, which are JSON.
A printer knows these steps, and neither the encoder nor the estimator that they come from.

    number, category, date,     A cell becomes a number, NaN if it is missing. A category is found by its spelling,
    text                        else by its value; a date is its seconds since the beginning of 2000. A text becomes one
                                number per term: 1 if it contains the term, else 0.
    value, equals, missing,     The number of a column becomes a feature: itself, whether it is a given one, whether
    year, ..., hour, contains   there is none, a part of a date, or the number of a term.
    fill, standardise           A feature gets a value where it is NaN; then (x - mean) / scale.
    pieces, maximum             The largest of each group of affine functions slope . (x - center) + offset.
    combine                     The maxima of a member, with signs: tau with two classes, else one score per class.
    vote                        tau is clipped to [-1, 1], or the sparsemax is taken of the scores.
    sum, factors                The members, with weights; factors of the shares of the votes.
    threshold                   Decision values. With two classes the sign decides, else the largest.
    link                        Probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ldep.model import FittedModel, Link, Maxima, folded, form_of

DATE_FORMS = ("YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY", "DD Mon YYYY", "YYYYMMDD")
DATE_PARTS = ("year", "month", "weekday", "days", "hour")


class NotExportable(ValueError):
    """A model has no exported form, or not the one that was asked for."""


class Spelling(NamedTuple):
    """A text that stands for a category, the number that the text reads as, if it is one, and the category's place."""

    text: str
    value: float | None
    category: int


class Term(NamedTuple):
    """A spelling of a term that texts contain: a whole "word", the "beginning" of one, or a "part" anywhere.

    `place` is the place of the term. A word is a run of letters, digits and marks, but those of `Letters.apart`.
    """

    text: str
    kind: str
    place: int


class Letters(NamedTuple):
    """How the characters of texts are compared: what stands for another one, and ranges that belong to no word."""

    same: dict[str, str]
    apart: list[tuple[int, int]]


@dataclass(frozen=True)
class Column:
    """A raw column, and the step ("number", "category", "date" or "text") that reads its cells.

    `form` is one of `DATE_FORMS`. Categories have one number each. A cell is the first spelling with its text, else the
    first one with its value.
    """

    name: str
    read: str
    form: str = ""
    categories: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    spellings: list[Spelling] = field(default_factory=list)
    terms: list[Term] = field(default_factory=list)


class Feature(NamedTuple):
    """The steps of one feature: the column it comes from, the step that makes it, and what fills and scales it.

    `equals` is the number with which "equals" compares, or the place of the term that "contains" looks for.
    """

    name: str
    column: int
    step: str
    equals: float
    fill: float
    mean: float
    scale: float


class Reading(NamedTuple):
    """How any cell is read: texts that are missing cells, words that are numbers, the largest number, and letters."""

    missing: list[str]
    words: dict[str, float]
    largest: float
    letters: Letters = Letters({}, [])


class ProgramLink(NamedTuple):
    """Probabilities: the logistic function, or with more classes the softmax, of slope f(decision + shift) + intercept.

    `kind` is f: "identity"; "asinh"; "log_odds" of the share of votes; "log_shares", the logarithms of the shares of
    votes; or "leads", the asinh of the lead of each class over the best other one. See `ldep.model._link`.
    """

    kind: str
    slope: float
    intercepts: list[float]
    shift: list[float]


@dataclass(frozen=True)
class Program:
    """The steps of a model. Pieces are listed by member, then by maximum.

    There is one decision value with two classes, else one per class; this is n_values below. Without columns a row is
    its features.
    """

    classes: np.ndarray
    center: np.ndarray
    slopes: np.ndarray
    offsets: np.ndarray
    sizes: np.ndarray  # (n_members, n_maxima): number of pieces
    signs: np.ndarray  # (n_values, n_maxima): what combines the maxima of a member
    vote: str | None  # "clip", "sparsemax", or None
    weights: np.ndarray
    factors: np.ndarray | None  # (n_values,): of the shares of votes
    thresholds: np.ndarray  # (n_values,): what is subtracted
    link: ProgramLink | None
    own_offsets: np.ndarray  # at the member's own centre, from which its contributions are measured
    shifts: np.ndarray  # (n_members, n_features): `center` minus the member's own centre
    columns: list[Column] = field(default_factory=list)
    features: list[Feature] = field(default_factory=list)
    reading: Reading | None = None

    @property
    def n_features(self) -> int:
        return self.slopes.shape[1]

    @property
    def starts(self) -> np.ndarray:
        """First piece of each maximum, and the number of all pieces."""
        return np.concatenate([[0], np.cumsum(self.sizes.ravel())])

    def read_as(self, *steps: str) -> list[Column]:
        """The columns whose cells these steps read, those of the first step first."""
        return [column for step in steps for column in self.columns if column.read == step]

    def of_features(self, argument: str) -> np.ndarray:
        """An argument of the steps of all features."""
        return np.array([getattr(feature, argument) for feature in self.features])

    def to_json(self) -> dict[str, Any]:
        """The program as plain values."""
        fields = asdict(self).items()
        values = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields}
        link, reading = (None if part is None else part._asdict() for part in (self.link, self.reading))
        features = [feature._asdict() for feature in self.features]
        return {**values, "link": link, "reading": reading, "features": features}


def fitted_model(estimator: Any) -> FittedModel:
    """Return the fitted ℓ-DEP of an estimator; NotExportable if it has none."""
    model = getattr(estimator, "model_", None)
    if not isinstance(model, FittedModel):
        raise NotExportable(
            f"{type(estimator).__name__} cannot be exported; LDEPClassifier, LDEPClassifierCV and "
            "StreamingLDEPClassifier can."
        )
    if model.takes_missing.any():
        raise NotExportable(
            "A model that was trained on rows with missing values has no exported form. Fill the values in before the "
            "training, in a pipeline."
        )
    return model


def program_of(model: FittedModel, classes: np.ndarray) -> Program:
    """Return the steps of a model, from its features."""
    center = model.members[0].center
    members = _with_common_signs(model.members)
    slopes = [np.vstack(member.slopes) for member in members]
    own_offsets = [np.concatenate(member.offsets) for member in members]
    shifts = np.array([center - member.center for member in members])
    thresholds = folded(model.thresholds[None]).ravel()
    return Program(
        classes=classes,
        center=center,
        slopes=np.vstack(slopes),
        offsets=np.concatenate([own + w @ shift for own, w, shift in zip(own_offsets, slopes, shifts)]),
        sizes=np.array([member.sizes for member in members]),
        signs=np.atleast_2d(folded(members[0].signs.T).T),
        vote=form_of(model.n_classes).vote if model.votes else None,
        weights=model.weights,
        factors=model.factors,
        thresholds=thresholds,
        link=None if model.link is None else _link(model.link, thresholds),
        own_offsets=np.concatenate(own_offsets),
        shifts=shifts,
    )


def _with_common_signs(members: Sequence[Maxima]) -> Sequence[Maxima]:
    """The same members with the same signs: those of all, and one piece of zeros for a maximum that a member lacks."""
    first = members[0]
    if all(np.array_equal(member.signs, first.signs) for member in members):
        return members
    columns: list[np.ndarray] = []
    places = []
    for member in members:
        open_places: list[int] = []
        for column in member.signs.T:
            same = [k for k, other in enumerate(columns) if k not in open_places and np.array_equal(other, column)]
            if not same:
                columns.append(column)
            open_places.append(same[0] if same else len(columns) - 1)
        places.append(open_places)
    aligned = []
    for member, own in zip(members, places):
        slopes = [np.zeros((1, member.n_features)) for _ in columns]
        offsets, intercepts = ([np.zeros(1) for _ in columns] for _ in range(2))
        for g, place in enumerate(own):
            slopes[place], offsets[place], intercepts[place] = (
                part[g] for part in (member.slopes, member.offsets, member.intercepts)
            )
        signs = np.column_stack(columns)
        aligned.append(replace(member, slopes=slopes, offsets=offsets, intercepts=intercepts, signs=signs))
    return aligned


def check_no_text(program: Program) -> None:
    """Raise NotExportable if a program reads texts, which not every printer knows."""
    for column in program.read_as("text"):
        raise NotExportable(
            f"The column '{column.name}' is a text, which only ONNX can read: write the model as ONNX, or leave the "
            "column out of the training."
        )


def _link(link: Link, thresholds: np.ndarray) -> ProgramLink:
    """A link as a function of the decision values; of two classes, of the one that they have."""
    shift = thresholds.tolist()
    if len(shift) > 1:
        return ProgramLink(link.kind, link.slope, link.intercepts.tolist(), shift)
    kind, slope = ("asinh", 2.0 * link.slope) if link.kind == "leads" else (link.kind, link.slope)
    return ProgramLink(kind, slope, [float(link.intercepts[1] - link.intercepts[0])], shift)
