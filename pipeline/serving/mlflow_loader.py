"""What MLflow calls to load a served model: in `mlflow models serve`, in `mlflow models predict` and in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import MlflowException

from pipeline.serving import served_model
from pipeline.serving.served_model import ServedModel


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
