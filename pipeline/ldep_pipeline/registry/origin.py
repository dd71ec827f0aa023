"""Where a registered model comes from: the file that it was trained on, and what cross-validation promised of it.

The record lies in the model's folder, under its signature, so that nobody can lower a promise afterwards.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from ldep_pipeline.common.files import write_json
from ldep_pipeline.config.params import Params
from ldep_pipeline.data.settings import OwnData
from ldep_pipeline.data.tables import Layout
from ldep_pipeline.fitting.specs import Costs
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics.evaluation import Classes, classes_of
from ldep_pipeline.registry.selection import Selection

FILE = "origin.json"
TEXT_FILES = (".csv", ".arff")


@dataclass(frozen=True)
class Promise:
    """A metric on rows that no fit had seen: its mean over the folds, and the standard error of this mean.

    The standard error is corrected for the rows that the fits have in common, as Nadeau and Bengio propose; None for a
    single fold.
    """

    mean: float
    standard_error: float | None


@dataclass(frozen=True)
class Origin:
    """The target, how the file of training was written, how its rows were split, and what was promised.

    `delimiter`, `decimal` and `encoding` are None if the training file was no text file of the user's. `positive` is
    the rarer of two classes. `split` is "rows", "group" or "time", and `split_column` the column of a group or a time.
    `merged` names those of the two columns whose spellings are merged.
    """

    target: str
    metric: str
    promised: dict[str, Promise]
    folds: int
    rows: int
    positive: str | None = None
    costs: dict[str, float] | None = None
    split: str = "rows"
    split_column: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    merged: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, data: TrainingData, selected: Selection, own: OwnData | None, params: Params) -> Origin:
        classes = classes_of(data.y)
        is_text = own is not None and Path(own.path).suffix.lower() in TEXT_FILES
        split = own.split_column if own is not None else None
        return cls(
            target=data.target,
            metric=params.metric,
            promised={
                name: Promise(mean, error if math.isfinite(error := selected.errors[name]) else None)
                for name, mean in selected.metrics.items()
            },
            folds=data.n_folds,
            rows=len(data.y),
            positive=None if classes.positive is None else str(classes.labels[classes.positive]),
            costs=None if params.costs is None else params.costs.model_dump(),
            split="rows" if split is None else split.kind,
            split_column=None if split is None else split.column,
            delimiter=own.delimiter if own is not None and is_text else None,
            decimal=own.decimal if own is not None and is_text else None,
            encoding=own.encoding if own is not None and is_text else None,
            merged=[] if own is None else [name for name in own.merge if name in (own.target, split and split.column)],
        )

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, asdict(self))

    @classmethod
    def load(cls, folder: Path) -> Origin | None:
        """Read what `save` wrote; None for a folder without it, ValueError for a damaged file."""
        try:
            values = json.loads((folder / FILE).read_text(encoding="utf-8"))
            promised = {name: Promise(**promise) for name, promise in values.pop("promised").items()}
            return cls(promised=promised, **values)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{FILE} is damaged: {type(error).__name__}: {error}") from None

    def classes(self, labels: list[str]) -> Classes:
        """The classes of a model, as its metrics were measured."""
        positive = None if self.positive is None else labels.index(self.positive)
        return Classes(np.array(labels), positive, None if self.costs is None else Costs(**self.costs))

    def layout(self) -> Layout | None:
        """How the file of training was written; None if it was no text file of the user's."""
        if self.delimiter is None or self.decimal is None or self.encoding is None:
            return None
        return Layout(self.delimiter, self.decimal, self.encoding)
