"""Stage check: params.yaml, before any stage uses a value of it in a command or a path."""

from __future__ import annotations

from pathlib import Path

from ldep_pipeline.common.files import write_text
from ldep_pipeline.config import params, paths
from ldep_pipeline.execution.model_check import check_models
from ldep_pipeline.execution.store import Store


def run(file: Path = paths.PARAMS) -> None:
    """Check the file, build every model, and write data/params.checked."""
    check_models(params.load(file), Store(paths.BUILT))
    write_text(paths.CHECKED, "checked\n")
