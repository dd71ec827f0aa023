"""Where a data set came from, as the stage fetch wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipeline.common.errors import UserError, first_line
from pipeline.config import paths


def read(name: str, folder: Path = paths.DATA) -> dict[str, Any]:
    """Where the set came from. No dependency of the stage: its time of day is no reason to train again."""
    path = paths.provenance(name, folder)
    if not path.is_file():
        return {"source": "unknown"}
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(held, dict) or "source" not in held:
            raise ValueError("it names no source")
        return held
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep fetch {name}` again.") from None
