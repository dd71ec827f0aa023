"""Raw rows to numbers: each cell to a code, codes to features, and missing features to what was fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.utils.validation import check_is_fitted

from ldep.table import _cells as cells
from ldep.table import _columns as columns
from ldep.table._columns import FittedColumn, Numeric

VERSION = 3  # of the JSON form
STRATEGIES = ("mean", "median", "most_frequent", "constant")


class RawEncoder(TransformerMixin, BaseEstimator):
    """Encode and impute a frame of raw rows, at training and when a model is served.

    The module `cells` reads each cell, and `columns` turns it into features. A missing cell takes the values that
    scikit-learn's SimpleImputer fitted to its features; so does a category that was not fitted. A feature without a
    value in any fitted row is dropped, as SimpleImputer does.

    scikit-learn's OneHotEncoder and skrub's TableVectorizer would read cells in their own way and have to be pickled;
    this encoder is one JSON document, which ONNX, C and the web page follow too.

    Parameters
    ----------
    strategy : {"mean", "median", "most_frequent", "constant"}, default="mean"
    fill_value : float, default=0.0
        The value of strategy "constant".
    impute : bool, default=True
        False keeps missing features as NaN (for an imputer fitted in each training fold), and drops no feature.
    columns : list of dict or None, default=None
        How each column is encoded, as `kinds.decide` has decided. None is the paper's way: a nominal value
        becomes its index in the column's declared categories, and a number stays.

    Examples
    --------
    >>> import pandas as pd
    >>> from ldep.table import RawEncoder
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "colour": pd.Categorical(["red", "blue", "red"])})
    >>> RawEncoder().fit_transform(frame).tolist()
    [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
    >>> size = {"name": "size", "kind": "numeric", "indicator": True}
    >>> RawEncoder(columns=[size]).fit(frame).get_feature_names_out().tolist()
    ['size', 'size:missing']
    """

    __module__ = "ldep.table"  # a stored encoder names its package, whose files may move

    def __init__(
        self,
        strategy: str = "mean",
        fill_value: float = 0.0,
        impute: bool = True,
        columns: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self.strategy = strategy
        self.fill_value = fill_value
        self.impute = impute
        self.columns = columns

    def fit(self, X: pd.DataFrame, y: object = None) -> RawEncoder:
        recipes = cells.declared(X) if self.columns is None else self.columns
        self._set_columns([columns.from_json(recipe) for recipe in recipes])
        fill = np.full(len(self.labels_), np.nan)
        kept = np.full(len(self.labels_), True)
        if self.impute and len(self.labels_):
            # keep_empty_features keeps the statistics in step with the features; the empty ones are dropped here.
            imputer = SimpleImputer(
                strategy=self.strategy,
                fill_value=self.fill_value if self.strategy == "constant" else None,
                keep_empty_features=True,
            )
            features = self._features(self._codes(X), len(X))
            fill = imputer.fit(features).statistics_.astype(np.float64)
            kept = ~np.isnan(features).all(axis=0)
        self.fill_, self.kept_ = fill.tolist(), kept.tolist()
        return self

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        check_is_fitted(self)
        return self._filled(self._features(self._codes(X), len(X)))

    def transform_with_report(self, X: pd.DataFrame) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Transform rows, and report by column the rows whose value was taken as missing, as `read_cells` does."""
        check_is_fitted(self)
        codes = self._codes(X)
        return self._filled(self._features(codes, len(X))), self._taken_as_missing(X, codes)

    def read_cells(self, X: pd.DataFrame) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return by raw column one number per cell, NaN if it is missing, and the rows whose value counts as missing.

        Such a value is not one that training has seen: an undeclared category or a wrong date, for example. Columns
        without such a value, and columns that are not used, are left out of the second part.
        """
        check_is_fitted(self)
        codes = self._codes(X)
        per_cell = {name: columns.per_cell(of_column) for name, of_column in zip(self.columns_, codes)}
        return per_cell, self._taken_as_missing(X, codes)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each raw column: numeric, nominal, date or text."""
        return {column.name: column.kind for column in self.fitted_}

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        check_is_fitted(self)
        return np.array([label for label, kept in zip(self.labels_, self.kept_) if kept], dtype=object)

    @property
    def source_columns(self) -> list[str]:
        """The raw column of each feature, in the order of `get_feature_names_out`."""
        return [column for column, kept in zip(self.sources_, self.kept_) if kept]

    @property
    def categories_(self) -> list[list[str] | None]:
        """The categories of each raw column; None for those that have none."""
        return [None if column.categories is None else list(column.categories) for column in self.fitted_]

    @property
    def numeric_columns(self) -> list[str]:
        """The raw columns whose strings are numbers as programs write them, so that any reader may convert them."""
        return [column.name for column in self.fitted_ if isinstance(column, Numeric) and column.spelling is None]

    def typical_row(self) -> dict[str, Any]:
        """A raw row: for each column the cell that comes closest to what fills its missing values."""
        fills: dict[str, list[float]] = {name: [] for name in self.columns_}
        for column, fill in zip(self.sources_, self.fill_):
            fills[column].append(fill)
        return {column.name: column.typical(fills[column.name]) for column in self.fitted_}

    def _set_columns(self, fitted: list[FittedColumn]) -> None:
        self.fitted_ = fitted
        self.columns_ = [column.name for column in fitted]
        self.n_features_in_ = len(fitted)
        pairs = columns.labels(fitted)
        self.labels_, self.sources_ = [label for label, _ in pairs], [column for _, column in pairs]

    def _codes(self, X: pd.DataFrame) -> list[np.ndarray]:
        absent = [name for name in self.columns_ if name not in X.columns]
        if absent:
            raise ValueError(f"the rows have no column '{absent[0]}' ({len(absent)} of {len(self.columns_)} absent).")
        return [column.codes(X[column.name]) for column in self.fitted_]

    def _taken_as_missing(self, X: pd.DataFrame, codes: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        used = set(self.source_columns)
        return {
            name: rows
            for name, of_column in zip(self.columns_, codes)
            if name in used and (rows := cells.taken_as_missing(X[name], columns.per_cell(of_column))).size
        }

    def _features(self, codes: Sequence[np.ndarray], rows: int) -> np.ndarray:
        return columns.features(self.fitted_, codes, rows)

    def _filled(self, features: np.ndarray) -> np.ndarray:
        filled = np.where(np.isnan(features), np.asarray(self.fill_), features)
        # In another memory layout than that of training, sums differ in the last bit.
        return np.ascontiguousarray(filled[:, np.asarray(self.kept_, dtype=bool)])

    def to_json(self) -> dict[str, Any]:
        """Return all that was fitted as plain values: no pickle is needed to serve it."""
        check_is_fitted(self)
        return {
            "version": VERSION,
            "strategy": self.strategy,
            "fill_value": self.fill_value,
            "impute": self.impute,
            "encode": None if self.columns is None else "decided",
            "columns": [columns.to_json(column) for column in self.fitted_],
            "features": [
                {"name": label, "column": column, "fill": None if math.isnan(fill) else fill, "kept": kept}
                for label, column, fill, kept in zip(self.labels_, self.sources_, self.fill_, self.kept_)
            ],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RawEncoder:
        """Read what `to_json` returned; ValueError, KeyError or TypeError if it is something else."""
        if value["version"] != VERSION:
            raise ValueError(f"the encoder is of version {value['version']!r}, and this program reads {VERSION}")
        if value["strategy"] not in STRATEGIES:
            raise ValueError(f"there is no strategy {value['strategy']!r}")
        decided = None if value["encode"] is None else value["columns"]
        encoder = cls(value["strategy"], value["fill_value"], value["impute"], decided)
        encoder._set_columns([columns.from_json(column) for column in value["columns"]])
        features = value["features"]
        if [feature["name"] for feature in features] != encoder.labels_:
            raise ValueError("the features are not those of the columns")
        encoder.fill_ = [math.nan if feature["fill"] is None else float(feature["fill"]) for feature in features]
        encoder.kept_ = [bool(feature["kept"]) for feature in features]
        return encoder

    def __getstate__(self) -> dict[str, Any]:
        """Plain values only, for skops and for other processes."""
        return {"fitted": self.to_json()} if hasattr(self, "fitted_") else {"params": self.get_params()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "fitted" in state:
            self.__dict__.update(self.from_json(state["fitted"]).__dict__)
        else:
            self.__init__(**state["params"])  # type: ignore[misc]
