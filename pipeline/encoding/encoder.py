"""Raw rows to numbers: nominal values to codes in their declared order, missing cells to what was fitted."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.utils.validation import check_is_fitted

from pipeline.common.files import write_json
from pipeline.encoding.cells import is_missing


class RawEncoder(TransformerMixin, BaseEstimator):
    """Encode and impute a frame of raw rows, at training and when a model is served.

    A nominal value becomes its index in the column's declared categories; a numeric cell stays. Missing cells (None,
    NaN, '', '?', ...) take the value that scikit-learn's SimpleImputer fitted; so does a category that was never
    declared. A column without a value in any fitted row is dropped, as SimpleImputer does.

    Parameters
    ----------
    strategy : {"mean", "median", "most_frequent", "constant"}, default="mean"
    fill_value : float, default=0.0
        The value of strategy "constant".
    impute : bool, default=True
        False keeps missing cells as NaN (for an imputer fitted in each training fold), and drops no column.

    Examples
    --------
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "colour": pd.Categorical(["red", "blue", "red"])})
    >>> RawEncoder().fit_transform(frame).tolist()
    [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
    """

    def __init__(self, strategy: str = "mean", fill_value: float = 0.0, impute: bool = True) -> None:
        self.strategy = strategy
        self.fill_value = fill_value
        self.impute = impute

    def fit(self, X: pd.DataFrame, y: object = None) -> RawEncoder:
        self.columns_ = [str(name) for name in X.columns]
        self.categories_ = [
            [str(category) for category in X[name].cat.categories]
            if isinstance(X[name].dtype, pd.CategoricalDtype)
            else None
            for name in X.columns
        ]
        self.n_features_in_ = len(self.columns_)
        fill = np.full(self.n_features_in_, np.nan)
        if self.impute:
            # keep_empty_features keeps the statistics in step with the columns; the empty ones are dropped here.
            imputer = SimpleImputer(
                strategy=self.strategy,
                fill_value=self.fill_value if self.strategy == "constant" else None,
                keep_empty_features=True,
            )
            codes = self._codes(X)
            fill = imputer.fit(codes).statistics_.astype(np.float64)
            self.kept_ = (~np.isnan(codes).all(axis=0)).tolist()
        else:
            self.kept_ = [True] * self.n_features_in_
        self.fill_ = fill.tolist()
        return self

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        check_is_fitted(self)
        codes = self._codes(X)
        fill = np.asarray(self.fill_)
        return np.where(np.isnan(codes), fill, codes)[:, np.asarray(self.kept_)]

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        check_is_fitted(self)
        return np.array([name for name, kept in zip(self.columns_, self.kept_) if kept], dtype=object)

    def _codes(self, X: pd.DataFrame) -> np.ndarray:
        absent = [name for name in self.columns_ if name not in X.columns]
        if absent:
            raise ValueError(f"the rows have no column '{absent[0]}' ({len(absent)} of {len(self.columns_)} absent).")
        columns = [_column(X[name], categories) for name, categories in zip(self.columns_, self.categories_)]
        return np.column_stack(columns) if columns else np.empty((len(X), 0))

    def to_json(self) -> dict[str, Any]:
        """Return all that was fitted as plain values: no pickle is needed to serve it."""
        check_is_fitted(self)
        return {
            "strategy": self.strategy,
            "fill_value": self.fill_value,
            "impute": self.impute,
            "columns": [
                {
                    "name": name,
                    "kind": "numeric" if categories is None else "nominal",
                    **({} if categories is None else {"categories": categories}),
                    "fill": None if math.isnan(fill) else fill,
                    "kept": kept,
                }
                for name, categories, fill, kept in zip(self.columns_, self.categories_, self.fill_, self.kept_)
            ],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RawEncoder:
        encoder = cls(value["strategy"], value["fill_value"], value["impute"])
        columns = value["columns"]
        encoder.columns_ = [column["name"] for column in columns]
        encoder.categories_ = [column.get("categories") for column in columns]
        encoder.fill_ = [math.nan if column["fill"] is None else column["fill"] for column in columns]
        encoder.kept_ = [column["kept"] for column in columns]
        encoder.n_features_in_ = len(columns)
        return encoder

    def save(self, path: Path) -> None:
        write_json(path, self.to_json())

    @classmethod
    def load(cls, path: Path) -> RawEncoder:
        return cls.from_json(json.loads(path.read_text(encoding="utf-8")))


def _column(cells: pd.Series, categories: list[str] | None) -> np.ndarray:
    if categories is None:
        if pd.api.types.is_numeric_dtype(cells):
            values = cells.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = np.array([_number(cell, row, cells.name) for row, cell in enumerate(cells)], dtype=np.float64)
        infinite = np.flatnonzero(np.isinf(values))
        if infinite.size:
            raise ValueError(f"row {infinite[0]}, column '{cells.name}': the number is infinite.")
        return values
    codes = {category: float(code) for code, category in enumerate(categories)}
    if isinstance(cells.dtype, pd.CategoricalDtype):  # one look-up a category instead of one a cell
        table = np.array([*(_code(value, codes) for value in cells.cat.categories), np.nan])
        return table[cells.cat.codes.to_numpy()]
    return np.array([_code(cell, codes) for cell in cells], dtype=np.float64)


def _number(cell: object, row: int, column: object) -> float:
    if cell is pd.NA or is_missing(cell):
        return math.nan
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"row {row}, column '{column}': {cell!r} is not a number.") from None


def _code(cell: object, codes: dict[str, float]) -> float:
    """The category's index; NaN if the cell is missing or never declared."""
    if cell is pd.NA or cell is None:
        return math.nan
    found = codes.get(str(cell))
    if found is None:
        # A category that looks like a number may arrive as one, or as its text in a table with gaps: '1' as 1, '1.0'.
        try:
            found = codes.get(f"{float(cell):g}")  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return math.nan
    return math.nan if found is None else found
