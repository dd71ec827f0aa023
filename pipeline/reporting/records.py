"""The small JSON files beside the results: where each set came from, and what was decided about its model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.common.errors import UserError
from pipeline.config import paths


def provenance(names: Sequence[str], root: Path) -> dict[str, dict[str, Any]]:
    """{set: provenance}; a set whose file is gone has none."""
    found = {name: _read(paths.provenance(name, root / paths.DATA), f"ldep fetch {name}") for name in names}
    return {name: record for name, record in found.items() if record is not None}


def decisions(names: Sequence[str], root: Path) -> dict[str, dict[str, Any]]:
    """{set: what register wrote}; a set that was not registered has none."""
    found = {name: _read(root / paths.REGISTRY / f"{name}.json", f"ldep register {name}") for name in names}
    return {name: record for name, record in found.items() if record is not None}


def origin(record: dict[str, Any] | None, source: str) -> str:
    """Where a set came from, in a few words; `source` is what the results say of it."""
    if record is None:
        return source
    if source == "openml":
        version = record.get("openml_version")
        return f"OpenML {record['openml_id']}" + (f" version {version}" if version else "")
    held = " ".join(filter(None, [source, record.get("package_version")]))
    if "openml_id" in record:
        return f"{held} (= OpenML {record['openml_id']})"
    return f"{held} {record['file']}" if "file" in record else held


def _read(path: Path, command: str) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); run `{command}` again.") from None
