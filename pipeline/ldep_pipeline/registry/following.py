"""From an address to the version that a server answers with: at the start, and whenever the alias moves.

Only a version whose files are verified, and that answers its own example, is published to the server's processes. Any
other one is reported, and the present one goes on.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.registry import download
from ldep_pipeline.server import published
from ldep_pipeline.server.published import Published
from ldep_pipeline.serving import served_model
from ldep_pipeline.serving.served_model import ServedModel, UnusableModel

log = logging.getLogger(__name__)
KEEP = 300.0  # seconds for the files of a version that is no longer served: a search may begin with it
TRY_AGAIN = 300.0  # seconds until a version that was refused is tried again: its files may have been out of reach
ADVICE = "The present version goes on answering."


@dataclass
class Source:
    """Where a server's versions come from, and the folder in which it publishes them.

    Attributes
    ----------
    uri : str
        models:/NAME@ALIAS, models:/NAME/VERSION, or a folder.
    folder : Path
        Where the server's processes look.
    verify : bool
        Whether signatures are checked.
    """

    uri: str
    folder: Path
    root: Path
    verify: bool = True
    version: str = ""
    """What is published."""
    _copy: ExitStack = field(default_factory=ExitStack)
    _replaced: list[tuple[float, ExitStack]] = field(default_factory=list)

    def publish(self) -> tuple[ServedModel, dict[str, Any]]:
        """Publish what the address names now; return the model and a row to try it with. UserError says why not."""
        if Path(self.uri).is_dir():
            return self._publish("", self.uri)
        version = download.version_of(self.uri, self.root)
        return self._publish(version, _pinned(self.uri, version))

    def follow(self, every: float) -> threading.Thread:
        """Look every so many seconds, in a thread, which version the alias names, and publish it if it is new."""
        thread = threading.Thread(target=self._follow, args=(every,), name="follow", daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        for copy in [self._copy, *(old for _, old in self._replaced)]:
            copy.close()

    def _follow(self, every: float) -> None:
        refused: dict[str, float] = {}  # when a version was refused
        complaint = ""
        while True:
            time.sleep(every)
            self._forget()
            try:
                version = download.version_of(self.uri, self.root, ADVICE)
                if version == self.version or time.monotonic() < refused.get(version, -TRY_AGAIN) + TRY_AGAIN:
                    continue
                try:
                    self._publish(version, _pinned(self.uri, version))
                except UserError:
                    refused[version] = time.monotonic()
                    _count_refusal()
                    raise
                refused.clear()
                complaint = ""
            except UserError as error:
                if str(error) != complaint:  # and not again every few seconds
                    log.error("version %s goes on answering: %s", self.version, error)
                complaint = str(error)
            except Exception:  # a thread that ended would follow nobody, and nobody would notice
                log.exception("version %s goes on answering", self.version)

    def _publish(self, version: str, uri: str) -> tuple[ServedModel, dict[str, Any]]:
        with ExitStack() as stack:
            folder = stack.enter_context(download.checked_copy(uri, self.root, self.verify))
            data = download.served_files(uri, folder)
            try:
                model, profile = published.load(data)
            except UnusableModel as error:
                raise UserError(f"{uri} is not loaded: {error}") from None
            version = version or _name_of_files(data)
            published.publish(self.folder, Published(version, data.absolute()))
            self._replaced.append((time.monotonic(), self._copy))
            self._copy, self.version = stack.pop_all(), version
        return model, published.example(model, profile)

    def _forget(self) -> None:
        """Delete the files of versions that were replaced a while ago."""
        old = [entry for entry in self._replaced if time.monotonic() > entry[0] + KEEP]
        for entry in old:
            entry[1].close()
            self._replaced.remove(entry)


def _pinned(uri: str, version: str) -> str:
    """The address of the version itself: an alias may move before its files are there."""
    name = uri.rpartition("@")[0] or uri.rpartition("/")[0]
    return f"{name}/{version}"


def _name_of_files(data: Path) -> str:
    """A folder has no number, but the digest of its pipeline."""
    description = json.loads((data / served_model.DESCRIPTION).read_text(encoding="utf-8"))
    return f"sha256:{description['sha256'][:12]}"


def _count_refusal() -> None:
    from ldep_pipeline.server import metrics  # it looks for the folder of the numbers, which the server has made by now

    metrics.refused_versions.inc()
