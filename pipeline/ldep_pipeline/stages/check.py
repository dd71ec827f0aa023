"""Stage check: params.yaml, before any stage uses a value of it, and what decides the output of each stage."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.common.files import replacing_folder, write_text
from ldep_pipeline.config import params, paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.execution.code_version import find_own_models
from ldep_pipeline.execution.deciding import STAGES, Deciding


def run(file: Path = paths.PARAMS) -> None:
    """Check the file, build every model, and write data/decides/STAGE/NAME.json."""
    checked = params.load(file)
    _check_paths(checked)
    found = decisions(checked)
    if all(_content(paths.DECIDES / name) == text for name, text in found.items()) and _count() == len(found):
        return  # as an earlier run wrote it, after it had built every model of these settings and this code
    from ldep_pipeline.execution.model_check import check_models  # scikit-learn takes seconds to import
    from ldep_pipeline.execution.store import Store

    store = Store(paths.BUILT)
    for dataset in checked.datasets:
        own = checked.own_data.get(dataset)
        check_models(checked.of(dataset), store, f"own_data.{dataset}." if own is not None and own.classifiers else "")
    with replacing_folder(paths.DECIDES) as folder:
        for name, text in found.items():
            write_text(folder / name, text)


def decisions(checked: Params) -> dict[Path, str]:
    """The files of data/decides, and their content."""
    find_own_models()
    deciding = Deciding()
    return {
        Path(stage, f"{name}.json"): _written(deciding.of(stage, name, checked))
        for name in checked.datasets_to_run()
        for stage in STAGES
    }


def _check_paths(checked: Params) -> None:
    """UserError if a file is outside the project: git and DVC see none there, so no clone would have it."""
    root = Path.cwd()
    for name in checked.datasets:
        if (own := checked.own_data.get(name)) is None:
            continue
        # A link in the project may lead to DVC's cache, and a path from outside may lead to the project by a link.
        places = (Path(os.path.normpath(root / own.path)), Path(own.path).resolve())
        if not any(place.is_relative_to(root) for place in places):
            raise UserError(
                f"own_data.{name}.path: {own.path} is outside the project, so nobody who clones it would have the "
                f"file; copy it to {paths.OWN} and correct the path."
            )


def _written(value: Any) -> str:
    """JSON for readers, the same for the same value; a setting may be infinite."""
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _content(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _count() -> int:
    return sum(path.is_file() for path in paths.DECIDES.rglob("*"))
