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
from pipeline.encoding.cells import codes_of, numbers_of, taken_as_missing


class RawEncoder(TransformerMixin, BaseEstimator):
    """Encode and impute a frame of raw rows, at training and when a model is served.

    `pipeline.encoding.cells` reads each cell. A nominal value becomes its index in the column's declared categories; a
    number stays. A missing cell takes the value that scikit-learn's SimpleImputer fitted; so does a category that was
    never declared. A column without a value in any fitted row is dropped, as SimpleImputer does.

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
        return self._filled(self._codes(X))

    def transform_with_report(self, X: pd.DataFrame) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Transform rows, and report by column the rows whose value was taken as missing, as `read_cells` does."""
        codes, report = self.read_cells(X)
        return self._filled(np.column_stack([*codes.values()]) if codes else np.empty((len(X), 0))), report

    def read_cells(self, X: pd.DataFrame) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return by raw column one code per cell, NaN if it is missing, and the rows whose value counts as missing.

        Such a value is not one that training has seen: an undeclared category, for example. Columns without such a
        value, and columns that are not used, are left out of the second part.
        """
        check_is_fitted(self)
        codes = dict(zip(self.columns_, self._codes(X).T))
        report = {
            name: rows
            for name, kept in zip(self.columns_, self.kept_)
            if kept and (rows := taken_as_missing(X[name], codes[name])).size
        }
        return codes, report

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each raw column."""
        pairs = zip(self.columns_, self.categories_)
        return {name: "numeric" if categories is None else "nominal" for name, categories in pairs}

    def _filled(self, codes: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(codes), np.asarray(self.fill_), codes)[:, np.asarray(self.kept_)]

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        check_is_fitted(self)
        return np.array([name for name, kept in zip(self.columns_, self.kept_) if kept], dtype=object)

    def _codes(self, X: pd.DataFrame) -> np.ndarray:
        absent = [name for name in self.columns_ if name not in X.columns]
        if absent:
            raise ValueError(f"the rows have no column '{absent[0]}' ({len(absent)} of {len(self.columns_)} absent).")
        columns = [
            numbers_of(X[name]) if categories is None else codes_of(X[name], categories)
            for name, categories in zip(self.columns_, self.categories_)
        ]
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
