"""Where fits and trials are computed: in this process, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.common.errors import UserError
from pipeline.config.params import Execution
from pipeline.execution.pools.base import Call, Inline, Pool
from pipeline.execution.pools.processes import start_processes
from pipeline.fitting.training_data import TrainingData

__all__ = ["Call", "Inline", "Pool", "job_count", "open_pool", "uses_other_processes"]
VARIABLE = "LDEP_N_JOBS"
LARGEST = 1024


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
        from pipeline.execution.pools import dask_cluster  # Dask is an optional dependency

        with dask_cluster.connect(execution.scheduler, n_jobs, data) as cluster:
            yield cluster
    elif n_jobs > 1:
        with start_processes(n_jobs, data) as processes:
            yield processes
    else:
        yield Inline(data)
