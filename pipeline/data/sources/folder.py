"""A folder of the user's with data sets of the catalogue: `data.source: FOLDER`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pipeline.common.digests import file_digest
from pipeline.common.errors import UserError
from pipeline.config.catalogue import Entry
from pipeline.config.params import Data
from pipeline.data.provenance import Provenance
from pipeline.data.sources import Source
from pipeline.data.tables import read_frame

SUFFIXES = (".parquet", ".arff", ".csv")


class Folder(Source):
    """FOLDER/NAME.parquet, .arff or .csv. It has no module-level `SOURCE`: its path takes the place of a name."""

    name = "folder"

    def __init__(self, path: Path) -> None:
        self.path = path

    def fetch(self, entry: Entry, settings: Data) -> tuple[pd.DataFrame, Provenance]:
        files = [self.path / f"{entry.name}{suffix}" for suffix in SUFFIXES]
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            raise UserError(f"data.source: the folder {self.path} has none of {', '.join(f.name for f in files)}.")
        if file.suffix == ".csv" and entry.nominal:
            raise UserError(
                f"{file}: a CSV file does not declare the order of categories, which '{entry.name}' needs for its "
                f"{entry.nominal} nominal features; provide it as ARFF or Parquet."
            )
        frame = read_frame(file, entry.target, entry.ignore)
        return frame, Provenance(self.name, file=file.name, md5=file_digest(file, "md5"))
