"""The history of a registered model, and the way back to an earlier version of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import mlflow
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from ldep_pipeline.common.errors import UserError, first_line, masked
from ldep_pipeline.common.files import locked, write_json
from ldep_pipeline.config import paths
from ldep_pipeline.registry import download, history, versions
from ldep_pipeline.registry.history import Event
from ldep_pipeline.registry.signatures import Untrusted
from ldep_pipeline.registry.versions import CHAMPION
from ldep_pipeline.serving import mlflow_folder, served_model
from ldep_pipeline.tracking import connection

Result = TypeVar("Result")


@dataclass(frozen=True)
class History:
    """The events of a registered model, the first one first, and the version that is champion now."""

    name: str
    events: list[Event]
    champion: str | None

    @property
    def is_unexplained(self) -> bool:
        return history.unexplained(self.events, self.champion)


def read(dataset: str, root: Path = Path()) -> History:
    """The history of the registered model of a data set."""
    name = download.name_of(dataset)

    def look_up() -> History:
        client = mlflow.MlflowClient()
        present = versions.holder(client, name, CHAMPION)
        events = history.read(client.get_registered_model(name).tags)
        return History(name, events, None if present is None else str(present.version))

    return _ask(f"reading the history of {name}", dataset, look_up, root)


def roll_back(dataset: str, version: str | None, why: str, root: Path = Path()) -> Event:
    """Make an earlier version the champion, by default the champion before this one; return what was recorded.

    A version that does not verify, that cannot be loaded, or that does not beat guessing is refused.
    """
    if not why.strip():
        raise UserError("--why is empty; say in a few words why the present champion must not serve.")
    with locked(root / paths.LOCKS / f"{dataset}.register.lock", f"the registration of {dataset}"):
        found = read(dataset, root)
        name, present = found.name, found.champion
        target = version or history.previous_champion(found.events, present or "")
        if target is None:
            raise UserError(
                f"the history of {name} names no champion before version {present or 'none'}; name the version that is "
                f"to serve. `ldep history {dataset}` lists them."
            )
        if target == present:
            raise UserError(f"version {target} of {name} is the champion already.")

        def move() -> Event:
            client = mlflow.MlflowClient()
            _check(client.get_model_version(name, target), root)
            versions.point(client, name, CHAMPION, target)
            event = Event(
                history.ROLLED_BACK, target, why.strip(), instead_of=present or "", decided_by=history.ON_REQUEST
            )
            history.record(client, name, event)
            _correct_record(client, name, root / paths.REGISTRY / f"{dataset}.json")
            return event

        return _ask(f"rolling back {name}", dataset, move, root)


def _check(version: ModelVersion, root: Path) -> None:
    """UserError if a version must not serve."""
    which = f"version {version.version} of {version.name}"
    if version.tags.get(versions.BEATS_GUESSING) == "false":
        raise UserError(f"{which} does not beat guessing; nothing was changed. Name another version.")
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            served_model.load(download.fetch(version, Path(scratch), root) / mlflow_folder.DATA)
    except (Untrusted, served_model.UnusableModel) as error:
        reason = str(error).rstrip(".")
        raise UserError(f"{which} cannot serve: {reason}; nothing was changed. Name another version.") from None


def _correct_record(client: mlflow.MlflowClient, name: str, path: Path) -> None:
    """Make the record of the stage say what holds now: the next `dvc repro` then draws the page again."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        number = str(record["version"])
    except (OSError, ValueError, KeyError, TypeError):  # another clone, or nothing registered: there is none to correct
        return
    if record.get("registered") == name:
        write_json(path, record | versions.standing(client, name, number), infinite=True)


def _ask(what: str, dataset: str, work: Callable[[], Result], root: Path) -> Result:
    """What the registry answers; UserError if it does not answer, or knows no such model or version."""
    store = connection.use_existing(root)

    def quickly() -> Result:
        with connection.few_retries():
            return work()

    limit = connection.LIMIT_FOR_A_NEW_SERVER
    try:
        return connection.patiently(what, store, quickly, limit, advice=download.CHECK_ADDRESS)
    except connection.STORE_ERRORS as error:
        reason = first_line(error)
        if isinstance(error, MlflowException) and error.error_code in download.ABSENT:
            raise UserError(
                f"{masked(store)} has no such model or version: {reason}. `ldep register {dataset}` registers a model, "
                f"and `ldep history {dataset}` lists its versions."
            ) from None
        raise UserError(f"the registry {masked(store)} does not answer: {reason}; nothing was changed.") from None
