"""A registered model as a folder on this machine, checked against what was registered."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")

import mlflow
from mlflow.exceptions import MlflowException
from mlflow.store.artifact.utils.models import get_model_name_and_version

from pipeline.common.errors import UserError, first_line
from pipeline.serving import integrity, served_model
from pipeline.tracking import connection


def load(uri: str, root: Path = Path()) -> served_model.ServedModel:
    """The model of a models:/ address or of a folder; UserError if it is none of ours, or was changed."""
    with fetched(uri, root) as folder:
        data = folder / "data" / "served"
        if not (data / served_model.PIPELINE).is_file():
            raise UserError(f"{uri} is no model that `ldep register` made: it has no {served_model.PIPELINE}.")
        try:
            return served_model.load(data)
        except MlflowException as error:
            raise UserError(str(error)) from None


@contextmanager
def fetched(uri: str, root: Path = Path()) -> Iterator[Path]:
    """The folder of the model, while it is used; for a models:/ address its files are those that were registered."""
    if Path(uri).is_dir():
        yield Path(uri)
        return
    if not uri.startswith("models:/"):
        hint = "name a folder, or a registered model as models:/ldep-NAME@champion"
        raise UserError(f"there is no model {uri}; {hint}.")
    # MLflow's threads write on for a moment after one of them has failed: what is left is no reason to hide why.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        yield _download(uri, root, scratch)


def _download(uri: str, root: Path, scratch: str) -> Path:
    mlflow.set_tracking_uri(connection.store_uri(root))
    try:
        client = mlflow.MlflowClient()
        folder = Path(mlflow.artifacts.download_artifacts(uri, dst_path=scratch))
        if uri.startswith("models:/"):
            version = client.get_model_version(*get_model_name_and_version(client, uri))
            registered = version.tags.get(integrity.DIGEST)
            if registered is not None and integrity.files_digest(folder) != registered:
                raise UserError(f"the files of {uri} were changed after it was registered; it is not loaded.")
    except (MlflowException, OSError) as error:
        hint = "models:/ldep-NAME@champion names a registered one, `ldep register NAME` makes it"
        raise UserError(f"there is no model {uri}: {first_line(error)} ({hint}).") from None
    return folder
