"""The served model: it takes raw rows and answers the class and, on request, score, probability and explanation.

It is stored in two files without a pickle: the pipeline in skops's format, restricted to the types of
`pipeline.serving.trusted_types`, and a JSON file for the rest. Neither MLflow nor any code of the model's folder is
needed to load them.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from skops.io.exceptions import UntrustedTypesFoundException

from ldep.estimators.base import TauClassifier
from pipeline.encoding.encoder import RawEncoder
from pipeline.fitting.decisions import decision_values
from pipeline.serving import calibration, counterfactual_answers, trusted_types, unknown_values
from pipeline.serving.calibration import Sigmoid
from pipeline.serving.unknown_values import Report

PIPELINE, DESCRIPTION = "pipeline.skops", "served.json"
OUTPUTS = ("label", "scores", "full", counterfactual_answers.OUTPUT)


class UnusableModel(ValueError):
    """The files of a model cannot be loaded: they are damaged, not trusted, or of another version of ldep."""


class ServedModel:
    """A fitted pipeline that begins with a RawEncoder, its classes, and the sigmoid of its decision values, if any."""

    def __init__(self, pipe: Any, sigmoid: Sigmoid | None) -> None:
        self.pipe, self.sigmoid = pipe, sigmoid
        self.encoder, self.rest, self.model = pipe[0], pipe[1:], pipe[-1]
        self.classes = [str(label) for label in pipe.classes_]
        self.features = list(self.encoder.get_feature_names_out())
        sources = self.encoder.source_columns
        self.columns = list(dict.fromkeys(sources))
        # The features of a column are side by side.
        self._first_features = [sources.index(column) for column in self.columns]

    def predict(self, rows: pd.DataFrame, params: dict[str, Any] | None = None) -> list[Any]:
        """One answer per row; ValueError says which cell or parameter is wrong."""
        return self.answer(rows, params or {})[0]

    def answer(self, rows: pd.DataFrame, params: dict[str, Any]) -> tuple[list[Any], Report]:
        """`predict`, and the values that were taken as missing. With params.strict such a value is an error."""
        output, strict = _output(params), _strict(params)
        X, report = self.read(rows)
        if strict:
            unknown_values.refuse(rows, report)
        if output == "label" or not len(X):
            return [self.classes[index] for index in self.positive(X).astype(int)], report
        if output == counterfactual_answers.OUTPUT:
            answers = counterfactual_answers.answers(self, rows, X, params)
            labels = [self.classes[index] for index in self.positive(X).astype(int)]
            return [{"class": label, output: answer} for label, answer in zip(labels, answers)], report
        records = self._records(X, explain=output == "full")
        if output == "full":
            for record, columns in zip(records, unknown_values.columns_by_row(report, len(X))):
                record["taken_as_missing"] = columns
        return records, report

    def read(self, frame: pd.DataFrame) -> tuple[np.ndarray, Report]:
        """Raw rows as the numbers that the model sees, before scaling, and the values that were taken as missing.

        ValueError names a cell that is wrong.
        """
        if not frame.columns.is_unique:
            raise ValueError("a column appears twice.")
        return self.encoder.transform_with_report(frame)

    def numbers(self, frame: pd.DataFrame) -> np.ndarray:
        return self.read(frame)[0]

    def positive(self, X: np.ndarray) -> np.ndarray:
        """Whether the answer is the second class. (No estimator takes a table without rows.)"""
        return np.asarray(self.rest.predict(X) == self.pipe.classes_[1]) if len(X) else np.zeros(0, dtype=bool)

    def score(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """`positive` and the decision values, computed once where the former is the sign of the latter."""
        values = decision_values(self.rest, X)
        if values is not None and isinstance(self.model, TauClassifier):
            return values >= 0, values
        return self.positive(X), values

    def probability(self, X: np.ndarray, values: np.ndarray | None) -> np.ndarray | None:
        """The probability of the second class for rows with these decision values; None if the model has none."""
        if calibration.is_calibrated(self.model):
            return self.rest.predict_proba(X)[:, 1] if len(X) else np.zeros(0)
        return None if values is None or self.sigmoid is None else self.sigmoid(values)

    def explain(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Contributions (rows, columns) and bias; None if the model has no exact explanation.

        The contribution of a raw column is the sum over its features. The model is affine around a row. Contributions
        are relative to the mean of the training rows, which the scaler has subtracted; with the bias they sum to the
        decision value.
        """
        if not hasattr(self.model, "explain"):
            return None
        explanation = self.model.explain(self.rest[:-1].transform(X))
        contributions = explanation.contributions
        if len(self.columns) < len(self.features):
            contributions = np.add.reduceat(contributions, self._first_features, axis=1)
        return contributions, explanation.bias

    def _records(self, X: np.ndarray, explain: bool) -> list[dict[str, Any]]:
        positive, values = self.score(X)
        records: list[dict[str, Any]] = [
            {"class": self.classes[index], "decision": None, "probability": None} for index in positive.astype(int)
        ]
        probability = self.probability(X, values)
        if values is not None and probability is not None:
            for record, value, p in zip(records, values.tolist(), probability.tolist()):
                record |= {"decision": value, "probability": dict(zip(self.classes, (1 - p, p)))}
        if explain:
            for record, explanation in zip(records, self._explanations(X)):
                record["explanation"] = explanation
        return records

    def _explanations(self, X: np.ndarray) -> list[dict[str, Any]]:
        explanation = self.explain(X)
        if explanation is None:
            return [{"not_available": f"{type(self.model).__name__} has no exact explanation."}] * len(X)
        contributions, bias = explanation
        return [
            {"bias": offset, "contributions": dict(zip(self.columns, row))}
            for row, offset in zip(contributions.tolist(), bias.tolist())
        ]


def _output(params: dict[str, Any]) -> str:
    output = params.get("output", "label")
    if output not in OUTPUTS:
        raise ValueError(f"params.output is {output!r}; it must be one of {', '.join(OUTPUTS)}.")
    return output


def _strict(params: dict[str, Any]) -> bool:
    strict = params.get("strict", False)
    if not isinstance(strict, bool):
        raise ValueError(f"params.strict is {strict!r}; it must be true or false.")
    return strict


def example(encoder: RawEncoder) -> dict[str, Any]:
    """A row of typical values: for each column the value that comes closest to those that fill its missing cells."""
    return encoder.typical_row()


def save(folder: Path, pipe: Any, sigmoid: Sigmoid | None) -> None:
    """Write the two files; ValueError names types that are not on the list."""
    content = skops.io.dumps(pipe)
    foreign = trusted_types.foreign(skops.io.get_untrusted_types(data=content))
    if foreign:
        raise ValueError(f"it holds {', '.join(foreign)}, not on the list of {trusted_types.__name__}")
    description = {
        "ldep": installed_version(),
        "sigmoid": sigmoid and sigmoid._asdict(),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    (folder / PIPELINE).write_bytes(content)
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def load(folder: Path) -> ServedModel:
    """Read what `save` wrote; UnusableModel says why that is not possible."""
    try:
        content = (folder / PIPELINE).read_bytes()
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        version, digest = description["ldep"], description["sha256"]
        sigmoid = description["sigmoid"] and Sigmoid(**description["sigmoid"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnusableModel(f"{folder / DESCRIPTION} or {PIPELINE} cannot be read: {error!r}.") from None
    installed = installed_version()
    if installed is not None and version != installed:
        raise UnusableModel(
            f"{folder} was made by ldep {version}, and ldep {installed} is installed; "
            f"install ldep {version}, or make the model again."
        )
    if hashlib.sha256(content).hexdigest() != digest:
        raise UnusableModel(f"{folder / PIPELINE} was changed or damaged after it was written.")
    try:
        pipe = skops.io.loads(content, trusted=list(trusted_types.TYPES))
    except UntrustedTypesFoundException as error:
        raise UnusableModel(f"{folder / PIPELINE} is not loaded: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, ImportError, zipfile.BadZipFile) as error:
        raise UnusableModel(f"{folder / PIPELINE} cannot be read: {error!r}.") from None
    return ServedModel(pipe, sigmoid)


def installed_version() -> str | None:
    """The version of the installed package; None where only code that a model carries can be imported."""
    try:
        return metadata.version("ldep")
    except metadata.PackageNotFoundError:
        return None
