"""A pool of processes for fits: one BLAS thread each, and gone when their parent is."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from pipeline.errors import UserError
from pipeline.params import Execution

VARIABLE = "LDEP_N_JOBS"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def jobs(execution: Execution) -> int:
    """Processes to use: LDEP_N_JOBS, else execution.n_jobs, else the processors that this process may use."""
    given = os.environ.get(VARIABLE)
    if given is None:
        return execution.n_jobs or len(os.sched_getaffinity(0))
    if not given.isdigit() or not 1 <= int(given) <= 1024:
        raise UserError(f"{VARIABLE} is '{given}', not a whole number from 1 to 1024.")
    return int(given)


class Inline(Executor):
    """The work in this process, at once: one job needs no pool, and a debugger can follow it."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(call(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def open_pool(n_jobs: int) -> Iterator[tuple[Executor, Any]]:
    """An executor, and a queue on which its workers put what they have to tell (None for one job)."""
    if n_jobs == 1:
        yield Inline(), None
        return
    # spawn: a fork of a process with threads, as MLflow's are, may hang.
    context = multiprocessing.get_context("spawn")
    news = context.SimpleQueue()
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))  # read by the BLAS of a worker when it is loaded
    pool = ProcessPoolExecutor(n_jobs, mp_context=context, initializer=_start, initargs=(news,))
    try:
        yield pool, news
    except BaseException:
        # Waiting for fits that nobody wants any more may take minutes.
        for process in (pool._processes or {}).values():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


_news: Any = None


def _start(news: Any) -> None:
    global _news
    _news = news
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent ends its workers, without tracebacks
    parent = multiprocessing.parent_process()
    assert parent is not None
    # A parent that is killed tells its workers nothing: they would train on, beside those of the next run.
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def tell(message: Any) -> None:
    """From a worker to whoever reads the pool's queue."""
    if _news is not None:
        _news.put(message)
