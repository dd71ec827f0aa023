"""The pipeline around the ℓ-DEP: data, training, tracking, registry, serving and the report.

Each folder is a room with one concern. Rooms import each other in one direction only, from top to bottom of the
layers in pyproject.toml; `lint-imports` checks it. docs/architecture.md draws them.
"""

import os

# Before MLflow is imported by any of the rooms.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

__version__ = "0.1.0"
