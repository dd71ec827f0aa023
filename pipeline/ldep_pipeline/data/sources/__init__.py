"""Sources of the catalogue's data sets: one module per source, found by this package.

A module that defines `SOURCE`, an instance of a `Source`, is a source. `data.source: auto` asks all of them, and
`data.source: NAME` only the one of that name. Adding a source is adding its module and its test.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd

from ldep_pipeline.common.digests import file_digest
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data import catalogue
from ldep_pipeline.data.catalogue import CatalogueEntry
from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.data.settings import Data
from ldep_pipeline.data.stage_files import Provenance

log = logging.getLogger(__name__)
SUFFIXES = (".parquet", ".arff", ".csv")  # of the files in a folder, the first that is there


class Unreachable(UserError):
    """A source that cannot be asked now. The next source is asked instead."""


class Source(ABC):
    """A place from which data sets of the catalogue come.

    Attributes
    ----------
    name : str
        Selects this source alone as `data.source`, and is recorded in the provenance.
    priority : int
        `auto` and `offline` ask the sources in ascending order.
    """

    name: str
    priority: int

    def offers(self, entry: CatalogueEntry) -> bool:
        """Whether the source has this data set at all."""
        return True

    def at_hand(self, entry: CatalogueEntry) -> str | None:
        """How `ldep datasets` lists a data set that this source has on this machine; None if it has not."""
        return None

    @abstractmethod
    def fetch(self, entry: CatalogueEntry, settings: Data) -> tuple[pd.DataFrame, Provenance]:
        """Return the data set, its target last, and where it came from.

        Raise Unreachable if the source cannot be asked now, and UserError if its answer is of no use. With
        `settings.source: offline` no source uses the network.
        """


class Packaged(Source):
    """A package that carries a copy of some data sets; the catalogue names it."""

    priority = 10

    def offers(self, entry: CatalogueEntry) -> bool:
        return entry.packaged == self.name

    def at_hand(self, entry: CatalogueEntry) -> str | None:
        return f"packaged: {self.name}" if self.offers(entry) else None


class Folder(Source):
    """A folder of the user's with FOLDER/NAME.parquet, .arff or .csv; `data.source` names its path."""

    name = "folder"

    def __init__(self, path: Path) -> None:
        self.path = path

    def fetch(self, entry: CatalogueEntry, settings: Data) -> tuple[pd.DataFrame, Provenance]:
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


@cache
def registered() -> tuple[Source, ...]:
    """Return every source of this package, in the order in which `auto` asks them."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    found = [module.SOURCE for module in modules if isinstance(getattr(module, "SOURCE", None), Source)]
    return tuple(sorted(found, key=lambda source: source.priority))


def fetch(entry: CatalogueEntry, settings: Data) -> tuple[pd.DataFrame, Provenance]:
    """Return a data set of the catalogue, checked against it, and its provenance.

    `settings.source` is `auto` (every source in turn, while the one before cannot be reached), `offline` (the same
    without the network), the name of one source, or a folder.
    """
    reasons: list[str] = []
    for source in candidates(entry, settings.source):
        if reasons:
            log.warning("%s: %s; using the copy of %s.", entry.name, reasons[-1], source.name)
        try:
            frame, provenance = source.fetch(entry, settings)
        except Unreachable as error:
            reasons.append(str(error))
            continue
        where = f"{provenance.source} {provenance.file}" if provenance.file else provenance.source
        frame = catalogue.checked(frame, entry, where)
        return frame, replace(provenance, reason="; ".join(reasons) or None)
    if settings.source not in ("auto", "offline"):
        raise UserError(f"{entry.name}: {reasons[0]}. Try again later, or set data.source to auto or to a folder.")
    raise UserError(
        f"{entry.name}: {'; '.join(reasons)}; no other source has this data set. Run this where OpenML can be reached, "
        "point OPENML_CACHE_DIR at a filled cache, or set data.source to a folder that has the data set."
    )


def candidates(entry: CatalogueEntry, choice: str) -> list[Source]:
    if choice in ("auto", "offline"):
        return [source for source in registered() if source.offers(entry)]
    named = {source.name: source for source in registered()}
    if choice not in named:
        if not Path(choice).is_dir():
            names = ", ".join(["auto", "offline", *named])
            raise UserError(f"data.source: '{choice}' is neither one of {names} nor a folder (in {Path.cwd()}).")
        return [Folder(Path(choice))]
    if not named[choice].offers(entry):
        raise UserError(f"data.source: {choice} does not have '{entry.name}'; set data.source to auto.")
    return [named[choice]]
