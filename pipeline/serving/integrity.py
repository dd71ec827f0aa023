"""Whether the files of a registered model are still those that were registered."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

import mlflow
from mlflow.exceptions import MlflowException
from mlflow.models import Model
from mlflow.store.artifact.models_artifact_repo import REGISTERED_MODEL_META_FILE_NAME
from sqlalchemy.exc import SQLAlchemyError

from pipeline.common.digests import digest, file_digest
from pipeline.common.errors import first_line

log = logging.getLogger(__name__)
DIGEST = "ldep.files"  # the tag of a version, and of its logged model


def files_digest(folder: Path) -> str:
    """sha256 over all files of a model: MLmodel names the code that loads it, and so decides as much as the rest.

    Two kinds are not the model's: MLflow's note of where a copy was downloaded from, and the bytecode of Python.
    """
    listed = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if str(name) == REGISTERED_MODEL_META_FILE_NAME or "__pycache__" in name.parts:
            continue
        if path.is_symlink():  # nothing of ours; what it leads to may be another thing when it is loaded
            listed.append((str(name), "link"))
        elif path.is_file():
            listed.append((str(name), file_digest(path)))
    return digest(listed)


def check(folder: Path) -> None:
    """Refuse a model's folder if the tracking store has another digest of its files.

    This is for MLflow's own ways to load a model. A store that is not at hand, or does not know the model, is no
    reason to refuse: the folder may have been copied elsewhere.
    """
    model_id = Model.load(str(folder / "MLmodel")).model_id
    uri = urlparse(mlflow.get_tracking_uri())
    if model_id is None or (uri.scheme == "sqlite" and not Path(uri.path[1:]).is_file()):
        return
    try:
        with _impatient():
            registered = mlflow.MlflowClient().get_logged_model(model_id).tags.get(DIGEST)
    except (MlflowException, SQLAlchemyError) as error:
        said = first_line(error)
        log.warning("%s: whether it was changed after it was registered cannot be told (%s).", folder, said)
        return
    if registered is not None and files_digest(folder) != registered:
        raise MlflowException.invalid_parameter_value(
            f"the files of {folder} were changed after it was registered; it is not loaded."
        )


@contextmanager
def _impatient() -> Iterator[None]:
    """A server that is not there costs seconds, where MLflow would ask again for minutes."""
    name = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
