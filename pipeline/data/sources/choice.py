"""Which source a data set is taken from: the rules of `data.source`."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pandas as pd

from pipeline.common.errors import UserError
from pipeline.config.catalogue import Entry
from pipeline.config.params import Data
from pipeline.data import catalogue_check
from pipeline.data.provenance import Provenance
from pipeline.data.sources import Source, Unreachable, registered
from pipeline.data.sources.folder import Folder

log = logging.getLogger(__name__)


def fetch(entry: Entry, settings: Data) -> tuple[pd.DataFrame, Provenance]:
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
        frame = catalogue_check.checked(frame, entry, where)
        return frame, replace(provenance, reason="; ".join(reasons) or None)
    if settings.source not in ("auto", "offline"):
        raise UserError(f"{entry.name}: {reasons[0]}. Try again later, or set data.source to auto or to a folder.")
    raise UserError(
        f"{entry.name}: {'; '.join(reasons)}; no other source has this data set. Run this where OpenML can be reached, "
        "point OPENML_CACHE_DIR at a filled cache, or set data.source to a folder that has the data set."
    )


def candidates(entry: Entry, choice: str) -> list[Source]:
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
