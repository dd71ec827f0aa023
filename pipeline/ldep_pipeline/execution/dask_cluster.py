"""A pool on a Dask cluster. A worker needs this package installed, and no file of the project.

Dask repeats the work of a lost worker elsewhere, as often as it likes: work is a plain call without side effects, and
its result is used once.

Whoever can talk to a Dask scheduler can run code on its workers. A cluster that is started here accepts only
connections with its own temporary certificate. For other clusters use an address that starts with tls://, and set the
certificates in Dask's configuration (`distributed.comm.tls`).
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from typing import Any

from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.execution.code_version import worker_code
from ldep_pipeline.execution.pools import THREAD_VARIABLES, Call, Pool
from ldep_pipeline.fitting.training_data import TrainingData

try:
    import dask
    import distributed
except ImportError as error:
    raise UserError(
        f"execution.backend: dask needs the optional dependencies of that name ({error}); "
        "install them: pip install 'ldep-pipeline[dask]'."
    ) from None

log = logging.getLogger(__name__)
CONNECT = 30  # seconds for the scheduler to answer, and for a first worker to appear
PATIENCE = 60  # seconds without a result before a missing worker is reported
ENCRYPTED = ("tls://", "wss://")
CLIENT_SETTINGS = {
    # The rows of a data set travel as the argument of a task.
    "distributed.admin.large-graph-warning-threshold": "10GB",
    "distributed.comm.timeouts.connect": f"{CONNECT}s",
}
# For a cluster that is started here. By default Dask returns memory to the system after each array, and samples the
# stack of each worker a hundred times per second for a dashboard that nobody opens: a tenth of the suite's time.
CLUSTER_SETTINGS = {
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(THREAD_VARIABLES, "1"),
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
# Even without a dashboard, the scheduler and the workers open a port for HTTP, by default on all interfaces.
HTTP_ADDRESS = "127.0.0.1:0"


class Cluster(Pool):
    batch_seconds = 1.0  # a task costs about ten milliseconds of CPU, which is more than many a fit

    def __init__(self, client: distributed.Client, address: str, data: TrainingData) -> None:
        self.client, self.address = client, address
        self.executor = client.get_executor(pure=False)
        self.expected = {"Python": python_version(), **worker_code()}
        # A task, not scattered data: what is scattered is lost with its worker; the result of a task is made again.
        self.data = client.submit(_identity, data, pure=False)

    def submit(self, call: Call, task: Any) -> Future[Any]:
        # First come, first served, as in a local pool: Dask reorders tasks that arrive within this time.
        return self.executor.submit(_run, self.expected, call, task, self.data, fifo_timeout="0 ms")

    def wait(self, futures: Collection[Future[Any]]) -> Collection[Future[Any]]:
        while True:
            done = wait(futures, timeout=PATIENCE, return_when=FIRST_COMPLETED).done
            if done:
                return done
            if not self.client.scheduler_info(n_workers=1)["workers"]:
                log.warning("The Dask scheduler %s has no worker left; waiting for one.", self.address)

    def result(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except distributed.KilledWorker as error:
            raise UserError(
                f"every worker that ran a certain fit was killed (the last: {error.last_worker.address}), most likely "
                "because it ran out of memory. Finished work is kept: run the command again, with more memory per "
                "worker."
            ) from None
        except CancelledError:
            raise UserError(
                f"the connection to the Dask scheduler {self.address} was lost. Finished work is kept: run the command "
                "again."
            ) from None


@contextmanager
def connect(scheduler: str | None, n_jobs: int, data: TrainingData) -> Iterator[Cluster]:
    """Connect to a scheduler; without one, start a cluster on this machine that nobody else can use."""
    with dask.config.set(CLIENT_SETTINGS):
        if scheduler is not None:
            with _client(scheduler) as client:
                yield Cluster(client, scheduler, data)
            return
        with (
            dask.config.set(CLUSTER_SETTINGS),
            distributed.LocalCluster(
                n_workers=n_jobs,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                protocol="tls://",
                security=distributed.Security.temporary(),
                scheduler_kwargs={"dashboard": False, "dashboard_address": HTTP_ADDRESS},
                worker_dashboard_address=HTTP_ADDRESS,
                memory_limit=0,
                silence_logs=logging.ERROR,
            ) as cluster,
            distributed.Client(cluster, set_as_default=False, direct_to_workers=True) as client,
        ):
            yield Cluster(client, cluster.scheduler_address, data)


@contextmanager
def _client(scheduler: str) -> Iterator[distributed.Client]:
    if not scheduler.startswith(ENCRYPTED):
        log.warning(
            "The connection to the Dask scheduler %s is not encrypted: whoever can reach it can run code on its "
            "workers. Use tls:// outside a trusted network.",
            scheduler,
        )
    try:
        client = distributed.Client(scheduler, timeout=CONNECT, set_as_default=False)
    except (OSError, TimeoutError, TypeError, ValueError) as error:
        hint = "see execution.scheduler in params.yaml"
        if scheduler.startswith(ENCRYPTED):
            hint += " and distributed.comm.tls in the configuration of Dask"
        raise UserError(f"the Dask scheduler {scheduler} cannot be reached: {first_line(error)}; {hint}.") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT)
        except TimeoutError:
            raise UserError(
                f"the Dask scheduler {scheduler} has no worker; start some: `dask worker {scheduler} --nthreads 1`."
            ) from None
        yield client


def _identity(data: TrainingData) -> TrainingData:
    return data


def _run(expected: dict[str, str], call: Call, task: Any, data: TrainingData) -> Any:
    """Runs in a worker. With other code, other versions or parallel fits in one process the numbers would differ."""
    worker = distributed.get_worker()
    if worker.state.nthreads != 1:
        raise UserError(
            f"the Dask worker {worker.address} has {worker.state.nthreads} threads; start it with --nthreads 1."
        )
    actual = {"Python": python_version(), **worker_code()}
    different = [f"{name} is {actual[name]}, not {value}" for name, value in expected.items() if actual[name] != value]
    if different:
        raise UserError(
            f"the Dask worker {worker.address} differs from this process: {'; '.join(different)}. Install the same "
            "versions."
        )
    return call(task, data)


def python_version() -> str:
    return ".".join(platform.python_version_tuple()[:2])
