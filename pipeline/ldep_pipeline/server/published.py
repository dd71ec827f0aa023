"""Which version of the model a server's processes answer with: a file that the supervisor writes and each worker reads.

The supervisor publishes a version after it has verified its files and tried them. A worker then loads them beside the
version that it answers with, tries them too, and goes over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ldep_pipeline.common.files import write_json
from ldep_pipeline.serving import served_model
from ldep_pipeline.serving.served_model import ServedModel, UnusableModel
from ldep_pipeline.serving.training_profile import TrainingProfile

POINTER = "current.json"


@dataclass(frozen=True)
class Published:
    """A version of the registry, or another name for a folder of the user's, and the folder of its files."""

    version: str
    data: Path


def publish(folder: Path, published: Published) -> None:
    write_json(folder / POINTER, {"version": published.version, "data": str(published.data)})


def read(folder: Path) -> Published:
    values = json.loads((folder / POINTER).read_text(encoding="utf-8"))
    return Published(values["version"], Path(values["data"]))


def load(data: Path) -> tuple[ServedModel, TrainingProfile | None]:
    """The model in a folder, and its profile, after it has answered its example; UnusableModel says what is wrong."""
    model = served_model.load(data)
    try:
        profile = TrainingProfile.load(data)
        (answer,) = model.predict(pd.DataFrame([example(model, profile)], dtype=object), {"output": "full"})
    except ValueError as error:
        raise UnusableModel(f"{data} cannot answer its own example: {error}") from None
    if answer["class"] not in model.classes:
        raise UnusableModel(f"{data} answers its own example with {answer['class']!r}, which is none of its classes.")
    return model, profile


def example(model: ServedModel, profile: TrainingProfile | None) -> dict[str, Any]:
    """Return a row to try the model with: a real one if the profile has one, else typical values."""
    return (profile and profile.example) or model.encoder.typical_row()
