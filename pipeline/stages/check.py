"""Stage check: params.yaml, before any stage uses a value of it in a command or a path."""

from __future__ import annotations

from pathlib import Path

from pipeline.common.files import write_text
from pipeline.config import params, paths
from pipeline.config.models import check_models


def run(file: Path = paths.PARAMS) -> None:
    """Check the file, build every model once, and write data/params.checked."""
    check_models(params.load(file))
    write_text(paths.CHECKED, "checked\n")
