"""What a results folder was made from: results/NAME/manifest.json.

Results of other data, of other folds or of other settings look like any others. Therefore `train` writes the digests
of its inputs, of each model's settings and of every file of the folder, and whoever reads a file compares them first.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipeline.common.digests import digest, file_digest
from pipeline.common.errors import UserError, first_line
from pipeline.common.files import write_json
from pipeline.config import paths
from pipeline.config.params import Params

FILE = "manifest.json"
SECTIONS = ("inputs", "settings", "files")


def write(folder: Path, data: Path, settings: dict[str, str]) -> None:
    """Write the manifest of a folder that is otherwise complete. `settings` has a digest per model."""
    inputs = {kind: file_digest(path) for kind, path in _inputs(folder.name, data).items() if path.is_file()}
    files = {path.name: file_digest(path) for path in sorted(folder.iterdir()) if path.name != FILE}
    write_json(folder / FILE, {"inputs": inputs, "settings": settings, "files": files})


def settings_digest(model: str, params: Params) -> str:
    """Digest of everything in params.yaml that the numbers of one model depend on."""
    entry = params.classifiers[model]
    tuning = [params.tuning.model_dump(), params.metric] if entry.search else None
    costs = params.costs.model_dump() if params.costs is not None else None
    return digest(entry.model_dump(), tuning, costs, params.impute.model_dump(), params.execution.seed)


def check_file(path: Path, data: Path) -> None:
    """Refuse a file of a results folder that is not as `train` wrote it, or was made from other data or folds."""
    name, manifest = path.parent.name, read(path.parent)
    again = f"run `ldep train {name}` again, or `dvc repro`"
    if manifest["files"].get(path.name) != file_digest(path):
        raise UserError(f"{path} is not as `ldep train {name}` wrote it; {again}.")
    for kind, source in _inputs(name, data).items():
        if source.is_file() and manifest["inputs"].get(kind) != file_digest(source):
            raise UserError(f"{path} was computed from another version of {source}; {again}.")


def check_settings(folder: Path, models: list[str], params: Params) -> None:
    """Refuse results of models whose settings in params.yaml have changed since."""
    known = read(folder)["settings"]
    for model in models:
        if model in known and known[model] != settings_digest(model, params):
            raise UserError(
                f"{folder}: {model} was trained with other settings than params.yaml has now; "
                f"run `ldep train {folder.name}` again, or `dvc repro`."
            )


def read(folder: Path) -> dict[str, dict[str, Any]]:
    path, command = folder / FILE, f"ldep train {folder.name}"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(manifest, dict) or not all(isinstance(manifest.get(part), dict) for part in SECTIONS):
            raise ValueError(f"it lacks one of {', '.join(SECTIONS)}")
        return manifest
    except FileNotFoundError:
        raise UserError(f"{path} is missing; run `{command}` first, or `dvc repro`.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `{command}` again.") from None


def _inputs(name: str, data: Path) -> dict[str, Path]:
    return {"imputed": paths.imputed(name, data), "folds": paths.folds(name, data)}
