"""Where fits and trials are computed: this process, processes of this machine, or a Dask cluster.

A piece of work is `call(work, rows)`, which touches no file. So it may run anywhere, and run again: what it gives is
written down by whoever opened the pool.
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
from typing import Any

from pipeline.common.errors import UserError
from pipeline.config.params import Execution
from pipeline.fitting.training_data import TrainingData

VARIABLE = "LDEP_N_JOBS"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
Call = Callable[[Any, TrainingData], Any]


class Pool(ABC):
    grain = 0.0
    """Seconds that work should take at least, if it can be cut: less than that is lost by a kill."""

    @abstractmethod
    def submit(self, call: Call, work: Any) -> Future[Any]: ...

    def wait(self, futures: Collection[Future[Any]]) -> Collection[Future[Any]]:
        """Those that are done, as soon as there is one."""
        return wait(futures, return_when=FIRST_COMPLETED).done

    def result(self, future: Future[Any]) -> Any:
        """What the call gave; UserError if the worker is to blame."""
        return future.result()


def jobs(execution: Execution) -> int:
    """Processes to use: LDEP_N_JOBS, else execution.n_jobs, else the processors that this process may use."""
    given = os.environ.get(VARIABLE)
    if given is None:
        return execution.n_jobs or len(os.sched_getaffinity(0))
    if not given.isdigit() or not 1 <= int(given) <= 1024:
        raise UserError(f"{VARIABLE} is '{given}', not a whole number from 1 to 1024.")
    return int(given)


def apart(execution: Execution) -> bool:
    """Whether the work is done in other processes than this one."""
    return execution.backend == "dask" or jobs(execution) > 1


@contextmanager
def open_pool(execution: Execution, rows: TrainingData) -> Iterator[Pool]:
    """The pool that params.yaml asks for, with the rows of one set at its workers."""
    n_jobs = jobs(execution)
    if execution.backend == "dask":
        from pipeline.execution import dask_pool  # Dask is an extra

        with dask_pool.connected(execution.scheduler, n_jobs, rows) as pool:
            yield pool
    elif apart(execution):
        with _processes(n_jobs, rows) as pool:
            yield pool
    else:
        yield Inline(rows)


class Inline(Pool):
    """The work in this process, when it is waited for: one job needs no pool, and a debugger can follow it."""

    def __init__(self, rows: TrainingData) -> None:
        self.rows = rows
        self.todo: deque[tuple[Future[Any], Call, Any]] = deque()

    def submit(self, call: Call, work: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.todo.append((future, call, work))
        return future

    def wait(self, futures: Collection[Future[Any]]) -> Collection[Future[Any]]:
        future, call, work = self.todo.popleft()
        future.set_result(call(work, self.rows))
        return [future]


class Processes(Pool):
    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self.executor = executor

    def submit(self, call: Call, work: Any) -> Future[Any]:
        try:
            return self.executor.submit(_call, call, work)
        except BrokenProcessPool as error:  # said when it is waited for, after what came back has been stored
            lost: Future[Any] = Future()
            lost.set_exception(error)
            return lost

    def result(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except BrokenProcessPool:
            raise UserError(
                "a worker process was killed, most likely for want of memory. What was finished is kept: run it again, "
                "with a smaller execution.n_jobs."
            ) from None


@contextmanager
def _processes(n_jobs: int, rows: TrainingData) -> Iterator[Processes]:
    """One BLAS thread each, and gone when their parent is."""
    # spawn: a fork of a process with threads, as MLflow's are, may hang.
    context = multiprocessing.get_context("spawn")
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))  # read by the BLAS of a worker when it is loaded
    executor = ProcessPoolExecutor(n_jobs, mp_context=context, initializer=_start, initargs=(rows,))
    try:
        yield Processes(executor)
    except BaseException:
        # Waiting for fits that nobody wants any more may take minutes.
        for process in (executor._processes or {}).values():
            process.terminate()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


_rows: TrainingData


def _start(rows: TrainingData) -> None:
    global _rows
    _rows = rows
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent ends its workers, without tracebacks
    parent = multiprocessing.parent_process()
    assert parent is not None
    # A parent that is killed tells its workers nothing: they would train on, beside those of the next run.
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _call(call: Call, work: Any) -> Any:
    return call(work, _rows)
