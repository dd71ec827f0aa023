"""What a pool is, and the simplest one.

A piece of work is a call `function(task, data)` that touches no file. So it may run anywhere, and run again: whoever
opened the pool writes the results down.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from pipeline.fitting.training_data import TrainingData

Call = Callable[[Any, TrainingData], Any]
# One BLAS thread per worker: more would compete for the same processors.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class Pool(ABC):
    batch_seconds = 0.0
    """How long a trial should run before it hands back its scores. A kill loses at most that much."""

    @abstractmethod
    def submit(self, call: Call, task: Any) -> Future[Any]: ...

    def wait(self, futures: Collection[Future[Any]]) -> Collection[Future[Any]]:
        """Wait until at least one is done, and return those that are."""
        return wait(futures, return_when=FIRST_COMPLETED).done

    def result(self, future: Future[Any]) -> Any:
        """The result of a call; UserError if its worker was lost."""
        return future.result()


class Inline(Pool):
    """Computes in this process, when a result is waited for. A debugger can follow it."""

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        self.queue: deque[tuple[Future[Any], Call, Any]] = deque()

    def submit(self, call: Call, task: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.queue.append((future, call, task))
        return future

    def wait(self, futures: Collection[Future[Any]]) -> Collection[Future[Any]]:
        future, call, task = self.queue.popleft()
        future.set_result(call(task, self.data))
        return [future]
