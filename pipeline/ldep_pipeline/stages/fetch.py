"""Stage fetch: one data set as a Parquet file with its categories, its profile, and the record of its origin."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ldep_pipeline.common.files import write_json
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Data, OwnData
from ldep_pipeline.data import catalogue, own_file, sources
from ldep_pipeline.data.profile import Profile, profile
from ldep_pipeline.data.stage_files import Provenance, write_raw

log = logging.getLogger(__name__)
MOST_WARNINGS = 30  # in the log; the profile holds all


def run(name: str, data: Data, own_data: Mapping[str, OwnData], folder: Path = paths.DATA) -> Provenance:
    """Write data/raw/NAME.parquet, data/profile/NAME.json and data/provenance/NAME.json; return the provenance.

    The profile also holds the decision what kind each column is, and how it is encoded.
    """
    if name in own_data:
        frame, provenance, column, found = own_file.fetch(name, own_data[name])
        _report(name, found)
    else:
        frame, provenance = sources.fetch(catalogue.entry(name), data)
        column, found = None, profile(frame, None)
    provenance = replace(
        provenance,
        name=name,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        rows=found.rows,
        features=len(found.columns),
        nominal=sum(str(kind) == "category" for kind in frame.dtypes[:-1]),
        missing=sum(column.missing for column in found.columns),
        target=found.target,
        classes=found.classes,
    )
    write_json(paths.profile(name, folder), found.to_json())
    write_raw(name, frame, column, folder)
    provenance.write(folder)
    cached = " (cache)" if provenance.from_cache else ""
    log.info("%s: %d rows from %s%s.", name, len(frame), provenance.in_words(), cached)
    return provenance


def _report(name: str, found: Profile) -> None:
    for warning in found.warnings()[:MOST_WARNINGS]:
        log.warning("%s: %s", name, warning)
    if found.dropped:
        log.warning("%s: to keep a column that is left out, name its kind in own_data.%s.encode.", name, name)
