"""Stage fetch: one data set as Parquet, categories kept, with a note of where it came from."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from pipeline.common.errors import UserError
from pipeline.common.files import replacing
from pipeline.config import catalogue, paths
from pipeline.config.catalogue import Entry
from pipeline.config.params import Data, OwnData
from pipeline.data import catalogue_check
from pipeline.data.frames import target_last
from pipeline.data.provenance import Provenance
from pipeline.data.sources import arff_file, keel, local_file, openml, sklearn_data

log = logging.getLogger(__name__)


def run(name: str, data: Data, own_data: dict[str, OwnData], folder: Path = paths.DATA) -> Provenance:
    """Write data/raw/NAME.parquet and its provenance; return the provenance."""
    if name in own_data:
        frame, provenance = local_file.fetch_own(name, own_data[name])
        if paths.OWN.resolve() not in Path(own_data[name].path).resolve().parents:
            log.warning(
                "%s: DVC watches %s/ only. After a change of %s run `dvc repro -f fetch@%s`, or move it there.",
                name, paths.OWN, own_data[name].path, name,
            )  # fmt: skip
    else:
        frame, provenance = fetch(catalogue.entry(name), data.source, data.timeout, data.retries)
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
    with replacing(paths.raw(name, folder)) as part:
        frame.to_parquet(part, index=False)
    provenance.write(folder)
    cached = " (cache)" if provenance.from_cache else ""
    log.info("%s: %d rows from %s%s.", name, len(frame), provenance.in_words(), cached)
    return provenance


def fetch(entry: Entry, source: str = "auto", timeout: float = 30, retries: int = 2) -> tuple[pd.DataFrame, Provenance]:
    """Return a set of the catalogue, checked against it, and its provenance.

    source: `auto` (the openml client's cache, OpenML, and a packaged copy if OpenML cannot be reached), `openml` (no
    packaged copy), `offline` (no network), or a folder.
    """
    if source not in ("auto", "openml", "offline"):
        frame, provenance = local_file.fetch_folder(entry, Path(source))
        return _checked(frame, entry, f"{source}/{provenance.file}"), provenance
    try:
        return _from_openml(entry, timeout, retries, network=source != "offline")
    except openml.Unreachable as error:
        if source == "openml":
            raise UserError(
                f"{entry.name}: {error}. Try again later, or set data.source to auto or to a folder."
            ) from None
        reason = str(error)
    if entry.packaged is None:
        raise UserError(
            f"{entry.name}: {reason}; and no package carries this set. Run it where OpenML can be reached, point "
            "OPENML_CACHE_DIR at a filled cache, or set data.source to a folder that has it."
        )
    log.warning("%s: %s; taking the packaged copy of %s.", entry.name, reason, entry.packaged)
    frame, provenance = (keel if entry.packaged == keel.PACKAGE else sklearn_data).fetch(entry)
    return _checked(frame, entry, entry.packaged), replace(provenance, openml_id=entry.openml_id, reason=reason)


def _from_openml(entry: Entry, timeout: float, retries: int, network: bool) -> tuple[pd.DataFrame, Provenance]:
    try:
        with openml.copy(entry.openml_id, timeout, retries, network) as copy:
            try:
                read = arff_file.read if copy.path.suffix == ".arff" else local_file.read_parquet
                where = f"{'cached ' if copy.cached else ''}OpenML data set {entry.openml_id}"
                frame = target_last(read(copy.path), entry.target, entry.ignore, where)
                frame = _checked(frame, entry, where)
            except UserError as error:
                if copy.cached:
                    raise UserError(f"{error} To fetch it again, remove {copy.path.parent}.") from None
                raise
            return frame, Provenance(
                "openml",
                from_cache=copy.cached,
                openml_id=entry.openml_id,
                openml_version=copy.description.get("version"),
                md5=local_file.md5(copy.path),
            )
    except openml.Unreachable:
        raise
    except UserError as error:
        raise UserError(f"{entry.name}: {error}") from None


def _checked(frame: pd.DataFrame, entry: Entry, where: str) -> pd.DataFrame:
    words = catalogue_check.differences(frame, entry)
    if words:
        raise UserError(f"{where} is not the paper's '{entry.title}': {'; '.join(words)}.")
    # The classes in the catalogue's order, whatever the source declared.
    return frame.assign(**{entry.target: frame[entry.target].cat.set_categories(list(entry.classes))})
