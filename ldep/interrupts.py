"""Compiled code that Ctrl-C can interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def interruptible(function: Callable[..., T], *args, **kwargs) -> T:
    """Call a function in a thread of its own, so that Ctrl-C need not wait until it returns.

    Python handles signals between two instructions of the main thread: libsvm, once called there, runs to its end.
    After an interrupt the abandoned thread goes on in the background until it ends or the process does. Outside the
    main thread, where no signal arrives, the function is called directly.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args, **kwargs)
    results: list[T] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            results.append(function(*args, **kwargs))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if errors:
        raise errors[0]
    return results[0]
