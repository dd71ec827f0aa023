"""Patience with a tracking server: say soon that it is waited for, and give up in the end.

A server may refuse for a while (429 or 503 with Retry-After), hang, or send its answer byte by byte. MLflow's client
waits in silence, in some of these cases for ever, and has no setting for the time that a whole request may take. So
work with a server runs in a thread that can be left behind.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from pipeline.common.errors import masked

log = logging.getLogger(__name__)
NOTICE = 5.0  # seconds until the log says that the server is waited for
LIMIT = 600.0  # seconds for one piece of work: a server that is restarted is back by then
WITHOUT = "set tracking.enabled to false in params.yaml to go on without it"
GO_ON_WITHOUT = f"Press Ctrl-C and {WITHOUT}; finished work is kept."
Result = TypeVar("Result")


class ServerTooSlow(OSError):
    """The server did not finish its answers in time."""


def call(
    what: str, uri: str, work: Callable[[], Result], limit: float | None = None, advice: str = GO_ON_WITHOUT
) -> Result:
    """Return what `work` returns. For a server: log a warning after NOTICE seconds, ServerTooSlow after `limit`."""
    if not uri.startswith(("http://", "https://")):
        return work()
    limit = LIMIT if limit is None else limit
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name="tracking server", daemon=True).start()
    try:
        return outcome.result(timeout=min(NOTICE, limit))
    except TimeoutError:
        if outcome.done():  # a TimeoutError of the work itself
            raise
    log.warning(
        "%s: still waiting for the tracking server %s, for %.0f s at most. %s",
        what,
        masked(uri),
        limit,
        advice,
    )
    try:
        return outcome.result(timeout=max(0.0, limit - NOTICE))
    except TimeoutError:
        if outcome.done():
            raise
        raise ServerTooSlow(f"the tracking server {masked(uri)} did not answer within {limit:.0f} s") from None
