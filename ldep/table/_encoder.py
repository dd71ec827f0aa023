"""Raw rows to numbers: each cell to a code, codes to features, and missing features to what was fitted."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from ldep.table import _cells as cells
from ldep.table import _columns as columns
from ldep.table import _frames as frames
from ldep.table import _kinds as kinds
from ldep.table._columns import FittedColumn, Numeric
from ldep.table._ranges import Range

VERSION = 3  # of the JSON form
MOST_REASONS = 5  # in one message
DECIDED = "decided"  # instead of a list of columns, which are those of the encoder
STRATEGIES = ("mean", "median", "most_frequent", "constant")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode, impute and standardise raw rows: from a data frame as it is to the numbers that a model takes.

    Each column is encoded by what its cells are: numbers (also those that are written as text, with thousands
    separators, with a decimal comma or as percentages), booleans, dates, categories, and prose. `encode` can say it
    otherwise. A column that says nothing is left out, with a warning that gives the reason: one that has the same value
    in every row, numbers the rows, or repeats another one.

    The module `cells` reads each cell, and `columns` turns it into features. A missing cell takes the values that
    scikit-learn's SimpleImputer fitted to its features; so does a category that was not fitted. Where at least 1 % of
    the cells are missing, a feature says which. A feature without a value in any fitted row is dropped, as
    SimpleImputer does.

    scikit-learn's OneHotEncoder and skrub's TableVectorizer would read cells in their own way and have to be pickled;
    this encoder is one JSON document, which ONNX, C and the web page follow too.

    Parameters
    ----------
    encode : str, dict, list of dict or None, default="auto"
        How columns are encoded. "auto" decides by the cells; "ordinal", "one_hot" and "frequency" say it for all
        nominal columns. A dict says it for some columns, and may also have "numeric", "date", "text" and "drop":
        `{"zip": "one_hot", "id": "drop"}`. A list has the columns as `kinds.decide` has decided before. None is the
        paper's way: a nominal value becomes its index in the column's declared categories, and a number stays.
    strategy : {"mean", "median", "most_frequent", "constant"}, default="mean"
        What fills missing values, as for SimpleImputer.
    fill_value : float, default=0.0
        The value of strategy "constant".
    impute : bool, default=True
        False keeps missing features as NaN, for an estimator that takes them, and drops no feature.
    scale : bool, default=True
        Whether the features are standardised, as StandardScaler does.
    merge : sequence of str, default=()
        Nominal columns whose categories are one if they differ only in case, in blanks or in the form of their Unicode
        characters.

    Attributes
    ----------
    columns_ : list of str
        The raw columns that are read.
    kinds : dict of str to str
        The kind of each: numeric, nominal, date or text.
    left_out_ : dict of str to str
        The raw columns that are left out, with the reason.
    remarks_ : dict of str to list of str
        What one should know about a column, such as the spelling in which its numbers are read.
    ranges_ : dict of str to Range
        Range, quantiles and grid of the fitted cells of each column of numbers or dates.

    Examples
    --------
    >>> import pandas as pd
    >>> from ldep.table import TableEncoder
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "colour": ["red", "blue", "red"], "since": ["2024-05-01"] * 3})
    >>> encoder = TableEncoder({"since": "drop"}, scale=False).fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size:missing', 'colour=red']
    >>> encoder.transform(frame).tolist()
    [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0], [3.0, 0.0, 1.0]]
    """

    __module__ = "ldep.table"  # a stored encoder names its package, whose files may move

    def __init__(
        self,
        encode: str | Mapping[str, str] | Sequence[Mapping[str, Any]] | None = "auto",
        strategy: str = "mean",
        fill_value: float = 0.0,
        impute: bool = True,
        scale: bool = True,
        merge: Sequence[str] = (),
    ) -> None:
        self.encode = encode
        self.strategy = strategy
        self.fill_value = fill_value
        self.impute = impute
        self.scale = scale
        self.merge = merge

    def fit(self, X: Any, y: object = None) -> TableEncoder:
        """Decide how each column is encoded, and learn what fills and standardises its features.

        Parameters
        ----------
        X : DataFrame of pandas or polars, or array-like of shape (n_samples, n_columns)
            Raw rows.
        y : object, default=None
            Not used.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy is {self.strategy!r}; it must be one of {', '.join(STRATEGIES)}.")
        frame = frames.as_frame(X)
        validate_data(self, X, skip_check_array=True)
        for size, what in zip(frame.shape, ("sample", "feature")):
            if not size:
                raise ValueError(f"Found 0 {what}(s) (shape={frame.shape}) while a minimum of 1 is required.")
        self.left_out_: dict[str, str] = {}
        self.remarks_: dict[str, list[str]] = {}
        self._set_columns([columns.from_json(recipe) for recipe in self._decided(frame)])
        codes = self._codes(frame)
        features = columns.features(self.fitted_, codes, len(frame))
        fill = np.full(len(self.labels_), np.nan)
        kept = np.full(len(self.labels_), True)
        if self.impute and len(self.labels_):
            # keep_empty_features keeps the statistics in step with the features; the empty ones are dropped here.
            imputer = SimpleImputer(
                strategy=self.strategy,
                fill_value=self.fill_value if self.strategy == "constant" else None,
                keep_empty_features=True,
            )
            fill = imputer.fit(features).statistics_.astype(np.float64)
            kept = ~np.isnan(features).all(axis=0)
        self.fill_, self.kept_ = fill.tolist(), kept.tolist()
        self.mean_, self.scale_ = [0.0] * len(kept), [1.0] * len(kept)
        if self.scale and kept.any():
            scaler = StandardScaler().fit(self._filled(features))
            self.mean_, self.scale_ = _at(kept, scaler.mean_, 0.0), _at(kept, scaler.scale_, 1.0)
        found = {column.name: Range.of(of_column) for column, of_column in zip(self.fitted_, codes) if column.has_range}
        self.ranges_ = {name: one for name, one in found.items() if one is not None}
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Encode raw rows.

        Parameters
        ----------
        X : DataFrame of pandas or polars, or array-like of shape (n_samples, n_columns)
            Raw rows. Columns that are not used may be absent.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features)
            The features.
        """
        return self.standardised(self.read(X)[0])

    def read(self, X: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the features before they are standardised, and by column the rows whose value is taken as missing."""
        check_is_fitted(self)
        frame = frames.as_frame(X)
        if not hasattr(X, "columns") and frame.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {frame.shape[1]} features, but TableEncoder is expecting {self.n_features_in_} features as "
                "input."
            )
        codes = self._codes(frame)
        features = columns.features(self.fitted_, codes, len(frame))
        return self._filled(features), self._taken_as_missing(frame, codes)

    def standardised(self, features: np.ndarray) -> np.ndarray:
        """Return features as the model takes them."""
        if not self.scale:
            return features
        mean, scale = self.scaling
        return (features - mean) / scale

    @property
    def scaling(self) -> tuple[np.ndarray, np.ndarray]:
        """What is subtracted from each feature, and then divides it."""
        kept = np.asarray(self.kept_, dtype=bool)
        return np.asarray(self.mean_)[kept], np.asarray(self.scale_)[kept]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def read_cells(self, X: pd.DataFrame) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return by raw column one number per cell, NaN if it is missing, and the rows whose value counts as missing.

        Such a value is not one that training has seen: an undeclared category or a wrong date, for example. Columns
        without such a value, and columns that are not used, are left out of the second part.
        """
        check_is_fitted(self)
        frame = frames.as_frame(X)
        codes = self._codes(frame)
        per_cell = {name: columns.per_cell(of_column) for name, of_column in zip(self.columns_, codes)}
        return per_cell, self._taken_as_missing(frame, codes)

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

    def _decided(self, frame: pd.DataFrame) -> Sequence[Mapping[str, Any]]:
        """How each column is encoded, as plain values."""
        encode = self.encode
        if encode is not None and not isinstance(encode, (str, Mapping)):
            return encode
        if encode is None:
            return cells.declared(frames.typed(frame))
        if len(frame) == 1:
            raise ValueError("Found 1 sample, while a minimum of 2 is required to decide how columns are encoded.")
        kinds.check(encode, self.merge, list(frame.columns))
        decisions = kinds.decide(frames.typed(frame), encode, self.merge)
        for decision in decisions:
            if decision.remarks:
                self.remarks_[decision.name] = list(decision.remarks)
            if decision.drop is not None:
                self.left_out_[decision.name] = decision.drop
        reasons = [f"'{name}', as {reason}" for name, reason in self.left_out_.items()]
        recipes = [decision.recipe for decision in decisions if decision.recipe is not None]
        if not recipes:
            raise ValueError(f"No column is left to encode: {'; '.join(reasons[:MOST_REASONS])}.")
        if unexpected := [text for text, reason in zip(reasons, self.left_out_.values()) if reason != kinds.ASKED]:
            more = f"; and {len(unexpected) - MOST_REASONS} more" if len(unexpected) > MOST_REASONS else ""
            warnings.warn(f"Left out: {'; '.join(unexpected[:MOST_REASONS])}{more}.", UserWarning, stacklevel=3)
        return recipes

    def _filled(self, features: np.ndarray) -> np.ndarray:
        filled = np.where(np.isnan(features), np.asarray(self.fill_), features)
        # In another memory layout than that of training, sums differ in the last bit.
        return np.ascontiguousarray(filled[:, np.asarray(self.kept_, dtype=bool)])

    def to_json(self) -> dict[str, Any]:
        """Return all that was fitted as plain values: no pickle is needed to serve it."""
        check_is_fitted(self)
        features = zip(self.labels_, self.sources_, self.fill_, self.kept_, self.mean_, self.scale_)
        is_list = not (self.encode is None or isinstance(self.encode, (str, Mapping)))
        return {
            "version": VERSION,
            "encode": DECIDED if is_list else self.encode,
            "strategy": self.strategy,
            "fill_value": self.fill_value,
            "impute": self.impute,
            "scale": self.scale,
            "merge": list(self.merge),
            "columns": [columns.to_json(column) for column in self.fitted_],
            "features": [
                {
                    "name": label,
                    "column": column,
                    "fill": None if math.isnan(fill) else fill,
                    "kept": kept,
                    "mean": mean,
                    "scale": scale,
                }
                for label, column, fill, kept, mean, scale in features
            ],
            "ranges": {name: one.to_json() for name, one in self.ranges_.items()},
            "left_out": self.left_out_,
            "remarks": self.remarks_,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> TableEncoder:
        """Read what `to_json` returned; ValueError, KeyError or TypeError if it is something else."""
        if value["version"] != VERSION:
            raise ValueError(f"the encoder is of version {value['version']!r}, and this program reads {VERSION}")
        if value["strategy"] not in STRATEGIES:
            raise ValueError(f"there is no strategy {value['strategy']!r}")
        encode = value["columns"] if value["encode"] == DECIDED else value["encode"]
        encoder = cls(
            encode, value["strategy"], value["fill_value"], value["impute"], value["scale"], tuple(value["merge"])
        )
        encoder._set_columns([columns.from_json(column) for column in value["columns"]])
        encoder.n_features_in_ = len(encoder.columns_)
        features = value["features"]
        if [feature["name"] for feature in features] != encoder.labels_:
            raise ValueError("the features are not those of the columns")
        encoder.fill_ = [math.nan if feature["fill"] is None else float(feature["fill"]) for feature in features]
        encoder.kept_ = [bool(feature["kept"]) for feature in features]
        encoder.mean_ = [float(feature["mean"]) for feature in features]
        encoder.scale_ = [float(feature["scale"]) for feature in features]
        encoder.ranges_ = {str(name): Range.from_json(one) for name, one in value["ranges"].items()}
        encoder.left_out_, encoder.remarks_ = dict(value["left_out"]), dict(value["remarks"])
        return encoder

    def __getstate__(self) -> dict[str, Any]:
        """Plain values only, for skops and for other processes."""
        return {"fitted": self.to_json()} if hasattr(self, "fitted_") else {"params": self.get_params()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "fitted" in state:
            self.__dict__.update(self.from_json(state["fitted"]).__dict__)
        else:
            self.__init__(**state["params"])  # type: ignore[misc]


def _at(kept: np.ndarray, values: np.ndarray, other: float) -> list[float]:
    """The values of the features that are kept, in their places among all features."""
    placed = np.full(len(kept), other)
    placed[kept] = np.where(np.isnan(values), other, values)
    return placed.tolist()
