"""Stage train: every model on every fold of one data set, tuned if it has a search, and tracked in MLflow."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.common.files import locked
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Execution, Params
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.data.stage_files import Provenance
from ldep_pipeline.execution import plan, pools, results, training_progress
from ldep_pipeline.execution.model_check import check_models
from ldep_pipeline.execution.scheduler import BackgroundListener, Listener, Listeners, Scheduler
from ldep_pipeline.execution.store import Store
from ldep_pipeline.fitting.training_data import TrainingData

log = logging.getLogger(__name__)


class ModelsFailed(UserError):
    """Some fits failed. All others are done, and everything is written."""


def run(name: str, params: Params, root: Path = Path()) -> None:
    """Write results/NAME/ and metrics/sets/NAME.json; raise ModelsFailed if a fit failed."""
    folder, state = root / paths.DATA, root / paths.STATE
    check_models(params, Store(root / paths.BUILT))
    data = load_training_data(name, folder)
    training_plan = plan.make(name, params, data.partition, folder, state)
    provenance = Provenance.read(name, folder)
    with locked(root / paths.LOCKS / f"{name}.lock", f"the models of {name}"):
        started = time.monotonic()
        scheduler = Scheduler(training_plan, data)
        tracker = None
        with ExitStack() as starting:
            # First of all, because the workers load their modules while this process imports MLflow.
            pool = starting.enter_context(pools.open_pool(params.execution, data)) if scheduler.missing else None
            if params.tracking.enabled:
                from ldep_pipeline.tracking.tracker import Tracker  # imports MLflow, which takes longer than many a fit

                # Before the work: a server that does not answer is reported now, not after hours.
                tracker = Tracker(params.tracking, training_plan, data, provenance, root)
            with (
                training_progress.listening(training_plan, _estimate(training_plan, params, data)) as progress,
                _tracking_listeners(tracker, params.execution) as tracking,
                starting.pop_all(),  # the pool ends before the listeners
            ):
                scheduler.run(Listeners(progress, *tracking), pool)
        if tracker is not None:
            tracker.close()
        table = results.tidy(training_plan, scheduler.records, provenance.source)
        decisions = results.decision_table(training_plan, scheduler.decisions, np.unique(data.y).tolist())
        results.write(training_plan, scheduler.records, table, decisions, root)
        cost = f"; tracking took {tracker.seconds:.1f} s of CPU" if tracker is not None else ""
        log.info("%s: %d models in %.0f s%s.", name, len(training_plan.models), time.monotonic() - started, cost)
    _raise_failures(name, scheduler.records)


def _estimate(training_plan: plan.TrainingPlan, params: Params, data: TrainingData) -> training_progress.RemainingWork:
    return training_progress.RemainingWork(training_plan, data.X.shape[1], pools.job_count(params.execution))


@contextmanager
def _tracking_listeners(tracker: Listener | None, execution: Execution) -> Iterator[list[Listener]]:
    """The tracker, in a thread if the fits run in other processes; otherwise its CPU time would count as theirs."""
    if tracker is None:
        yield []
    elif pools.uses_other_processes(execution):
        with BackgroundListener(tracker) as background:
            yield [background]
    else:
        yield [tracker]


def _raise_failures(name: str, records: results.Records) -> None:
    failures = [
        f"  {model}, fold {fold}: {record['message']}"
        for (model, fold), record in sorted(records.items())
        if record["status"] == "failed"
    ]
    if failures:
        summary = f"{name}: {len(failures)} of {len(records)} fits failed; the others are done, and in the results."
        raise ModelsFailed("\n".join([summary, *failures]))
