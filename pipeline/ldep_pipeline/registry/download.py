"""A registered model as a checked copy on this machine. No code of its folder is ever imported."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")

import mlflow
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from ldep_pipeline.common.errors import LONGEST, UserError, first_line, masked
from ldep_pipeline.config import paths
from ldep_pipeline.registry import keys, signatures
from ldep_pipeline.registry.origin import Origin
from ldep_pipeline.registry.signatures import Untrusted
from ldep_pipeline.serving import mlflow_folder, served_model
from ldep_pipeline.serving.training_profile import TrainingProfile
from ldep_pipeline.tracking import connection

ADDRESS = re.compile(r"models:/(?P<name>[^/@]+)(@(?P<alias>[^/@]+)|/(?P<version>\d+))")
SOURCE = re.compile(r"models:/(?P<model_id>m-[0-9a-f]+)")
ABSENT = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")  # MLflow's errors for a name and for an alias
CHECK_ADDRESS = "If this is the wrong one, press Ctrl-C and correct MLFLOW_TRACKING_URI."
PREFIX = "ldep-"  # of the name of a registered model; the data set follows
FORMS = "models:/ldep-NAME@champion, models:/ldep-NAME/VERSION, or a folder"


def name_of(dataset: str) -> str:
    """The name of the registered model of a data set."""
    return f"{PREFIX}{dataset}"


@dataclass(frozen=True)
class Opened:
    """A loaded model, and what its folder says of its origin and of the rows of training, if it does.

    `version` is its number; None for a folder.
    """

    model: served_model.ServedModel
    version: str | None
    origin: Origin | None
    profile: TrainingProfile | None


def load(uri: str, root: Path = Path()) -> served_model.ServedModel:
    """The model of a models:/ address or of a folder; UserError says why it is not loaded."""
    return open_model(uri, root).model


def open_model(uri: str, root: Path = Path()) -> Opened:
    """The same, with the files beside the model."""
    with _copy(uri, root) as (folder, version):
        data = served_files(uri, folder)
        try:
            return Opened(served_model.load(data), version, Origin.load(data), TrainingProfile.load(data))
        except ValueError as error:
            raise UserError(f"{uri} is not loaded: {error}") from None


def served_files(uri: str, folder: Path) -> Path:
    """The folder of the served model's own files in a copy of a model."""
    data = folder / mlflow_folder.DATA
    if not (data / served_model.PIPELINE).is_file():
        raise UserError(f"{uri} was not made by `ldep register`: {data} is missing.")
    return data


def version_of(uri: str, root: Path = Path(), advice: str = CHECK_ADDRESS) -> str:
    """The number of the version that a models:/ address names now."""
    address = _parsed(uri)

    def look_up() -> ModelVersion:
        with connection.few_retries():
            return _version(address)

    store = connection.use_existing(root)
    try:
        limit = connection.LIMIT_FOR_A_NEW_SERVER
        return str(connection.patiently(f"looking up {uri}", store, look_up, limit, advice=advice).version)
    except connection.STORE_ERRORS as error:
        raise _unreadable(uri, address, store, error, root) from None


@contextmanager
def checked_copy(uri: str, root: Path = Path(), verify: bool = True) -> Iterator[Path]:
    """The folder of a model while it is used.

    For a models:/ address it is a private copy that has been checked, unless `verify` is false. A folder of the user's
    is taken as it is.
    """
    with _copy(uri, root, verify) as (folder, _):
        yield folder


@contextmanager
def _copy(uri: str, root: Path, verify: bool = True) -> Iterator[tuple[Path, str | None]]:
    """The folder, and the number of the version; None for a folder of the user's."""
    if Path(uri).is_dir():
        yield Path(uri), None
        return
    address = _parsed(uri)
    # MLflow's threads may write for a moment after one of them has failed: that must not hide why it failed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:

        def look_up() -> ModelVersion:
            with connection.few_retries():
                return _version(address)

        def copy() -> Path:
            return fetch(version, Path(scratch), root, verify)

        try:
            store = connection.use_existing(root)
            limit = connection.LIMIT_FOR_A_NEW_SERVER
            version = connection.patiently(f"looking up {uri}", store, look_up, limit, advice=CHECK_ADDRESS)
            folder = connection.patiently(f"reading {uri}", store, copy, advice=CHECK_ADDRESS)
        except Untrusted as error:
            dataset = address["name"].removeprefix(PREFIX)
            raise UserError(
                f"{uri} is not loaded: {error}. `ldep register {dataset}` registers it again if data and settings are "
                f"still the same; otherwise `ldep register {dataset} --promote` makes a new model the champion. "
                "docs/serving.md explains signatures."
            ) from None
        except connection.STORE_ERRORS as error:
            raise _unreadable(uri, address, store, error, root) from None
        yield folder, str(version.version)


def _parsed(uri: str) -> re.Match[str]:
    address = ADDRESS.fullmatch(uri)
    if address is None:
        raise UserError(f"there is no model {uri}: it must be {FORMS}.")
    return address


def _unreadable(uri: str, address: re.Match[str], store: str, error: Exception, root: Path) -> UserError:
    # MLflow's message has several lines: first that a download failed, then which file, and why.
    reason = masked(" ".join(str(error).split()))[:LONGEST].rstrip(".")
    if not isinstance(error, MlflowException) or error.error_code not in ABSENT:
        return UserError(f"{uri} cannot be read from {masked(store)}: {reason}.")
    refused = _refusal(address["name"].removeprefix(PREFIX), root)
    if refused:
        return UserError(f"there is no model {uri}: {refused}.")
    return UserError(f"there is no model {uri}: {reason}. `ldep register DATASET` makes one.")


def _version(address: re.Match[str]) -> ModelVersion:
    client = mlflow.MlflowClient()
    if address["alias"] is not None:
        return client.get_model_version_by_alias(address["name"], address["alias"])
    return client.get_model_version(address["name"], address["version"])


def fetch(version: ModelVersion, into: Path, root: Path, verify: bool = True) -> Path:
    """Copy the files of a version into a folder and check them; Untrusted says why they are refused."""
    model_id = logged_model_of(version)
    if model_id is None:
        raise Untrusted("it was not registered by ldep")
    try:
        location = mlflow.MlflowClient().get_logged_model(model_id).artifact_location
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            raise Untrusted(f"its files are lost: the logged model {model_id} was deleted") from None
        raise
    try:
        if not mlflow.artifacts.list_artifacts(artifact_uri=location):
            raise Untrusted(f"its files are lost: {location} is empty")
        folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=location, dst_path=str(into)))
    except ValueError as error:  # a location that MLflow has not written
        raise Untrusted(f"its files cannot be read from {masked(location)}: {first_line(error)}") from None
    if verify:
        signatures.check(folder, version.name, model_id, keys.TrustedKeys.read(root))
    return folder


def logged_model_of(version: ModelVersion) -> str | None:
    """The id of the logged model behind a version. MLflow's database keeps it in the source alone."""
    source = SOURCE.fullmatch(version.source or "")
    return source["model_id"] if source else None


def _refusal(dataset: str, root: Path) -> str | None:
    """Why the last run of `register` registered nothing; None if it did."""
    path = root / paths.REGISTRY / f"{dataset}.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return None if record["registered"] else str(record["why"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
