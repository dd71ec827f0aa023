"""Which features of a model come from which raw column, and what fills and standardises them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from ldep.export import NotExportable
from ldep.table import FittedColumn, Range


class RawColumn(NamedTuple):
    """A raw column that the model uses, and its features."""

    fitted: FittedColumn
    features: slice


@dataclass(frozen=True)
class RawColumns:
    """The raw columns in the order of the model's features; per feature what fills it, and what standardises it.

    `ranges` has what the training rows hold in each column of numbers.
    """

    columns: list[RawColumn]
    fill: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    ranges: Mapping[str, Range]

    @classmethod
    def of(cls, pipeline: Any) -> RawColumns:
        """The columns of a fitted pipeline; NotExportable names a step that is not understood."""
        encoder = pipeline[0]
        fill = np.asarray(encoder.fill_, dtype=np.float64)[np.asarray(encoder.kept_, dtype=bool)]
        mean, scale = encoder.scaling
        for name, step in pipeline.steps[1:-1]:
            if isinstance(step, SimpleImputer):
                fill = np.where(np.isnan(fill), mean + scale * step.statistics_, fill)
            elif isinstance(step, StandardScaler):
                mean, scale = mean + scale * step.mean_, scale * step.scale_
            else:
                raise NotExportable(f"The step '{name}' of the pipeline ({type(step).__name__}) cannot be exported.")
        used, sources = [], encoder.source_columns
        for fitted in encoder.fitted_:
            if fitted.name in sources:
                first = sources.index(fitted.name)
                used.append(RawColumn(fitted, slice(first, first + sources.count(fitted.name))))
        return cls(used, fill, mean, scale, encoder.ranges_)
