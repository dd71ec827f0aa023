"""The version of the model that a process of the server answers with, and the change to another one.

A request holds the version that it began with until it is answered, so that an answer comes from one version alone. A
version that is no longer served is let go of with its last request: its search process ends, and its memory is free.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from ldep_pipeline.server import metrics, openapi, published
from ldep_pipeline.server.answers import Answers
from ldep_pipeline.server.published import Published
from ldep_pipeline.server.search_process import Searches
from ldep_pipeline.server.settings import Settings
from ldep_pipeline.serving import served_model
from ldep_pipeline.serving.served_model import UnusableModel

log = logging.getLogger(__name__)
LOOK = 0.5  # seconds between two looks at what is published


class Version:
    """A version of the model with what it needs to answer requests."""

    def __init__(self, source: Published, settings: Settings) -> None:
        self.source, self.settings = source, settings
        model, self._profile = published.load(source.data)
        self.answers = Answers(model, source.version, settings)
        self.searches = Searches(source.data, metrics.count_searches)
        self.users = 0

    @cached_property
    def description(self) -> dict[str, Any]:
        """The OpenAPI document."""
        model = self.answers.model
        example = published.example(model, self._profile)
        return openapi.describe(model, example, served_model.installed_version(), self.settings)


class Deployed:
    """The version that is served."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.version = Version(published.read(settings.folder), settings)
        self._old: list[Version] = []
        self._announce()

    @contextlib.contextmanager
    def held(self) -> Iterator[Version]:
        """The present version, kept until the request is answered."""
        version = self.version
        version.users += 1
        try:
            yield version
        finally:
            version.users -= 1

    async def follow(self) -> None:
        """Go over to each version that is published, without end."""
        seen = self.version.source
        while True:
            await asyncio.sleep(LOOK)
            await self._let_go()
            source = published.read(self.settings.folder)
            if source == seen:
                continue
            seen = source
            try:
                version = await asyncio.to_thread(Version, source, self.settings)
            except UnusableModel as error:
                metrics.refused_versions.inc()
                log.error("version %s is not taken up: %s", source.version, error)
                continue
            except Exception:  # a task that ended would follow nobody, and nobody would notice
                metrics.refused_versions.inc()
                log.exception("version %s is not taken up", source.version)
                continue
            self._old.append(self.version)
            self.version = version
            self._announce()
            log.warning("version %s answers now.", source.version)

    async def close(self) -> None:
        await self.version.searches.close()
        for version in self._old:
            await version.searches.close()

    def _announce(self) -> None:
        name = self.version.source.version
        metrics.version.set(int(name) if name.isdigit() else 0)

    async def _let_go(self) -> None:
        """Forget the old versions that no request holds any more."""
        free = [version for version in self._old if not version.users]
        for version in free:
            self._old.remove(version)
            await version.searches.close()
        if free:
            free.clear()
            await asyncio.to_thread(_return_memory)


def _return_memory() -> None:
    """Give free memory back to the system, which glibc keeps otherwise."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
