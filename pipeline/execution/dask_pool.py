"""The pool on a Dask cluster, by Dask's own futures. A worker needs this package installed, and no file of the project.

Dask runs the work of a lost worker again elsewhere. That may be done as often as it likes: work is a plain call without
side effects, and its result is taken once.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from typing import Any

from pipeline.common.errors import UserError, first_line
from pipeline.execution.code_version import worker_code
from pipeline.execution.pools import THREADS, Call, Pool
from pipeline.fitting.training_data import TrainingData

try:
    import dask
    import distributed
except ImportError as error:
    raise UserError(
        f"execution.backend: dask needs the extra of that name, pip install 'ldep[dask]': {error}."
    ) from None

log = logging.getLogger(__name__)
CONNECT = 30  # seconds for the scheduler to answer, and for a first worker to be there
PATIENCE = 60  # seconds without a result, before it is said that no worker is there
SETTINGS = {
    # The rows of a set travel as the argument of a task.
    "distributed.admin.large-graph-warning-threshold": "10GB",
    "distributed.comm.timeouts.connect": f"{CONNECT}s",
}
# Of the cluster that we start. Dask's default makes malloc return memory after each array, and has a thread take a
# worker's stack a hundred times a second, for a dashboard that nobody looks at: a tenth of the suite's time.
STARTED = {
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(THREADS, "1"),
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


class Cluster(Pool):
    grain = 1.0  # a task costs some ten milliseconds of CPU, more than many a fit

    def __init__(self, client: distributed.Client, address: str, rows: TrainingData) -> None:
        self.client, self.address = client, address
        self.executor = client.get_executor(pure=False)
        self.expected = {"Python": python(), **worker_code()}
        # A task, and not scattered: what is scattered is lost with its worker, what a task gave is made again.
        self.rows = client.submit(_same, rows, pure=False)

    def submit(self, call: Call, work: Any) -> Future[Any]:
        # First come, first served, as in a local pool: what comes within this time of another is taken in any order.
        return self.executor.submit(_call, self.expected, call, work, self.rows, fifo_timeout="0 ms")

    def wait(self, futures: Collection[Future[Any]]) -> Collection[Future[Any]]:
        while True:
            done = wait(futures, timeout=PATIENCE, return_when=FIRST_COMPLETED).done
            if done:
                return done
            if not self.client.scheduler_info(n_workers=1)["workers"]:
                log.warning("no worker is left at the Dask scheduler %s; waiting for one.", self.address)

    def result(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except distributed.KilledWorker as error:
            raise UserError(
                f"each worker that took a certain fit was killed (the last: {error.last_worker.address}), most likely "
                "for want of memory. What was finished is kept: run it again, with more memory a worker."
            ) from None
        except CancelledError:
            raise UserError(
                f"the Dask scheduler {self.address} was lost. What was finished is kept: run it again."
            ) from None


@contextmanager
def connected(scheduler: str | None, n_jobs: int, rows: TrainingData) -> Iterator[Cluster]:
    """Connect to a scheduler, or to a cluster of this machine that is started for it and reached from nowhere else."""
    with dask.config.set(SETTINGS):
        if scheduler is not None:
            with _client(scheduler) as client:
                yield Cluster(client, scheduler, rows)
            return
        with (
            dask.config.set(STARTED),
            distributed.LocalCluster(
                n_workers=n_jobs, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None,
                memory_limit=0, silence_logs=logging.ERROR,
            ) as started,
            distributed.Client(started, set_as_default=False, direct_to_workers=True) as client,
        ):  # fmt: skip
            yield Cluster(client, started.scheduler_address, rows)


@contextmanager
def _client(scheduler: str) -> Iterator[distributed.Client]:
    try:
        client = distributed.Client(scheduler, timeout=CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        said = first_line(error)
        raise UserError(f"the Dask scheduler {scheduler} cannot be reached: {said}; see execution.scheduler.") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT)
        except TimeoutError:
            raise UserError(
                f"the Dask scheduler {scheduler} has no worker; start some: `dask worker {scheduler} --nthreads 1`."
            ) from None
        yield client


def _same(rows: TrainingData) -> TrainingData:
    return rows


def _call(expected: dict[str, str], call: Call, work: Any, rows: TrainingData) -> Any:
    """In a worker. Other code, other versions or fits side by side in one process would give other numbers."""
    worker = distributed.get_worker()
    if worker.state.nthreads != 1:
        raise UserError(
            f"the Dask worker {worker.address} has {worker.state.nthreads} threads; start it with --nthreads 1."
        )
    here = {"Python": python(), **worker_code()}
    other = [f"{name} is {here[name]}, not {value}" for name, value in expected.items() if here[name] != value]
    if other:
        raise UserError(
            f"the Dask worker {worker.address} differs from this process: {'; '.join(other)}. Install the same."
        )
    return call(work, rows)


def python() -> str:
    return ".".join(platform.python_version_tuple()[:2])
