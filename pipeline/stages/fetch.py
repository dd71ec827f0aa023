"""Stage fetch: one data set as a Parquet file with its categories, its profile, and the record of its origin."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pipeline.common.files import replacing, write_json
from pipeline.config import catalogue, paths
from pipeline.config.params import Data, OwnData
from pipeline.data import own_file
from pipeline.data.profile import profile
from pipeline.data.provenance import Provenance
from pipeline.data.sources import choice
from pipeline.data.split_column import attach

log = logging.getLogger(__name__)
MOST_WARNINGS = 30  # in the log; the profile holds all


def run(name: str, data: Data, own_data: dict[str, OwnData], folder: Path = paths.DATA) -> Provenance:
    """Write data/raw/NAME.parquet, data/profile/NAME.json and data/provenance/NAME.json; return the provenance."""
    if name in own_data:
        frame, provenance = own_file.fetch(name, own_data[name])
        column = own_file.fetch_split_column(name, own_data[name])
        path = own_data[name].path
        if paths.OWN.resolve() not in Path(path).resolve().parents:
            hint = f"After a change of {path} run `dvc repro -f fetch@{name}`, or move it there."
            log.warning("%s: DVC watches only %s/. %s", name, paths.OWN, hint)
    else:
        frame, provenance = choice.fetch(catalogue.entry(name), data)
        column = None
    provenance = replace(
        provenance,
        name=name,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        rows=len(frame),
        features=frame.shape[1] - 1,
        nominal=sum(str(kind) == "category" for kind in frame.dtypes[:-1]),
        missing=int(frame.iloc[:, :-1].isna().sum().sum()),
        target=str(frame.columns[-1]),
        classes={str(label): int(count) for label, count in frame.iloc[:, -1].value_counts(sort=False).items()},
    )
    found = profile(frame, own_data[name].encode if name in own_data else None)
    if name in own_data:
        for warning in found.warnings()[:MOST_WARNINGS]:
            log.warning("%s: %s", name, warning)
        if found.dropped:
            log.warning("%s: to keep a column that is left out, name its kind in own_data.%s.encode.", name, name)
    write_json(paths.profile(name, folder), found.to_json())
    with replacing(paths.raw(name, folder)) as part:
        attach(frame, column).to_parquet(part, index=False)
    provenance.write(folder)
    cached = " (cache)" if provenance.from_cache else ""
    log.info("%s: %d rows from %s%s.", name, len(frame), provenance.in_words(), cached)
    return provenance
