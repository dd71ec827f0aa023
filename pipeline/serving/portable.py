"""The numbers of a served model: all that an exported form needs to answer raw rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from ldep.export.piecewise import Link, NotExportable, Piecewise, piecewise
from pipeline.serving import calibration
from pipeline.serving.calibration import Sigmoid

if TYPE_CHECKING:
    from pipeline.serving.served_model import ServedModel


@dataclass(frozen=True)
class Column:
    """A raw column that the model uses. `fill` replaces missing cells; a nominal column has categories."""

    name: str
    categories: list[str] | None
    fill: float


@dataclass(frozen=True)
class Portable:
    """Columns in the order of the model's features, the scaler, and the model with its probability."""

    columns: list[Column]
    mean: np.ndarray
    scale: np.ndarray
    model: Piecewise

    @property
    def numeric(self) -> list[Column]:
        return [column for column in self.columns if column.categories is None]

    @property
    def nominal(self) -> list[Column]:
        return [column for column in self.columns if column.categories is not None]

    @property
    def fill(self) -> np.ndarray:
        return np.array([column.fill for column in self.columns])


class RawColumns(NamedTuple):
    """The raw columns in the order of the model's features, and the mean and the scale that standardise them."""

    columns: list[Column]
    mean: np.ndarray
    scale: np.ndarray


def raw_columns(served: ServedModel) -> RawColumns:
    """The columns of a served model; NotExportable names a step of its pipeline that is not understood."""
    encoder = served.encoder
    if encoder.labels_ != encoder.columns_:
        raise NotExportable("Columns that become several features cannot be exported yet.")
    fill = np.asarray(encoder.fill_, dtype=np.float64)[np.asarray(encoder.kept_)]
    mean, scale = np.zeros(len(fill)), np.ones(len(fill))
    for name, step in served.rest.steps[:-1]:
        if isinstance(step, SimpleImputer):
            fill = np.where(np.isnan(fill), step.statistics_, fill)
        elif isinstance(step, StandardScaler):
            mean, scale = step.mean_, step.scale_
        else:
            raise NotExportable(f"The step '{name}' of the pipeline ({type(step).__name__}) cannot be exported.")
    categories = compress(encoder.categories_, encoder.kept_)
    columns = [Column(name, known, float(value)) for name, known, value in zip(served.columns, categories, fill)]
    return RawColumns(columns, mean, scale)


def portable(served: ServedModel) -> Portable:
    """Return the numbers of a served model; NotExportable names what has no exported form."""
    model = piecewise(served.model)
    classes = np.array(served.classes, dtype=object)
    return Portable(*raw_columns(served), replace(model, classes=classes, link=_link(served, model)))


def _link(served: ServedModel, model: Piecewise) -> Link | None:
    """The probability of a served model: its own if it is calibrated, else the fitted one."""
    if calibration.is_calibrated(served.model):
        return model.link
    return Link("identity", *served.link) if isinstance(served.link, Sigmoid) else None
