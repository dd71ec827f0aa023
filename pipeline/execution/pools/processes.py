"""A pool of processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from typing import Any

from pipeline.common.errors import UserError
from pipeline.execution.pools.base import THREAD_VARIABLES, Call, Pool
from pipeline.fitting.training_data import TrainingData


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

    from pipeline.fitting import fit, trial  # noqa: F401


def _exit_when_closed(lifeline: Connection) -> None:
    lifeline.poll(None)  # nothing is ever sent: it returns when the other end is closed
    os._exit(1)


def _run(call: Call, task: Any) -> Any:
    return call(task, _data)
