"""The fitted pipeline of fold 0, logged with its run in skops's format."""

from __future__ import annotations

import importlib
import logging
import tempfile
import zipfile
from pathlib import Path

import mlflow.sklearn
import skops.io
from mlflow.entities import LoggedModelOutput, LoggedModelStatus, Run
from mlflow.models import Model, infer_signature

import ldep
from ldep_pipeline.common import machine
from ldep_pipeline.fitting.fit import FitTask
from ldep_pipeline.fitting.training_data import TrainingData

log = logging.getLogger(__name__)
# Packages whose classes may be loaded from a model of the store. skops itself trusts only some of them.
TRUSTED = ("ldep", "numpy", "sklearn")
EXAMPLE_ROWS = 5


def log_model(client: mlflow.MlflowClient, run: Run, fit: FitTask, content: bytes, rows: TrainingData) -> str | None:
    """Log the pipeline, a skops file; return the model's id, or None if the file holds a type that is not trusted."""
    try:
        types = skops.io.get_untrusted_types(data=content)
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError) as error:
        log.warning("%s is not logged as a model: its file in the store cannot be read (%s).", fit.model, error)
        return None
    foreign = [name for name in types if not _is_trusted_class(name)]
    if foreign:
        log.warning("%s is not logged as a model: it holds %s, which is not trusted.", fit.model, ", ".join(foreign))
        return None
    pipe = skops.io.loads(content, trusted=types)
    # The steps of mlflow.sklearn.log_model. That function needs an active run, and ending it marks the run FINISHED
    # before its numbers are complete. It also loads each model again to try its example, which doubles the cost.
    run_id, example = run.info.run_id, rows.frame(slice(EXAMPLE_ROWS))
    logged = client.create_logged_model(run.info.experiment_id, name=f"{fit.dataset}-{fit.model}", source_run_id=run_id)
    with tempfile.TemporaryDirectory() as scratch:
        mlflow.sklearn.save_model(
            pipe,
            Path(scratch, "model"),
            mlflow_model=Model(run_id=run_id, model_id=logged.model_id, model_uuid=logged.model_id),
            serialization_format="skops",
            skops_trusted_types=types,
            signature=infer_signature(example, pipe.predict(example)),
            input_example=example,
            pip_requirements=list(machine.requirements()),
            code_paths=[str(Path(ldep.__file__).parent)] if any(name.startswith("ldep") for name in types) else None,
        )
        client.log_model_artifacts(logged.model_id, str(Path(scratch, "model")))
    client.finalize_logged_model(logged.model_id, LoggedModelStatus.READY)
    client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])
    return logged.model_id


def _is_trusted_class(path: str) -> bool:
    """Whether a dotted path names a class of a trusted package.

    Functions and methods are refused: a pipeline calls those that it holds, and one like `numpy.load` runs any code.
    """
    if path.split(".")[0] not in TRUSTED:
        return False
    module, _, name = path.rpartition(".")
    try:
        return isinstance(getattr(importlib.import_module(module), name, None), type)
    except ImportError:
        return False
