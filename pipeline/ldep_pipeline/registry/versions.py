"""MLflow's model registry: one registered model per data set, one version per final model, two aliases.

A version carries the key of everything it depends on, so that the same model is registered once, however often
`register` runs and wherever a run was interrupted.
"""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mlflow
from mlflow.entities import LoggedModelStatus, Metric
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from ldep_pipeline.registry import download, history, keys, signatures
from ldep_pipeline.registry.history import Event
from ldep_pipeline.serving import mlflow_folder
from ldep_pipeline.tracking.connection import Connection
from ldep_pipeline.tracking.runs import DATASET, KEY, MODEL, OWNER, WINNER, YES

if TYPE_CHECKING:
    from ldep_pipeline.registry.final_model import Fitted
    from ldep_pipeline.registry.origin import Origin

CHAMPION, CHALLENGER = "champion", "challenger"
# Tags of a version.
FINAL_KEY, DATA, DECISION, RULE, WHY = "ldep.final", "data_digest", "decision", "rule", "why"
BEATS_GUESSING = "beats_guessing"
METRIC = "metric."  # followed by the name of a metric
LONGEST = 5000  # characters that MLflow stores of a tag
TEXT = """\
The best model of the cross-validation on **{dataset}**, fitted on all its rows. It accepts raw rows
and returns the class.

`champion` is the version to use: `make serve DATASET={dataset}`, or `models:/ldep-{dataset}@champion`. `challenger` is
the last version that was not promoted. The description of each version gives the reason.
"""


@dataclass(frozen=True)
class Broken:
    """A version of this project whose files cannot be loaded any more, and the reason."""

    number: str
    reason: str


@dataclass(frozen=True)
class Registry:
    """The registered model of one data set."""

    store: Connection
    dataset: str
    root: Path

    @property
    def client(self) -> mlflow.MlflowClient:
        return self.store.client

    @property
    def name(self) -> str:
        return download.name_of(self.dataset)

    def find(self, key: str) -> tuple[str | None, list[Broken]]:
        """The version with this key whose files are intact, and the versions of this project whose files are not."""
        intact, broken = [], []
        with_key = self.client.search_model_versions(f"name = '{self.name}' and tags.`{FINAL_KEY}` = '{key}'")
        for version in sorted(with_key, key=lambda version: int(version.version)):
            try:
                with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
                    download.fetch(version, Path(scratch), self.root)
                    intact.append(str(version.version))
            except signatures.Untrusted as error:
                if version.tags.get(OWNER) == self.store.owner:  # otherwise it belongs to a project with another key
                    broken.append(Broken(str(version.version), str(error)))
        return (intact[0] if intact else None), broken

    def holder(self, alias: str) -> ModelVersion | None:
        return holder(self.client, self.name, alias)

    def alias_of(self, number: str) -> str:
        return alias_of(self.client, self.name, number)

    def events(self) -> list[Event]:
        return history.read(self.client.get_registered_model(self.name).tags)

    def record(self, event: Event) -> None:
        history.record(self.client, self.name, event)

    def add(
        self,
        fitted: Fitted,
        origin: Origin,
        key: str,
        metrics: dict[str, float],
        run_id: str | None,
        ship_code: bool = False,
    ) -> str:
        """Store the model, signed, and create its version; return its number."""
        self._ensure_registered_model()
        tags = {FINAL_KEY: key, OWNER: self.store.owner}
        self._remove_logged_models(tags)
        model_id = self.client.create_logged_model(self.store.experiment, name=self.name, tags=tags).model_id
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "model")
            mlflow_folder.write(
                folder,
                fitted.pipe,
                fitted.link,
                fitted.class_path,
                profile=fitted.profile,
                threshold=fitted.threshold,
                sets=fitted.sets,
                model_id=model_id,
                ship_code=ship_code,
            )
            origin.save(folder / mlflow_folder.DATA)
            signatures.sign(folder, self.name, model_id, keys.signing_key(self.root))
            self.client.log_model_artifacts(model_id, str(folder))
        self.client.finalize_logged_model(model_id, LoggedModelStatus.READY)
        if run_id is not None:  # the numbers of the cross-validation, shown on the model's page too
            values = [Metric(name, value, 0, 0, model_id=model_id) for name, value in metrics.items()]
            self.client.log_batch(run_id, metrics=values)
        version = self.client.create_model_version(
            self.name,
            f"models:/{model_id}",
            run_id=run_id,
            tags=tags,
            model_id=model_id,
            await_creation_for=60,
        )
        return str(version.version)

    def replace(self, broken: Broken, number: str) -> None:
        """Give the alias of a broken version to another one, and delete the broken one."""
        alias = self.alias_of(broken.number)
        if alias != "none":
            self.point(alias, number)
        self.client.delete_model_version(self.name, broken.number)

    def point(self, alias: str, number: str) -> None:
        point(self.client, self.name, alias, number)

    def training_run(self, model: str, key: str) -> str | None:
        """The tracked run of the cross-validation that selected the model."""
        where = f"tags.{DATASET} = '{self.dataset}' and tags.{MODEL} = '{model}' and tags.`{KEY}` = '{key}'"
        runs = self.client.search_runs([self.store.experiment], where, max_results=1)
        return runs[0].info.run_id if runs else None

    def mark_winner(self, run_id: str | None) -> None:
        """Tag the run of the model that is registered, and no other run of the data set."""
        where = f"tags.{DATASET} = '{self.dataset}' and tags.{WINNER} = '{YES}'"
        for run in self.client.search_runs([self.store.experiment], where):
            if run.info.run_id != run_id:
                self.client.delete_tag(run.info.run_id, WINNER)
        if run_id is not None:
            self.client.set_tag(run_id, WINNER, YES)

    def _remove_logged_models(self, tags: dict[str, str]) -> None:
        """Remove what an interrupted run of this project left. Another project may be about to make its version."""
        where = " and ".join(f"tags.`{tag}` = '{value}'" for tag, value in tags.items())
        for leftover in self.client.search_logged_models([self.store.experiment], where):
            self.client.delete_logged_model(leftover.model_id)

    def _ensure_registered_model(self) -> None:
        try:
            self.client.create_registered_model(self.name, {DATASET: self.dataset}, TEXT.format(dataset=self.dataset))
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise


def holder(client: mlflow.MlflowClient, name: str, alias: str) -> ModelVersion | None:
    """The version that holds an alias."""
    try:
        return client.get_model_version_by_alias(name, alias)
    except MlflowException as error:
        if error.error_code in download.ABSENT:
            return None
        raise


def alias_of(client: mlflow.MlflowClient, name: str, number: str) -> str:
    """The alias that a version holds now, or `none`."""
    for alias in (CHAMPION, CHALLENGER):
        version = holder(client, name, alias)
        if version is not None and str(version.version) == number:
            return alias
    return "none"


def point(client: mlflow.MlflowClient, name: str, alias: str, number: str) -> None:
    """Move an alias to a version; a version that becomes champion is no longer the challenger."""
    client.set_registered_model_alias(name, alias, number)
    if alias == CHAMPION:
        challenger = holder(client, name, CHALLENGER)
        if challenger is not None and str(challenger.version) == number:
            client.delete_registered_model_alias(name, CHALLENGER)


def standing(client: mlflow.MlflowClient, name: str, number: str) -> dict[str, Any]:
    """Which alias a version holds now and why, and the champion, as the record of the stage has them.

    The alias may differ from the decision: a later version may have been decided, or somebody moved it.
    """
    tags = client.get_model_version(name, number).tags
    alias, why = alias_of(client, name, number), tags[WHY]
    champion = holder(client, name, CHAMPION)
    if alias != tags[DECISION]:
        rollback = history.left_by_rollback(history.read(client.get_registered_model(name).tags), number)
        now = "no version" if champion is None else f"version {champion.version}"
        left = f", since {rollback.by} rolled back on {rollback.when}: {rollback.why}" if rollback else ""
        why = f"{now} is the champion now{left}; the decision for this version was {tags[DECISION]}: {why}"
    model = None if champion is None else champion.tags.get("model", "")
    return {
        "decision": alias,
        "why": why,
        "champion": None if champion is None else {"version": int(champion.version), "model": model},
    }


def as_tags(metrics: dict[str, float], facts: dict[str, Any]) -> dict[str, str]:
    """Tags of a version: one per metric, and the facts as text."""
    values = {METRIC + name: repr(value) for name, value in metrics.items()}
    texts = {name: fact if isinstance(fact, str) else json.dumps(fact) for name, fact in facts.items()}
    return values | {name: text[:LONGEST] for name, text in texts.items()}


def metric_of(version: ModelVersion, name: str) -> float | None:
    """The value of a metric; None if the version does not have it, or if somebody wrote something else in its place."""
    try:
        value = float(version.tags[METRIC + name])
    except (KeyError, ValueError):
        return None
    return value if math.isfinite(value) else None


def is_decided(tags: dict[str, str], rule: str) -> bool:
    """Whether the tags of a version hold a complete decision by this rule. Anyone who may edit tags can remove one."""
    return tags.get(RULE) == rule and tags.get(DECISION) in (CHAMPION, CHALLENGER) and WHY in tags
