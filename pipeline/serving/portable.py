"""The numbers of a served model: all that an exported form needs to answer raw rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifierCV
from ldep.estimators.linear import LinearPiecesClassifier
from ldep.export.piecewise import Link, NotExportable, Piecewise, piecewise
from pipeline.encoding import columns
from pipeline.encoding.columns import Date, FittedColumn, Nominal
from pipeline.serving import calibration
from pipeline.serving.calibration import Sigmoid, Softmax

if TYPE_CHECKING:
    from pipeline.serving.served_model import ServedModel


@dataclass(frozen=True)
class Column:
    """A raw column that the model uses, and the position of its first feature. A nominal column has categories."""

    fitted: FittedColumn
    first: int

    @property
    def name(self) -> str:
        return self.fitted.name

    @property
    def kind(self) -> str:
        return self.fitted.kind

    @property
    def categories(self) -> list[str] | None:
        return None if self.fitted.categories is None else list(self.fitted.categories)

    @property
    def values(self) -> list[float]:
        """The number of each category: its index, its share, or the position of its feature."""
        return self.fitted.values.tolist() if isinstance(self.fitted, Nominal) else []

    @property
    def features(self) -> slice:
        return slice(self.first, self.first + len(columns.labels([self.fitted])))

    def recipe(self) -> list[tuple[str, float]]:
        """How each feature follows from the number of a cell.

        `value`: the number itself. `equals`: whether it is this category. `missing`: whether there is none. Other words
        are parts of a date.
        """
        if isinstance(self.fitted, Date):
            steps = [(part, 0.0) for part in self.fitted.parts]
        elif isinstance(self.fitted, Nominal) and self.fitted.encoding == "one_hot":
            steps = [("equals", float(number)) for number in self.fitted.compared]
        else:
            steps = [("value", 0.0)]
        return [*steps, *([("missing", 0.0)] if self.fitted.indicator else [])]


class Feature(NamedTuple):
    """The position of the column of a feature, and how the feature follows from its number (`Column.recipe`)."""

    column: int
    kind: str
    code: float


@dataclass(frozen=True)
class RawColumns:
    """The raw columns in the order of the model's features; per feature what fills it, and what standardises it."""

    columns: list[Column]
    fill: np.ndarray
    mean: np.ndarray
    scale: np.ndarray

    def of_kind(self, kind: str) -> list[Column]:
        return [column for column in self.columns if column.kind == kind]

    @property
    def features(self) -> list[Feature]:
        return [Feature(k, *step) for k, column in enumerate(self.columns) for step in column.recipe()]


@dataclass(frozen=True)
class Portable(RawColumns):
    """The raw columns, and the model of two classes with its probability."""

    model: Piecewise


@dataclass(frozen=True)
class PortableClasses(RawColumns):
    """The raw columns, and a model of more classes. `softmax` gives its probabilities, if it has none of its own."""

    estimator: Any
    classes: np.ndarray
    softmax: Softmax | None


def raw_columns(served: ServedModel) -> RawColumns:
    """The columns of a served model; NotExportable names a step of its pipeline that is not understood."""
    encoder = served.encoder
    fill = np.asarray(encoder.fill_, dtype=np.float64)[np.asarray(encoder.kept_, dtype=bool)]
    mean, scale = np.zeros(len(fill)), np.ones(len(fill))
    for name, step in served.rest.steps[:-1]:
        if isinstance(step, SimpleImputer):
            fill = np.where(np.isnan(fill), step.statistics_, fill)
        elif isinstance(step, StandardScaler):
            mean, scale = step.mean_, step.scale_
        else:
            raise NotExportable(f"The step '{name}' of the pipeline ({type(step).__name__}) cannot be exported.")
    used: list[Column] = []
    sources = encoder.source_columns
    for fitted in encoder.fitted_:
        if fitted.name in sources:
            used.append(Column(fitted, sources.index(fitted.name)))
    return RawColumns(used, fill, mean, scale)


def portable(served: ServedModel) -> Portable:
    """Return the numbers of a served model of two classes; NotExportable names what has no exported form."""
    model = piecewise(served.model)
    classes = np.array(served.classes, dtype=object)
    threshold = model.threshold + served.threshold
    return Portable(
        **vars(raw_columns(served)),
        model=replace(model, classes=classes, link=_link(served, model), threshold=threshold),
    )


def portable_classes(served: ServedModel) -> PortableClasses:
    """Return what ONNX needs of a served model of more than two classes; NotExportable if it is not an ℓ-DEP."""
    if not isinstance(served.model, (LDEPClassifierCV, LinearPiecesClassifier)):
        raise NotExportable(f"{type(served.model).__name__} cannot be exported; an ℓ-DEP can.")
    softmax = served.link if isinstance(served.link, Softmax) else None
    if calibration.is_calibrated(served.model):
        softmax = None
    classes = np.array(served.classes, dtype=object)
    return PortableClasses(**vars(raw_columns(served)), estimator=served.model, classes=classes, softmax=softmax)


def _link(served: ServedModel, model: Piecewise) -> Link | None:
    """The probability of a served model: its own if it is calibrated, else the fitted one."""
    if calibration.is_calibrated(served.model):
        return model.link
    return Link("identity", *served.link) if isinstance(served.link, Sigmoid) else None
