"""The data set as the input of its runs."""

from __future__ import annotations

import json

from mlflow.data.pandas_dataset import from_pandas
from mlflow.entities import Dataset, DatasetInput, InputTag

from pipeline.data.provenance import Provenance
from pipeline.execution.plan import Plan
from pipeline.fitting.training_data import TrainingData

SOURCE_FIELDS = ("source", "openml_id", "md5", "file", "package_version")
EXAMPLE_ROWS = 5
DIGITS = 8  # of the digest, as in MLflow's own: the runs page shows it beside the name


def of(plan: Plan, rows: TrainingData, provenance: Provenance) -> DatasetInput:
    source = {name: value for name, value in provenance.to_json().items() if name in SOURCE_FIELDS}
    # MLflow would read all rows to describe them. Its schema needs a few, and the shape is known.
    schema = from_pandas(rows.frame(slice(EXAMPLE_ROWS))).to_dict()["schema"]
    profile = json.dumps({"num_rows": rows.X.shape[0], "num_elements": rows.X.size})
    dataset = Dataset(plan.dataset, plan.data_digest[:DIGITS], "local", json.dumps(source), schema, profile)
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "cross-validation")])
