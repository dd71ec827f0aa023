"""Where fits and trials are computed: in this process, in processes of this machine, or on a Dask cluster.

A piece of work is a call `function(task, data)` that touches no file. So it may run anywhere, and run again: whoever
opened the pool writes the results down.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from typing import Any

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import Execution
from ldep_pipeline.fitting.training_data import TrainingData

VARIABLE = "LDEP_N_JOBS"
LARGEST = 1024
Call = Callable[[Any, TrainingData], Any]
# One BLAS thread per worker: more would compete for the same processors.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def job_count(execution: Execution) -> int:
    """Number of processes: LDEP_N_JOBS, else execution.n_jobs, else the processors that this process may use."""
    text = os.environ.get(VARIABLE)
    if text is None:
        return execution.n_jobs or len(os.sched_getaffinity(0))
    if not text.isdecimal() or len(text) > len(str(LARGEST)) or not 1 <= int(text) <= LARGEST:
        raise UserError(f"{VARIABLE} is '{text}', not a whole number from 1 to {LARGEST}.")
    return int(text)


def uses_other_processes(execution: Execution) -> bool:
    return execution.backend == "dask" or job_count(execution) > 1


@contextmanager
def open_pool(execution: Execution, data: TrainingData) -> Iterator[Pool]:
    """The pool that params.yaml asks for, with one data set at its workers."""
    n_jobs = job_count(execution)
    if execution.backend == "dask":
        from ldep_pipeline.execution import dask_cluster  # Dask is an optional dependency

        with dask_cluster.connect(execution.scheduler, n_jobs, data) as cluster:
            yield cluster
    elif n_jobs > 1:
        with start_processes(n_jobs, data) as processes:
            yield processes
    else:
        yield Inline(data)


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


class Processes(Pool):
    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self.executor = executor

    def submit(self, call: Call, task: Any) -> Future[Any]:
        try:
            return self.executor.submit(_run, call, task)
        except BrokenProcessPool as error:  # reported by `result`, after the results that came back are stored
            lost: Future[Any] = Future()
            lost.set_exception(error)
            return lost

    def result(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except BrokenProcessPool:
            raise UserError(
                "a worker process was killed, most likely because the machine ran out of memory. Finished work is "
                "kept: run the command again, with a smaller execution.n_jobs."
            ) from None


@contextmanager
def start_processes(n_jobs: int, data: TrainingData) -> Iterator[Processes]:
    """Start a pool. Its workers end at once when the block fails or this process dies.

    Each worker watches its end of a pipe and exits when the other end is closed: by this function, or by the kernel
    when this process has died, however it died.
    """
    # Not fork: a forked process with threads, as MLflow has, may hang.
    context = multiprocessing.get_context("spawn")
    worker_end, lifeline = context.Pipe(duplex=False)
    inbox = context.SimpleQueue()
    executor = ProcessPoolExecutor(n_jobs, mp_context=context, initializer=_start_worker, initargs=(inbox, worker_end))
    try:
        with _single_threaded_children():
            for _ in range(n_jobs):
                executor.submit(_load_modules)  # starts a process, and does not wait for it
        # A process takes its arguments when it has loaded its modules, and starting the next one would wait for that.
        threading.Thread(target=_hand_out, args=(data, inbox, n_jobs), daemon=True).start()
        yield Processes(executor)
    except BaseException:
        lifeline.close()  # waiting for fits whose results nobody needs could take minutes
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        worker_end.close()
        lifeline.close()


def _hand_out(data: TrainingData, inbox: SimpleQueue[TrainingData], n_jobs: int) -> None:
    for _ in range(n_jobs):
        inbox.put(data)


@contextmanager
def _single_threaded_children() -> Iterator[None]:
    """Set the variables that the BLAS library of a new process reads when it is loaded."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_data: TrainingData


def _start_worker(inbox: SimpleQueue[TrainingData], lifeline: Connection) -> None:
    global _data
    # Ctrl-C reaches all processes of the terminal; the parent ends its workers, without their tracebacks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_when_closed, args=(lifeline,), daemon=True).start()
    _data = inbox.get()


def _load_modules() -> None:
    """Import what every fit needs, while the driver is still at its own imports."""
    import skops.io  # noqa: F401

    from ldep_pipeline.fitting import fit, trial  # noqa: F401


def _exit_when_closed(lifeline: Connection) -> None:
    lifeline.poll(None)  # nothing is ever sent: it returns when the other end is closed
    os._exit(1)


def _run(call: Call, task: Any) -> Any:
    return call(task, _data)
