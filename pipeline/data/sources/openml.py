"""OpenML: the client's cache first, then the client itself, in a way that cannot lose a good cached copy.

A cached set is read where it lies, and checked against its checksum. Only the ARFF or Parquet file is read: the
pickles that the client leaves beside it are code, and are never opened. What is not cached is downloaded into a scratch
folder and moved into the cache when it has been parsed and checked.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from pipeline.common.errors import UserError
from pipeline.data.sources.local_file import md5

log = logging.getLogger(__name__)


class Unreachable(UserError):
    """OpenML cannot be asked now; a packaged copy may serve instead."""


@dataclass(frozen=True)
class Copy:
    """A data file of OpenML's, with its description (plain texts by tag: id, name, version, md5_checksum, ...)."""

    path: Path
    description: dict[str, str]
    cached: bool


def cache_folder() -> Path:
    """Return the folder where the client caches data sets: the client's own answer, so its settings hold."""
    spec = importlib.util.find_spec("openml")
    if spec is None or spec.origin is None:
        raise UserError("the openml package is not installed; `make setup` installs it.")
    # config.py alone: importing the package takes 2 s, and a cached set does not need it.
    file = Path(spec.origin).with_name("config.py")
    config_spec = importlib.util.spec_from_file_location("pipeline_openml_config", file)
    assert config_spec is not None
    assert config_spec.loader is not None
    config = importlib.util.module_from_spec(config_spec)
    try:
        config_spec.loader.exec_module(config)
    except OSError as error:
        where = os.environ.get("OPENML_CACHE_DIR", "its default place")
        raise UserError(f"the cache of the openml client ({where}) cannot be used: {error}.") from None
    return Path(config.get_cache_directory()) / "datasets"


def cached(dataset_id: int, cache: Path | None = None) -> Copy | None:
    """Return the cached copy, if there is one and it is whole."""
    folder = (cache or cache_folder()) / str(dataset_id)
    files = [folder / "dataset.arff", folder / f"dataset_{dataset_id}.pq", folder / "dataset.pq"]
    data = next((file for file in files if file.is_file()), None)
    if data is None or not (folder / "description.xml").is_file():
        return None
    try:
        description = _description(folder / "description.xml")
    except (ElementTree.ParseError, OSError) as error:
        log.warning("%s is damaged (%s); not used.", folder / "description.xml", error)
        return None
    wanted = description.get("md5_checksum")
    if data.suffix == ".arff" and wanted and md5(data) != wanted:  # the checksum is that of the ARFF file
        log.warning("%s is damaged: its checksum is not %s; not used.", data, wanted)
        return None
    return Copy(data, description, cached=True)


@contextmanager
def copy(dataset_id: int, timeout: float, retries: int, network: bool = True) -> Iterator[Copy]:
    """Give a copy of a data set; one that was downloaded goes into the cache when the block ends well."""
    cache = cache_folder()
    found = cached(dataset_id, cache)
    if found is not None:
        yield found
        return
    if not network:
        raise Unreachable(f"data set {dataset_id} is not in the cache of the openml client")
    limit = 10 * timeout  # for an answer that trickles in; one that stops costs `timeout`
    with _scratch(cache, dataset_id, limit) as (scratch, keep):
        found = cached(dataset_id, cache)  # another process may have brought it while we waited
        if found is not None:
            yield found
            return
        path = _download(dataset_id, scratch, timeout, retries, limit)
        yield Copy(path, _description(path.with_name("description.xml")), cached=False)
        if keep:
            _keep(path, cache / str(dataset_id))


def _description(path: Path) -> dict[str, str]:
    root = ElementTree.fromstring(path.read_bytes())
    return {child.tag.rpartition("}")[2]: child.text or "" for child in root}


@contextmanager
def _scratch(cache: Path, dataset_id: int, limit: float) -> Iterator[tuple[Path, bool]]:
    """Give a folder on the cache's file system, to one process at a time; or one elsewhere, not to be kept."""
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
                    raise Unreachable(f"another process holds {lock.name} for more than {limit:g} s") from None
                time.sleep(0.05)
        for left in cache.glob(f".{dataset_id}.*/"):  # by a process that was killed: this one has the lock now
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f".{dataset_id}.", dir=cache) as scratch:
            yield Path(scratch), True


def _download(dataset_id: int, scratch: Path, timeout: float, retries: int, limit: float) -> Path:
    command = [sys.executable, "-m", "pipeline.data.sources.openml_client", str(dataset_id)]
    command += ["--timeout", str(timeout), "--retries", str(retries)]
    # ARFF, not Parquet: the checksum is that of the ARFF file, and its header declares the order of the categories.
    environment = {**os.environ, "OPENML_CACHE_DIR": str(scratch), "OPENML_SKIP_PARQUET": "true"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout is not None
        client.stdout.readline()  # "ready": on a busy machine importing the client takes longer than OpenML does
        try:
            said, complaint = client.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            client.kill()
            raise Unreachable(f"OpenML did not deliver data set {dataset_id} within {limit:g} s") from None
    try:
        answer = json.loads(said.splitlines()[-1])
    except (IndexError, ValueError):
        reason = complaint.strip().splitlines() or [f"exit code {client.returncode}"]
        raise UserError(f"the openml client failed on data set {dataset_id}: {reason[-1]}") from None
    if answer["kind"] == "unreachable":
        raise Unreachable(answer["message"])
    if answer["kind"] == "refused":
        raise UserError(answer["message"])
    return Path(answer["path"])


def _keep(path: Path, folder: Path) -> None:
    """Move a checked download into the cache, the description last: without it a folder does not count."""
    try:
        folder.mkdir(exist_ok=True)
        path.replace(folder / path.name)
        path.with_name("description.xml").replace(folder / "description.xml")
    except OSError as error:
        log.warning("the download was not kept in %s: %s.", folder, error)
