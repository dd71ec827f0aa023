"""The served model: it takes raw rows and answers the class and, on request, score, probability and explanation.

It is stored in two files without a pickle: the pipeline in skops's format, restricted to the types of
`trusted_types`, and a JSON file for the rest. Neither MLflow nor any code of the model's folder is
needed to load them.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from skops.io.exceptions import UntrustedTypesFoundException

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.answers import TableModel
from ldep.estimators import FittedModelClassifier, TauClassifier, VoteEnsemble
from ldep.explain import Explanation
from ldep.export import NotExportable
from ldep.model import class_numbers, folded
from ldep.table import CellError
from ldep_pipeline.common.errors import short
from ldep_pipeline.metrics.evaluation import decision_values
from ldep_pipeline.serving import calibration, counterfactual_answers, prediction_sets, trusted_types
from ldep_pipeline.serving.calibration import Calibration
from ldep_pipeline.serving.prediction_sets import ServedSets

PIPELINE, DESCRIPTION = "pipeline.skops", "served.json"
OUTPUTS = ("label", "scores", "full", prediction_sets.OUTPUT, counterfactual_answers.OUTPUT)


# By column, the rows whose value the model takes as missing, because training has seen none like it.
Report = dict[str, np.ndarray]


class UnusableModel(ValueError):
    """The files of a model cannot be loaded: they are damaged, not trusted, or of another version of ldep."""


class ServedModel:
    """A fitted pipeline that begins with a TableEncoder, and what turns its decision values into answers.

    `link` gives their probabilities, if the model needs one. `threshold` is subtracted from the decision values of two
    classes: the second class is the answer where the difference is not negative. `sets` makes prediction sets of them.
    """

    def __init__(
        self, pipe: Any, link: Calibration | None, threshold: float = 0.0, sets: ServedSets | None = None
    ) -> None:
        self.pipe, self.link, self.threshold, self.sets = pipe, link, threshold, sets
        self.encoder, self.rest, self.model = pipe[0], pipe[1:], pipe[-1]
        self.classes = [str(label) for label in pipe.classes_]
        self.features = list(self.encoder.get_feature_names_out())
        self.columns = list(dict.fromkeys(self.encoder.source_columns))

    def predict(self, rows: pd.DataFrame, params: dict[str, Any] | None = None) -> list[Any]:
        """One answer per row; ValueError says which cell or parameter is wrong."""
        return self.answer(rows, params or {})[0]

    def answer(self, rows: pd.DataFrame, params: dict[str, Any]) -> tuple[list[Any], Report]:
        """`predict`, and the values that were taken as missing. With params.strict such a value is an error."""
        output, strict, asked = _output(params), _strict(params), prediction_sets.check(params)
        X, report = self.read(rows)
        if strict:
            refuse(rows, report)
        if output == "label" or not len(X):
            return [self.classes[number] for number in self.class_numbers(X)], report
        if output == prediction_sets.OUTPUT:
            numbers, values = self.score(X)
            found = prediction_sets.answers(self.sets, values, self.classes, asked, len(X))
            return [{"class": self.classes[number], output: answer} for number, answer in zip(numbers, found)], report
        if output == counterfactual_answers.OUTPUT:
            answers = counterfactual_answers.answers(self, rows, X, params)
            labels = [self.classes[number] for number in self.class_numbers(X)]
            return [{"class": label, output: answer} for label, answer in zip(labels, answers)], report
        records = self._records(X, explain=output == "full")
        if output == "full":
            for record, columns in zip(records, columns_by_row(report, len(X))):
                record["taken_as_missing"] = columns
        return records, report

    def read(self, frame: pd.DataFrame) -> tuple[np.ndarray, Report]:
        """Raw rows as the numbers that the model sees, before scaling, and the values that were taken as missing.

        ValueError names a cell that is wrong.
        """
        return self.encoder.read(frame)

    def numbers(self, frame: pd.DataFrame) -> np.ndarray:
        return self.read(frame)[0]

    def class_numbers(self, X: np.ndarray) -> np.ndarray:
        """The number of each row's answer among the classes."""
        return self.score(X)[0] if self._decides or not len(X) else self._predicted(X)

    def score(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """`class_numbers` and the decision values, if the model has any.

        With two classes one value per row, not negative where the second class is the answer; with more classes one
        column per class. (No estimator takes a table without rows.)
        """
        if not len(X):
            return np.zeros(0, dtype=np.intp), folded(np.zeros((0, len(self.classes))))
        values = decision_values(self.rest, self.encoder.standardised(X))
        if values is not None:
            values = values - self.threshold  # 0 with more than two classes
        return (class_numbers(values) if self._decides and values is not None else self._predicted(X)), values

    def probability(self, X: np.ndarray, values: np.ndarray | None) -> np.ndarray | None:
        """The probability of each class for rows with these decision values; None if the model has none."""
        if is_calibrated(self.model):
            if not len(X):
                return np.zeros((0, len(self.classes)))
            if isinstance(self.model, TauClassifier) and values is not None:  # its models need not vote again
                return self.model.probabilities_at(values + self.threshold)
            return np.asarray(self.rest.predict_proba(self.encoder.standardised(X)))
        return None if values is None or self.link is None else self.link(values)

    @cached_property
    def table(self) -> TableModel:
        """The ℓ-DEP, which answers exactly in raw columns; NotExportable says that the model is none."""
        if not self.is_exact:
            raise NotExportable(f"{type(self.model).__name__} has no exact counterfactuals.")
        own = self.link is None or is_calibrated(self.model)
        link = None if own or self.link is None else self.link.as_link(self.threshold)
        return TableModel(self.pipe, self.threshold, link)

    @property
    def is_exact(self) -> bool:
        """Whether the model is an ℓ-DEP, which has exact explanations."""
        return isinstance(self.model, FittedModelClassifier)

    def explain(self, X: np.ndarray) -> Explanation | None:
        """Contributions (rows, columns) and bias of each row; None if the model has no exact explanation."""
        return self.table.explain_numbers(X) if self.is_exact else None

    @property
    def _decides(self) -> bool:
        """Whether the decision values decide here; of other models, their own `predict` does."""
        return self.threshold != 0 or isinstance(self.model, TauClassifier)

    def _predicted(self, X: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.pipe.classes_, self.rest.predict(self.encoder.standardised(X)))

    def _records(self, X: np.ndarray, explain: bool) -> list[dict[str, Any]]:
        numbers, values = self.score(X)
        records: list[dict[str, Any]] = [
            {"class": self.classes[number], "decision": None, "probability": None} for number in numbers
        ]
        probability = self.probability(X, values)
        if values is not None and probability is not None:
            for record, value, shares in zip(records, values.tolist(), probability.tolist()):
                decision = dict(zip(self.classes, value)) if isinstance(value, list) else value
                record |= {"decision": decision, "probability": dict(zip(self.classes, shares))}
        if explain:
            for record, explanation in zip(records, self._explanations(X)):
                record["explanation"] = explanation
        return records

    def _explanations(self, X: np.ndarray) -> list[dict[str, Any]]:
        explanation = self.explain(X)
        if explanation is None:
            return [{"not_available": f"{type(self.model).__name__} has no exact explanation."}] * len(X)
        records: list[dict[str, Any]] = [
            {"bias": offset, "contributions": dict(zip(self.columns, row))}
            for row, offset in zip(explanation.contributions.tolist(), explanation.bias.tolist())
        ]
        for column, rows in self.table.explain_words(X).items():
            for record, words in zip(records, rows):
                record.setdefault("words", {})[column] = words
        if len(self.classes) > 2 and explanation.rival is not None:
            for record, rival in zip(records, explanation.rival):
                record["against"] = str(rival)
        return records


def is_calibrated(model: Any) -> bool:
    """Whether the probabilities of a fitted model come from rows that its parts had not seen."""
    if isinstance(model, LDEPClassifier):
        return model.loss == "hinge" and model.probability  # the logistic loss fits nothing to unseen rows
    return isinstance(model, (LDEPClassifierCV, VoteEnsemble))


def columns_by_row(report: Report, count: int) -> list[list[str]]:
    """Return for each of `count` rows the columns whose value was taken as missing."""
    columns: list[list[str]] = [[] for _ in range(count)]
    for name, rows in report.items():
        for row in rows.tolist():
            columns[row].append(name)
    return columns


def refuse(frame: pd.DataFrame, report: Report) -> None:
    """Raise CellError for the first row that has a value taken as missing."""
    if not report:
        return
    row, column = min((int(rows[0]), name) for name, rows in report.items())
    value = short(repr(frame[column].iloc[row]))
    raise CellError(
        row, column, f"{value} is not a value that the model knows; strict mode does not take it as missing."
    )


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


def save(
    folder: Path, pipe: Any, link: Calibration | None, threshold: float = 0.0, sets: ServedSets | None = None
) -> None:
    """Write the two files; ValueError names types that are not on the list."""
    content = skops.io.dumps(pipe)
    foreign = trusted_types.foreign(skops.io.get_untrusted_types(data=content))
    if foreign:
        raise ValueError(f"it holds {', '.join(foreign)}, not on the list of {trusted_types.__name__}")
    description = {
        "ldep": installed_version(),
        "link": None if link is None else link._asdict(),
        "threshold": threshold,
        "sets": prediction_sets.to_json(sets),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    (folder / PIPELINE).write_bytes(content)
    (folder / DESCRIPTION).write_text(json.dumps(description) + "\n", encoding="utf-8")


def load(folder: Path) -> ServedModel:
    """Read what `save` wrote; UnusableModel says why that is not possible."""
    try:
        content = (folder / PIPELINE).read_bytes()
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        version, digest = description["ldep"], description["sha256"]
        link, threshold = calibration.from_json(description["link"]), float(description["threshold"])
        sets = prediction_sets.from_json(description["sets"])
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
    return ServedModel(pipe, link, threshold, sets)


def installed_version() -> str | None:
    """The version of the installed package; None where only code that a model carries can be imported."""
    try:
        return metadata.version("ldep")
    except metadata.PackageNotFoundError:
        return None
