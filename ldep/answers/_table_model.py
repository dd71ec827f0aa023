"""A fitted pipeline of an encoder and an ℓ-DEP that answers in the columns and units of the raw table."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ldep.answers._columns import RawColumns
from ldep.answers._counterfactual import RawCounterfactuals, answer_rows, menu_of_row
from ldep.answers._program import program_of_table
from ldep.answers._space import Limits
from ldep.estimators import FittedModelClassifier
from ldep.explain import Explanation, Menu, Sheet, rule_sheet
from ldep.export import Program, fitted_model, to_c, to_onnx
from ldep.model import FittedModel, Link, class_numbers
from ldep.table import TableEncoder, Text, as_frame


class TableModel:
    """The front of a fitted pipeline of an encoder and an ℓ-DEP: it takes and answers raw rows.

    Parameters
    ----------
    pipeline : Pipeline
        A fitted pipeline: first a TableEncoder and last an ℓ-DEP. A SimpleImputer and a StandardScaler may stand
        between them.
    threshold : float, default=0.0
        What is subtracted from the decision values of two classes.
    link : Link, default=None
        The link from decision values to probabilities; None is that of the ℓ-DEP, if it has one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    columns : list of str
        The raw columns that the model uses.
    features : list of str
        The features that the encoder makes of them.
    """

    def __init__(self, pipeline: Any, threshold: float = 0.0, link: Link | None = None) -> None:
        check_is_fitted(pipeline)
        if not isinstance(pipeline[0], TableEncoder):
            raise TypeError(f"The pipeline begins with {type(pipeline[0]).__name__}; it must be a TableEncoder.")
        if not isinstance(pipeline[-1], FittedModelClassifier):
            raise TypeError(f"The pipeline ends with {type(pipeline[-1]).__name__}; it must be an ℓ-DEP.")
        self.pipeline, self.threshold = pipeline, threshold
        self.link = pipeline[-1].model_.link if link is None else link
        self.encoder, self.rest, self.model = pipeline[0], pipeline[1:], pipeline[-1]
        self.classes_ = pipeline.classes_
        self.features = list(self.encoder.get_feature_names_out())
        sources = self.encoder.source_columns
        self.columns = list(dict.fromkeys(sources))
        # The features of a column are side by side.
        self._first_features = [sources.index(column) for column in self.columns]

    @cached_property
    def raw(self) -> RawColumns:
        """The raw columns with their features; NotExportable names a step of the pipeline that is not understood."""
        return RawColumns.of(self.pipeline)

    @property
    def fitted(self) -> FittedModel:
        """The ℓ-DEP over its scaled features, with the threshold."""
        return self.model.model_.with_threshold(self.threshold)

    def decision(self, X: np.ndarray) -> np.ndarray:
        """The decision values of rows before scaling."""
        return self.rest.decision_function(self.encoder.standardised(X)) - self.threshold

    def class_numbers(self, X: np.ndarray) -> np.ndarray:
        """The number of the class of each row before scaling."""
        return class_numbers(self.decision(X))

    def explain(self, X: pd.DataFrame) -> Explanation:
        """Compute what each raw column contributes to the decision value of each row.

        The contribution of a column is the sum over its features. The model is affine around a row. Contributions are
        relative to the mean of the training rows, which the scaler has subtracted; with the bias they sum to the
        decision value. With more than two classes they sum to the lead of the predicted class over its strongest rival.

        Parameters
        ----------
        X : DataFrame
            Raw rows.

        Returns
        -------
        explanation : Explanation
            The contributions of the columns in `columns`.
        """
        return replace(self.explain_numbers(self.encoder.read(X)[0]), frame=X[self.columns])

    def explain_numbers(self, X: np.ndarray) -> Explanation:
        """The same for rows before scaling."""
        explanation = self._explain_features(X)
        if len(self.columns) == len(self.features):
            return replace(explanation, names=self.columns)
        summed = np.add.reduceat(explanation.contributions, self._first_features, axis=1)
        return replace(explanation, contributions=summed, names=self.columns)

    def explain_words(self, X: np.ndarray) -> dict[str, list[dict[str, float]]]:
        """By column of texts, for each row what each term that its text contains adds, the largest first.

        X has rows before scaling. The rest of the column's contribution is that of the terms that the text lacks.
        """
        texts = [column for column in self.encoder.fitted_ if isinstance(column, Text) and column.name in self.columns]
        if not texts or not len(X):
            return {column.name: [] for column in texts}
        explanation = self._explain_features(X)
        found = {}
        for column in texts:
            first = self._first_features[self.columns.index(column.name)]
            features = slice(first, first + len(column.terms))
            found[column.name] = [
                _largest_first({column.shown[term]: float(shares[term]) for term in np.flatnonzero(contains == 1)})
                for contains, shares in zip(X[:, features], explanation.contributions[:, features])
            ]
        return found

    def counterfactual(
        self, X: pd.DataFrame, target: Any = None, *, time_limit: float = 1.0, **limits: Any
    ) -> RawCounterfactuals:
        """Find the nearest raw row of another class for each row, with a proof that no allowed row is nearer.

        A number changes within the range of the training rows and on their grid, measured in standard deviations. A
        grid with steps of less than a fiftieth of it is searched without steps, and the answer is rounded to it. A
        nominal column changes to another of its categories, which counts 1. Dates and texts stay as they are.

        Parameters
        ----------
        X : DataFrame
            Raw rows.
        target : class, default=None
            Class to reach. None is the nearest of the other classes.
        time_limit : float, default=1.0
            Seconds per row. When they are over, the answer comes with its bound.
        norm : {"l2", "l1", "linf"}, default="l2"
            How changes are added up to a distance.
        frozen, integer : sequence of str, default=()
            Columns that must not change, and columns that change in whole numbers.
        bounds : dict, default={}
            Lower and upper bound of numbers: `{"age": (18, None)}`, where None is that of the training rows.
        beyond : sequence of str or True, default=()
            Columns of numbers that may leave the range of the training rows and their grid; True for all of them.
        directions : dict, default={}
            Numbers that only rise or only fall: `{"age": "up"}`.
        constraints : sequence of str, default=()
            Linear constraints between numbers that the answer satisfies, even where the row does not:
            `["tenure <= 12 * age", "total = parts + labour"]`. A name of several words stands in backticks.
        costs : dict, default={}
            What a change of a column counts, relative to the others: `{"age": 5}`.
        max_changes : int, default=None
            How many columns change at most. A column that an equation defines does not count.
        margin, probability : float
            The lead of the decision value, or the probability, that the class must have at least.
        answers : int, default=1
            Answers per row. Each further one leaves a column that an earlier one changes as it is.
        box : bool, default=False
            Whether to find how far the numbers that change may go on such that every row in between flips.

        Returns
        -------
        counterfactuals : RawCounterfactuals
            One answer per row, or several; `print` shows them.
        """
        if not time_limit > 0:
            raise ValueError(f"time_limit={time_limit} must be positive.")
        if target is not None and target not in self.classes_.tolist():
            raise ValueError(f"target {target!r} is not one of the classes {self.classes_.tolist()}.")
        asked = Limits.of(**limits)
        frame = as_frame(X)
        answers = answer_rows(self, frame, self.encoder.read(frame)[0], asked, time_limit * len(frame), target)
        return RawCounterfactuals(answers, frame)

    def certificate(self, X: pd.DataFrame, *, time_limit: float = 1.0, **limits: Any) -> np.ndarray:
        """Compute the radius around each raw row within which no allowed change gives it another class.

        Parameters
        ----------
        X : DataFrame
            Raw rows.
        time_limit, **limits
            As for `counterfactual`.

        Returns
        -------
        radius : ndarray of shape (n_samples,)
            A proven lower bound, in the units of `counterfactual`. Infinite where no allowed row has another class.
        """
        return np.array([answer.bound for answer in self.counterfactual(X, time_limit=time_limit, **limits).answers])

    def rules(
        self, X: pd.DataFrame | None = None, *, units: dict | None = None, digits: int = 4, max_terms: int = 8
    ) -> Sheet:
        """Write a single model as a sheet of rules about the features of the encoder, in the units of the table.

        Parameters
        ----------
        X : DataFrame, default=None
            Raw rows. The rules then hold in the smallest box that contains them, and can be shorter. None covers all
            rows.
        units : dict, default=None
            Units of features, to print.
        digits : int, default=4
            Digits of the printed numbers.
        max_terms : int, default=8
            Number of features that a printed condition names. The others are counted.

        Returns
        -------
        rules : RuleSheet or ScoreSheet
            As `rules` of the estimator. Terms are ordered by what a standard deviation of their feature changes.
        """
        if not hasattr(self.model, "rules"):
            name = type(self.model).__name__
            raise TypeError(f"{name} votes, and a vote has no rules; fit an LDEPClassifier for them.")
        scaler = StandardScaler()
        scaler.mean_, scaler.scale_ = self.raw.mean, self.raw.scale
        rows = None if X is None else (self.encoder.read(X)[0] - self.raw.mean) / self.raw.scale
        shown = {"units": units or {}, "digits": digits, "max_terms": max_terms}
        sheet = rule_sheet(self.fitted, self.classes_, self.features, rows, scaler, **shown)
        return sheet if rows is not None else replace(sheet, size=self.raw.scale)

    def menu(
        self, X: pd.DataFrame, columns: int = 2, target: Any = None, *, time_limit: float = 10.0, **limits: Any
    ) -> Menu:
        """Decide for every set of up to so many columns whether changing these alone gives the row another class.

        Parameters
        ----------
        X : DataFrame
            One raw row.
        columns : int, default=2
            Size of the largest sets. 1 is one lever at a time.
        target : class, default=None
            Class to reach; None is the nearest of the other classes.
        time_limit : float, default=10.0
            Seconds for the whole menu.
        **limits
            As for `counterfactual`.

        Returns
        -------
        menu : Menu
            The sets with the nearest way of each, the cheapest first; `print` shows them, and says which sets are
            proven to be unable to.
        """
        numbers = self.encoder.read(X)[0]
        return menu_of_row(self, X, numbers, Limits.of(**limits), int(columns), target, time_limit)

    def program(self) -> Program:
        """The model as primitive steps from raw cells to the answer; NotExportable names what has no steps."""
        fitted_model(self.model)  # refuses a model of rows with missing values
        return program_of_table(self.raw, self.fitted, self.classes_)

    def to_onnx(self, *, contributions: bool = True) -> Any:
        """Write the model as ONNX, from raw cells to the answer.

        Parameters
        ----------
        contributions : bool, default=True
            Whether contributions and bias are among the outputs. Without them the model is faster.

        Returns
        -------
        model : onnx.ModelProto
            The ONNX model. Its documentation names the inputs, and its metadata the columns of each.
        """
        return to_onnx(self.program(), contributions=contributions)

    def to_c(self, title: str = "model") -> str:
        """Write the model as one C header, from raw cells to the answer; texts have no such form."""
        return to_c(self.program(), title)

    def _explain_features(self, X: np.ndarray) -> Explanation:
        Z = self.encoder.standardised(X)
        for _, step in self.rest.steps[:-1]:
            Z = step.transform(Z)
        explanation = self.model.explain(Z)
        if not self.threshold:
            return explanation
        bias, decision = explanation.bias - self.threshold, explanation.decision - self.threshold
        return replace(explanation, bias=bias, decision=decision)


def _largest_first(shares: dict[str, float]) -> dict[str, float]:
    return dict(sorted(shares.items(), key=lambda item: -abs(item[1])))
