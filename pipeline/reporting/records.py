"""The decisions about each data set's model, as the stage register wrote them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.common.errors import UserError
from pipeline.config import paths


def decisions(names: Sequence[str], root: Path) -> dict[str, dict[str, Any]]:
    """{set: what register wrote}; a set that was not registered has none."""
    found = {name: _read(root / paths.REGISTRY / f"{name}.json", f"ldep register {name}") for name in names}
    return {name: record for name, record in found.items() if record is not None}


def _read(path: Path, command: str) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); run `{command}` again.") from None
