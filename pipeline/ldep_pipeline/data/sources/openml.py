"""OpenML: the client's cache first, then a download that cannot damage the cache.

A cached data set is read where it is, and its checksum is verified. Only the ARFF or Parquet file is read: the pickles
that the client leaves beside it are code, and are never opened. A download goes into a scratch folder, and into the
cache when it has been parsed and checked.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies
from xml.etree import ElementTree

import pandas as pd

from ldep_pipeline.common.digests import file_digest
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.compat import openml_client
from ldep_pipeline.data import catalogue
from ldep_pipeline.data.catalogue import CatalogueEntry
from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.data.settings import Data
from ldep_pipeline.data.sources import Source, Unreachable
from ldep_pipeline.data.stage_files import Provenance

log = logging.getLogger(__name__)
CLIENT = [sys.executable, "-m", openml_client.__name__]
PATIENCE = 10  # times the timeout, for an answer that trickles in; one that stops costs the timeout


class OpenML(Source):
    name = "openml"
    priority = 0

    def at_hand(self, entry: CatalogueEntry) -> str | None:
        return "openml cache" if _files(cache_folder() / str(entry.openml_id)) else None

    def fetch(self, entry: CatalogueEntry, settings: Data) -> tuple[pd.DataFrame, Provenance]:
        network = settings.source != "offline"
        try:
            with copy(entry.openml_id, settings.timeout, settings.retries, network) as found:
                return _read(found, entry), Provenance(
                    self.name,
                    from_cache=found.cached,
                    openml_id=entry.openml_id,
                    openml_version=found.description.get("version"),
                    md5=file_digest(found.path, "md5"),
                )
        except Unreachable:
            raise
        except UserError as error:
            raise UserError(f"{entry.name}: {error}") from None


@dataclass(frozen=True)
class Copy:
    """A data file of OpenML's, with its description (plain strings by tag: id, name, version, md5_checksum, ...)."""

    path: Path
    description: dict[str, str]
    cached: bool


def cache_folder() -> Path:
    """Return the folder in which the client caches data sets."""
    return openml_client.cache_directory() / "datasets"


def cached(dataset_id: int, cache: Path | None = None) -> Copy | None:
    """Return the cached copy, if there is one and it is undamaged."""
    files = _files((cache or cache_folder()) / str(dataset_id))
    if files is None:
        return None
    data, description_file = files
    try:
        description = _description(description_file)
    except (ElementTree.ParseError, OSError) as error:
        log.warning("%s is damaged (%s); not used.", description_file, error)
        return None
    checksum = description.get("md5_checksum")
    if data.suffix == ".arff" and checksum and file_digest(data, "md5") != checksum:  # it is that of the ARFF file
        log.warning("%s is damaged: its checksum is not %s; not used.", data, checksum)
        return None
    return Copy(data, description, cached=True)


@contextmanager
def copy(dataset_id: int, timeout: float, retries: int, network: bool = True) -> Iterator[Copy]:
    """Give a copy of a data set; a download goes into the cache when the block ends without an error."""
    cache = cache_folder()
    found = cached(dataset_id, cache)
    if found is not None:
        yield found
        return
    if not network:
        raise Unreachable(f"data set {dataset_id} is not in the cache of the openml client")
    _check_address(openml_client.server())
    limit = PATIENCE * timeout
    with _scratch(cache, dataset_id, limit) as (scratch, cache_is_writable):
        found = cached(dataset_id, cache)  # another process may have downloaded it while this one waited
        if found is not None:
            yield found
            return
        path = _download(dataset_id, scratch, timeout, retries, limit)
        yield Copy(path, _description(path.with_name("description.xml")), cached=False)
        if cache_is_writable:
            _move_into_cache(path, cache / str(dataset_id))


def _read(found: Copy, entry: CatalogueEntry) -> pd.DataFrame:
    where = f"{'cached ' if found.cached else ''}OpenML data set {entry.openml_id}"
    try:
        frame = read_frame(found.path, entry.target, entry.ignore, where=where)
        return catalogue.checked(frame, entry, where)
    except UserError as error:
        if found.cached:
            raise UserError(f"{error} To download it again, remove {found.path.parent}.") from None
        raise


def _files(folder: Path) -> tuple[Path, Path] | None:
    """Return the data file and the description of a cached data set, if both are there."""
    names = ["dataset.arff", f"dataset_{folder.name}.pq", "dataset.pq"]
    data = next((folder / name for name in names if (folder / name).is_file()), None)
    description = folder / "description.xml"
    return (data, description) if data is not None and description.is_file() else None


def _description(path: Path) -> dict[str, str]:
    root = ElementTree.fromstring(path.read_bytes())
    return {child.tag.rpartition("}")[2]: child.text or "" for child in root}


@contextmanager
def _scratch(cache: Path, dataset_id: int, limit: float) -> Iterator[tuple[Path, bool]]:
    """Give a scratch folder, and whether it is on the cache's file system: that one is for one process at a time."""
    import fcntl

    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = (cache / f".{dataset_id}.lock").open("w")
    except OSError as error:
        log.warning("the cache %s cannot be written (%s); the download will not be kept.", cache, error.strerror)
        with tempfile.TemporaryDirectory(prefix="openml-") as scratch:
            yield Path(scratch), False
        return
    with lock:
        end = time.monotonic() + limit
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    raise Unreachable(f"another process has held {lock.name} for more than {limit:g} s") from None
                time.sleep(0.05)
        for leftover in cache.glob(f".{dataset_id}.*/"):  # of a process that was killed: this one has the lock now
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f".{dataset_id}.", dir=cache) as scratch:
            yield Path(scratch), True


def _check_address(server: str) -> None:
    """Fail at once where the name of the server is unknown: starting the client only to learn that takes seconds."""
    if getproxies():
        return  # a proxy looks the name up
    try:
        socket.getaddrinfo(urlsplit(server).hostname, None)
    except socket.gaierror as error:
        raise Unreachable(f"no connection to {server} ({error.strerror})") from None


def _download(dataset_id: int, scratch: Path, timeout: float, retries: int, limit: float) -> Path:
    command = [*CLIENT, str(dataset_id), "--timeout", str(timeout), "--retries", str(retries)]
    # ARFF, not Parquet: the checksum is that of the ARFF file, and its header declares the order of the categories.
    environment = {**os.environ, "OPENML_CACHE_DIR": str(scratch), "OPENML_SKIP_PARQUET": "true"}
    # Unbuffered: a buffer would take the answer in with the first line, and `communicate` would not see it.
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as client:
        assert client.stdout is not None
        client.stdout.readline()  # "ready": on a busy machine importing the client takes longer than the download
        try:
            output, errors = client.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            client.kill()
            raise Unreachable(f"OpenML did not deliver data set {dataset_id} within {limit:g} s") from None
    try:
        answer = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError):
        reason = errors.decode(errors="replace").strip().splitlines() or [f"exit code {client.returncode}"]
        raise UserError(f"the openml client failed on data set {dataset_id}: {reason[-1]}") from None
    if answer["kind"] == "unreachable":
        raise Unreachable(answer["message"])
    if answer["kind"] == "refused":
        raise UserError(answer["message"])
    return Path(answer["path"])


def _move_into_cache(path: Path, folder: Path) -> None:
    """The description comes last: without it a cached folder does not count."""
    try:
        folder.mkdir(exist_ok=True)
        path.replace(folder / path.name)
        path.with_name("description.xml").replace(folder / "description.xml")
    except OSError as error:
        log.warning("the download was not kept in %s: %s.", folder, error)


SOURCE = OpenML()
