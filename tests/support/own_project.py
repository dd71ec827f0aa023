"""A project with one file of the user's, run from `fetch` to `register`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ldep_pipeline.commands.main import main
from tests.support import registered


def make(folder: Path, frame: pd.DataFrame, classifiers: dict[str, Any], **sections: Any) -> Path:
    """A project with one own file, run from `fetch` to `register`."""
    (folder / "data/own").mkdir(parents=True)
    frame.to_csv(folder / "data/own/mine.csv", index=False)
    values = {
        "datasets": ["mine"],
        "own_data": {"mine": {"path": "data/own/mine.csv", "target": "kind"}},
        "split": {"folds": 3},
        "models": list(classifiers),
        "classifiers": classifiers,
        "execution": {"n_jobs": 1},
        **sections,
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    with registered.inside(folder):
        for stage in ("fetch", "impute", "split", "train", "register"):
            assert main([stage]) == 0
    return folder
