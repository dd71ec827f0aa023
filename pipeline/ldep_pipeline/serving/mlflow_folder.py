"""The folder in which MLflow stores a served model.

It contains the model's two files, a description, requirements, an ONNX file for an ℓ-DEP if `onnx` is installed, and
code if asked. MLflow loads it by this module: in `mlflow models serve`, in `mlflow models predict` and in Python.
"""

from __future__ import annotations

import shutil
import tempfile
from importlib import metadata, util
from pathlib import Path
from typing import Any

import mlflow.pyfunc
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import Model, ModelSignature
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema, TensorSpec
from mlflow.types.schema import AnyType

import ldep
import ldep_pipeline
from ldep.export import NotExportable, to_onnx
from ldep.table import TableEncoder
from ldep_pipeline.common import machine
from ldep_pipeline.serving import counterfactual_answers, portable, prediction_sets, served_model
from ldep_pipeline.serving.calibration import Calibration
from ldep_pipeline.serving.prediction_sets import ServedSets
from ldep_pipeline.serving.served_model import ServedModel
from ldep_pipeline.serving.training_profile import TrainingProfile

ONNX_FILE = "model.onnx"
# The types of parameters; all others are strings, or lists of them.
KINDS: dict[type, DataType] = {float: DataType.double, bool: DataType.boolean, int: DataType.long}
DATA = Path("data/served")  # where MLflow puts the files of the model
# Their code decides what a served model answers, with the packages of ldep that decide its fit.
ROOMS = ("common", "metrics", "serving")
PACKAGES = ("table",)


def write(
    folder: Path,
    pipe: Any,
    link: Calibration | None,
    class_path: str,
    *,
    threshold: float = 0.0,
    sets: ServedSets | None = None,
    profile: TrainingProfile | None = None,
    model_id: str | None = None,
    ship_code: bool = False,
) -> None:
    """Write a new folder; ValueError names what cannot be stored without a pickle.

    Without `ship_code` a model needs the installed package of its version. With it, MLflow's own commands also load the
    model where the package is not installed, and run the code that the folder holds.
    """
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch, DATA.name)
        data.mkdir()
        served_model.save(data, pipe, link, threshold, sets)
        if profile is not None:
            profile.save(data)
        example = (profile and profile.example) or pipe[0].typical_row()
        mlflow.pyfunc.save_model(
            str(folder),
            mlflow_model=Model(model_id=model_id, model_uuid=model_id) if model_id else Model(),
            loader_module=__name__,
            data_path=str(data),
            code_paths=_code(Path(scratch)) if ship_code else None,
            signature=signature(pipe[0]),
            input_example=(pd.DataFrame([example]), {"output": "full"}),
            pip_requirements=pins(class_path),
        )
    _write_onnx(folder, ServedModel(pipe, link, threshold))


def _write_onnx(folder: Path, served: ServedModel) -> None:
    """Write the model as ONNX beside the Python model, where that is possible."""
    if util.find_spec("onnx") is None:
        return
    try:
        program = portable.program(served)
    except NotExportable:  # the model is not an ℓ-DEP
        return
    (folder / ONNX_FILE).write_bytes(to_onnx(program).SerializeToString())


def signature(encoder: TableEncoder) -> ModelSignature:
    """The raw columns by name, and the parameters: `output`, `strict`, and those of sets and counterfactuals.

    The columns have the type `any`: as `double` MLflow refuses whole numbers that come from Python or from
    `mlflow models predict`, and as `string` missing cells become the text None. The encoder knows what a cell may be.
    """
    columns: list[ColSpec | TensorSpec] = [ColSpec(AnyType(), name) for name in encoder.columns_]
    params = [ParamSpec("output", DataType.string, "label"), ParamSpec("strict", DataType.boolean, False)]
    for name, default in (prediction_sets.DEFAULTS | counterfactual_answers.DEFAULTS).items():
        kind = KINDS.get(type(default), DataType.string)
        shape = (-1,) if isinstance(default, list) else None
        params.append(ParamSpec(name, kind, default, shape))
    return ModelSignature(Schema(columns), Schema([ColSpec(DataType.string)]), ParamSchema(params))


def pins(class_path: str) -> list[str]:
    """The requirements of a served model: those of every pipeline, and the package of the classifier.

    ldep itself is not among them: pip would install whatever has that name in the package index.
    """
    package = class_path.split(".")[0]
    distributions = metadata.packages_distributions().get(package, []) if package not in ("ldep", "sklearn") else []
    return sorted({*machine.requirements(), *(f"{name}=={metadata.version(name)}" for name in distributions)})


def _code(scratch: Path) -> list[str]:
    """Copies of `ldep` and of the rooms that a served model needs, and of nothing else."""
    library, rooms = Path(ldep.__file__).parent, Path(ldep_pipeline.__file__).parent
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(library, scratch / "ldep", ignore=ignore)
    (scratch / "ldep_pipeline").mkdir()
    shutil.copy(rooms / "__init__.py", scratch / "ldep_pipeline")
    for room in ROOMS:
        shutil.copytree(rooms / room, scratch / "ldep_pipeline" / room, ignore=ignore)
    return [str(scratch / "ldep"), str(scratch / "ldep_pipeline")]


class MlflowModel:
    """A served model whose errors MLflow's server answers with status 400 and the message."""

    def __init__(self, model: ServedModel) -> None:
        self.model = model

    def predict(self, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> list[Any]:
        try:
            return self.model.predict(model_input, params)
        except ValueError as error:
            raise MlflowException.invalid_parameter_value(str(error)) from None


def _load_pyfunc(path: str) -> MlflowModel:
    try:
        return MlflowModel(served_model.load(Path(path)))
    except served_model.UnusableModel as error:
        raise MlflowException.invalid_parameter_value(str(error)) from None
