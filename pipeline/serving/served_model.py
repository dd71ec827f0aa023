"""The served model: raw rows in; the class, and on request score, probability and explanation, out.

MLflow loads it by `_load_pyfunc`, in a server, in `mlflow models predict` and in Python. Nothing is unpickled: the
pipeline is a skops file of types from `pipeline.trusted`, and the rest is JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from mlflow.exceptions import MlflowException
from skops.io.exceptions import UntrustedTypesFoundException

from ldep.estimators.base import TauClassifier
from pipeline.encoding.encoder import RawEncoder
from pipeline.fitting.decisions import decision_values
from pipeline.serving import bad_requests, integrity, trusted_types
from pipeline.serving.calibration import Sigmoid

PIPELINE, FACTS = "pipeline.skops", "served.json"
OUTPUTS = ("label", "scores", "full")


class ServedModel:
    """A fitted pipeline that begins with a RawEncoder, its classes, and a sigmoid if it has decision values."""

    def __init__(self, pipe: Any, sigmoid: Sigmoid | None) -> None:
        self.pipe, self.sigmoid = pipe, sigmoid
        self.encoder, self.rest, self.model = pipe[0], pipe[1:], pipe[-1]
        self.classes = [str(label) for label in pipe.classes_]
        self.columns = list(self.encoder.get_feature_names_out())

    def predict(self, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> list[Any]:
        """One answer a row. MlflowException, which a server answers by 400, says what is wrong with the rows."""
        output = (params or {}).get("output", "label")
        if output not in OUTPUTS:
            raise MlflowException.invalid_parameter_value(f"params.output is {output!r}; it is one of {OUTPUTS}.")
        try:
            X = self.numbers(model_input)
            if output != "label" and len(X):
                return self._records(X, explain=output == "full")
            return [self.classes[index] for index in self.positive(X).astype(int)]
        except ValueError as error:
            raise MlflowException.invalid_parameter_value(str(error)) from None

    def numbers(self, frame: pd.DataFrame) -> np.ndarray:
        """Raw rows as the numbers that the model sees, before scaling; ValueError names the cell that is wrong."""
        if not frame.columns.is_unique:
            raise ValueError("a column appears twice.")
        return self.encoder.transform(frame)

    def positive(self, X: np.ndarray) -> np.ndarray:
        """Whether the answer is the second class. (No estimator takes a table without rows.)"""
        return np.asarray(self.rest.predict(X) == self.pipe.classes_[1]) if len(X) else np.zeros(0, dtype=bool)

    def score(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """`positive`, and the decision values, computed once where the one is the sign of the other."""
        values = decision_values(self.rest, X)
        if values is not None and isinstance(self.model, TauClassifier):
            return values >= 0, values
        return self.positive(X), values

    def explain(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Contributions (rows, columns) and bias; None if the model has no exact explanation.

        The model is affine around a row: its contributions are relative to the mean of the training rows, which the
        scaler took away, and with the bias they sum to the decision value.
        """
        if not hasattr(self.model, "explain"):
            return None
        explanation = self.model.explain(self.rest[:-1].transform(X))
        return explanation.contributions, explanation.bias

    def _records(self, X: np.ndarray, explain: bool) -> list[dict[str, Any]]:
        positive, values = self.score(X)
        records: list[dict[str, Any]] = [
            {"class": self.classes[index], "decision": None, "probability": None} for index in positive.astype(int)
        ]
        if values is not None and self.sigmoid is not None:
            for record, value, p in zip(records, values.tolist(), self.sigmoid(values).tolist()):
                record |= {"decision": value, "probability": dict(zip(self.classes, (1 - p, p)))}
        if explain:
            for record, explanation in zip(records, self._explanations(X)):
                record["explanation"] = explanation
        return records

    def _explanations(self, X: np.ndarray) -> list[dict[str, Any]]:
        found = self.explain(X)
        if found is None:
            return [{"not_available": f"{type(self.model).__name__} has no exact explanation."}] * len(X)
        return [
            {"bias": bias, "contributions": dict(zip(self.columns, row))}
            for row, bias in zip(found[0].tolist(), found[1].tolist())
        ]


def example(encoder: RawEncoder) -> dict[str, Any]:
    """A row that the encoder knows: its usual values."""
    row: dict[str, Any] = {}
    for name, categories, fill in zip(encoder.columns_, encoder.categories_, encoder.fill_):
        if categories is not None:
            row[name] = categories[0] if math.isnan(fill) else categories[min(round(fill), len(categories) - 1)]
        else:
            row[name] = 0.0 if math.isnan(fill) else float(f"{fill:.4g}")
    return row


def save(folder: Path, pipe: Any, sigmoid: Sigmoid | None) -> None:
    """Write the two files; ValueError names types that are not on the list."""
    content = skops.io.dumps(pipe)
    foreign = trusted_types.foreign(skops.io.get_untrusted_types(data=content))
    if foreign:
        raise ValueError(f"it holds {', '.join(foreign)}, not on the list of pipeline/trusted.py")
    facts = {"sigmoid": sigmoid and sigmoid._asdict(), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / PIPELINE).write_bytes(content)
    (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def load(folder: Path) -> ServedModel:
    """Read what `save` wrote; MlflowException if the file was changed since, or names a type that is not trusted."""
    content = (folder / PIPELINE).read_bytes()
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    if hashlib.sha256(content).hexdigest() != facts["sha256"]:
        raise MlflowException(f"{folder / PIPELINE} was changed after it was registered; it is not loaded.")
    try:
        pipe = skops.io.loads(content, trusted=list(trusted_types.TYPES))
    except UntrustedTypesFoundException as error:
        raise MlflowException(f"{folder / PIPELINE} is not loaded: {error}") from None
    return ServedModel(pipe, facts["sigmoid"] and Sigmoid(**facts["sigmoid"]))


def _load_pyfunc(path: str) -> ServedModel:
    """What MLflow calls."""
    bad_requests.install()
    integrity.check(Path(path).parents[1])
    return load(Path(path))
