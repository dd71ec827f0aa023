"""The tags by which we find our runs in MLflow again."""

from __future__ import annotations

KEY = "ldep.key"  # a digest of everything that the content of the run depends on
OWNER = "ldep.owner"  # the project that wrote the run
KIND = "ldep.kind"  # `report` for a report's run
WINNER = "winner"  # on the run of the model that is registered for its data set
DATASET, MODEL, COMMIT = "dataset", "model", "commit"
