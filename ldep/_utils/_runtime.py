"""One BLAS thread inside a fit: at these sizes more threads cost time, and change the last bits of the result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_thread():
    """A context in which BLAS and OpenMP use one thread. Parallelism belongs outside, over fits."""
    return _controller().limit(limits=1)


T = TypeVar("T")


def interruptible(function: Callable[..., T], *args, **kwargs) -> T:
    """Call a function in a thread of its own, so that Ctrl-C need not wait until it returns.

    Python handles signals between two instructions of the main thread: libsvm, once called there, runs to its end.
    After an interrupt the abandoned thread goes on in the background until it ends or the process does. Outside the
    main thread, where no signal arrives, the function is called directly.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args, **kwargs)
    future: Future[T] = Future()

    def call() -> None:
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    return future.result()


def draw_seeds(random_state: np.random.RandomState, count: int) -> list[int]:
    """Draw seeds as plain ints, which survive cloning, pickling and other processes."""
    return random_state.randint(np.iinfo(np.int32).max, size=count).tolist()


def set_random_states(estimator, seed: int):
    """Set every `random_state` of an estimator and of its parts."""
    names = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
    return estimator.set_params(**dict.fromkeys(names, seed))
