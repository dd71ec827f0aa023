"""The profile of a data set as the stage fetch wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipeline.common.errors import UserError, first_line
from pipeline.config import paths


def read_profile(name: str, folder: Path = paths.DATA) -> dict[str, Any]:
    """Return the plain values of a profile; UserError says which stage to run if there is none."""
    path = paths.profile(name, folder)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not {"rows", "columns", "classes", "warnings"} <= set(content):
            raise ValueError("it is not a profile")
        return content
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist; run `ldep fetch {name}` first, or `dvc repro` for everything."
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep fetch {name}` again.") from None
