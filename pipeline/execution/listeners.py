"""Listeners: objects that receive the progress of a run, such as the progress bar and the MLflow tracker."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import Any

PATIENCE = 10  # seconds for a listener to finish its current event after an error


class Listener:
    """Receives the events of a run; the default ignores them."""

    def training_started(self) -> None:
        """Called once, after `fit_finished` for each fit that was in the store."""

    def trial_finished(self, model: str, fold: int, best: float) -> None: ...

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None: ...


class Listeners(Listener):
    """Passes each event to several listeners in turn."""

    def __init__(self, *listeners: Listener) -> None:
        self.listeners = listeners

    def training_started(self) -> None:
        for listener in self.listeners:
            listener.training_started()

    def trial_finished(self, model: str, fold: int, best: float) -> None:
        for listener in self.listeners:
            listener.trial_finished(model, fold, best)

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        for listener in self.listeners:
            listener.fit_finished(model, fold, record, stored)


class BackgroundListener(Listener):
    """Passes finished fits to a listener in a thread, in order, so that a slow one (a server) delays nobody.

    Otherwise results of workers would not be stored meanwhile, and a kill would lose them. Use it in a `with` block. An
    exception of the listener is raised by the next call, or at the end of the block.
    """

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.events: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self.error: Exception | None = None
        self.cancelled = False
        # A daemon thread: after Ctrl-C nobody waits for a server that does not answer.
        self.thread = threading.Thread(target=self._listen, daemon=True)

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        self._raise_error()
        self.events.put((model, fold, record, stored))

    def __enter__(self) -> BackgroundListener:
        self.thread.start()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.events.put(None)
        try:
            if kind is None:
                self.thread.join()
                self._raise_error()
        finally:
            self.cancelled = True  # after an error the next run passes on the remaining events, from the store
            self.thread.join(PATIENCE)

    def _raise_error(self) -> None:
        if self.error is not None:
            raise self.error

    def _listen(self) -> None:
        try:
            while (event := self.events.get()) is not None and not self.cancelled:
                self.listener.fit_finished(*event)
        except Exception as error:
            self.error = error
