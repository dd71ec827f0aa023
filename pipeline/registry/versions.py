"""MLflow's model registry: a registered model for each set, a version for each final model, two aliases.

A version carries the key of all it depends on, so that the same model is registered once, however often and wherever a
run was cut off.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.entities import Metric
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.protos.databricks_pb2 import RESOURCE_ALREADY_EXISTS, RESOURCE_DOES_NOT_EXIST, ErrorCode
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema, TensorSpec
from mlflow.types.schema import AnyType

import ldep
import pipeline
from pipeline.encoding.encoder import RawEncoder
from pipeline.serving import integrity, served_model
from pipeline.serving.calibration import Sigmoid
from pipeline.tracking import run_content
from pipeline.tracking.tags import DATASET, KEY, MODEL, OWNER

CHAMPION, CHALLENGER = "champion", "challenger"
FINAL_KEY, DATA, DECISION, RULE, WHY = "ldep.final", "data_digest", "decision", "rule", "why"
METRIC = "metric."  # of a tag
TEXT = """\
The winner of the cross-validation on **{dataset}**, fitted on all its rows. It takes raw rows and answers the class.

`champion` is the version to use: `make serve DATASET={dataset}`, or `models:/ldep-{dataset}@champion`. `challenger` is
the last version that was not better. Why, is in the description of a version.
"""


def name_of(dataset: str) -> str:
    return f"ldep-{dataset}"


@dataclass(frozen=True)
class Registry:
    client: mlflow.MlflowClient
    experiment: str
    dataset: str
    owner: str

    @property
    def name(self) -> str:
        return name_of(self.dataset)

    def version(self, key: str) -> ModelVersion | None:
        found = self.client.search_model_versions(f"name = '{self.name}' and tags.`{FINAL_KEY}` = '{key}'")
        return min(found, key=lambda version: int(version.version)) if found else None

    def holder(self, alias: str) -> ModelVersion | None:
        try:
            return self.client.get_model_version_by_alias(self.name, alias)
        except MlflowException as error:
            if error.error_code in (ErrorCode.Name(RESOURCE_DOES_NOT_EXIST), "INVALID_PARAMETER_VALUE"):
                return None
            raise

    def standing(self, version: str) -> tuple[str, str]:
        """The alias that a version holds now, or `none`; and who is the champion, in words."""
        holders = {alias: found.version for alias in (CHAMPION, CHALLENGER) if (found := self.holder(alias))}
        held = next((alias for alias, holder in holders.items() if str(holder) == version), "none")
        who = "it" if held == CHAMPION else f"version {holders[CHAMPION]}" if CHAMPION in holders else "no version"
        return held, f"{who} is the champion now"

    def add(
        self, pipe: Any, sigmoid: Sigmoid | None, key: str, class_path: str, metrics: dict[str, float], run: str | None
    ) -> str:
        """Log the model and create its version; return the version's number."""
        self._ensure()
        marks = {FINAL_KEY: key, OWNER: self.owner}
        # Ours, of a run that was cut off before its version was made. Another's may be about to have one.
        where = " and ".join(f"tags.`{tag}` = '{value}'" for tag, value in marks.items())
        for left in self.client.search_logged_models([self.experiment], where):
            self.client.delete_logged_model(left.model_id)
        mlflow.set_experiment(experiment_id=self.experiment)
        with tempfile.TemporaryDirectory() as scratch:
            info = mlflow.pyfunc.log_model(
                name=self.name, tags=marks, **content(Path(scratch), pipe, sigmoid, class_path)
            )
        if run is not None:  # the numbers of the cross-validation, shown on the model's page too
            self.client.log_batch(
                run, metrics=[Metric(name, value, 0, 0, model_id=info.model_id) for name, value in metrics.items()]
            )
        with tempfile.TemporaryDirectory() as scratch:
            files = integrity.files_digest(Path(mlflow.artifacts.download_artifacts(info.model_uri, dst_path=scratch)))
        self.client.set_logged_model_tags(info.model_id, {integrity.DIGEST: files})
        tags = {FINAL_KEY: key, integrity.DIGEST: files}
        made = self.client.create_model_version(
            self.name, info.model_uri, run_id=run, tags=tags, model_id=info.model_id, await_creation_for=60
        )
        return str(made.version)

    def describe(self, version: str, description: str, tags: dict[str, str]) -> None:
        self.client.update_model_version(self.name, version, description)
        for tag, value in tags.items():
            self.client.set_model_version_tag(self.name, version, tag, value[:5000])

    def describe_decision(self, version: str, decision: str, rule: str) -> None:
        self.client.set_model_version_tag(self.name, version, DECISION, decision)
        self.client.set_model_version_tag(self.name, version, RULE, rule)

    def point(self, alias: str, version: str) -> None:
        """An alias moves to a version; a version that becomes champion is no challenger any more."""
        self.client.set_registered_model_alias(self.name, alias, version)
        if alias == CHAMPION:
            challenger = self.holder(CHALLENGER)
            if challenger is not None and str(challenger.version) == version:
                self.client.delete_registered_model_alias(self.name, CHALLENGER)

    def training_run(self, dataset: str, model: str, key: str) -> str | None:
        """The tracked run of the cross-validation that chose the model."""
        where = f"tags.{DATASET} = '{dataset}' and tags.{MODEL} = '{model}' and tags.`{KEY}` = '{key}'"
        found = self.client.search_runs([self.experiment], where, max_results=1)
        return found[0].info.run_id if found else None

    def _ensure(self) -> None:
        try:
            self.client.create_registered_model(self.name, {DATASET: self.dataset}, TEXT.format(dataset=self.dataset))
        except MlflowException as error:
            if error.error_code != ErrorCode.Name(RESOURCE_ALREADY_EXISTS):
                raise


def content(scratch: Path, pipe: Any, sigmoid: Sigmoid | None, class_path: str) -> dict[str, Any]:
    """What MLflow is given to store a served model; its data are written into a folder of `scratch`."""
    folder = scratch / "served"
    folder.mkdir()
    served_model.save(folder, pipe, sigmoid)
    return {
        "loader_module": served_model.__name__,
        "data_path": str(folder),
        "code_paths": [str(Path(package.__file__ or "").parent) for package in (ldep, pipeline)],
        "signature": signature(pipe[0]),
        "input_example": (pd.DataFrame([served_model.example(pipe[0])]), {"output": "full"}),
        "pip_requirements": requirements(class_path),
    }


def signature(encoder: RawEncoder) -> ModelSignature:
    """The raw columns, by name; and the switch.

    Their type is `any`: as `double` MLflow refuses whole numbers that come from Python or from `mlflow models predict`,
    and as `string` missing cells become the text None. The encoder knows better what a cell may be.
    """
    columns: list[ColSpec | TensorSpec] = [ColSpec(AnyType(), name) for name in encoder.columns_]
    switch = ParamSpec("output", DataType.string, "label")
    return ModelSignature(Schema(columns), Schema([ColSpec(DataType.string)]), ParamSchema([switch]))


def requirements(class_path: str) -> list[str]:
    """The pins of every logged pipeline, and of the package of the classifier, if it is another one."""
    pins = run_content.requirements()
    package = class_path.split(".")[0]
    others = metadata.packages_distributions().get(package, []) if package not in ("ldep", "sklearn") else []
    return sorted({*pins, *(f"{other}=={metadata.version(other)}" for other in others)})


def tags(metrics: dict[str, float], facts: dict[str, Any]) -> dict[str, str]:
    """Tags of a version: each metric, and the facts as text."""
    shown = {name: value if isinstance(value, str) else json.dumps(value) for name, value in facts.items()}
    return {**{METRIC + name: repr(value) for name, value in metrics.items()}, **shown}


def metric(version: ModelVersion, name: str) -> float | None:
    held = version.tags.get(METRIC + name)
    return None if held is None else float(held)
