"""`ldep ui`: MLflow's UI, and the address of the view that groups the runs by data set."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from pipeline.commands.serve import HOST, check_port
from pipeline.common.errors import UserError, first_line, masked
from pipeline.compat import mlflow_ui
from pipeline.tracking import connection, experiment_page

# One worker, and no jobs, which only pages for language models use: two processes with half a gigabyte of memory
# together instead of fourteen with almost three. Nobody can replace a model's files through the UI: docs/serving.md.
OPTIONS = ("--workers", "1", "--no-serve-artifacts")
ENVIRONMENT = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


def run(experiment: str, port: int, root: Path = Path()) -> None:
    """Print the address and become MLflow's server; a tracking server has a UI of its own."""
    uri = connection.use_existing(root)
    view = _view(experiment, uri)
    if urlsplit(uri).scheme in ("http", "https"):
        print(f"The tracking server has its own UI. Open {_without_user(uri).rstrip('/')}/{view}")
        return
    check_port(port)
    print(
        f"Open http://{HOST}:{port}/{view}\nThe server takes half a minute to start. Stop it with Ctrl-C.", flush=True
    )
    # In the environment: a command line, which every user of the machine can read, must not show a password.
    environment = {**os.environ, **ENVIRONMENT, "MLFLOW_BACKEND_STORE_URI": uri}
    command = [sys.executable, "-m", "mlflow", "ui", "--host", HOST, "--port", str(port), *OPTIONS]
    os.execve(sys.executable, command, environment)


def _view(experiment: str, uri: str) -> str:
    """The address of the grouped runs, within the UI."""
    try:
        with connection.few_retries():
            found = MlflowClient().get_experiment_by_name(experiment)
    except (MlflowException, SQLAlchemyError) as error:
        raise UserError(
            f"the tracking store {masked(uri)} cannot be used: {first_line(error)}; start it, or correct "
            "MLFLOW_TRACKING_URI."
        ) from None
    if found is None:
        raise UserError(
            f"{masked(uri)} has no experiment '{experiment}' yet; run `ldep train` or `dvc repro` first, with "
            "tracking.enabled: true."
        )
    return mlflow_ui.link(found.experiment_id, experiment_page.BY_DATASET)


def _without_user(uri: str) -> str:
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
