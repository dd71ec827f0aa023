"""Stage train: every model on every fold of one data set, tuned where it has a search, and tracked."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.common import file_lock
from pipeline.common.errors import UserError
from pipeline.config import paths
from pipeline.config.models import check_models
from pipeline.config.params import Execution, Params
from pipeline.data.provenance import Provenance
from pipeline.execution import plan, pools, result_files, training_progress
from pipeline.execution.inputs import load_training_data
from pipeline.execution.scheduler import BackgroundListener, Listener, Listeners, Scheduler

log = logging.getLogger(__name__)


class ModelsFailed(UserError):
    """Some fits failed. All others are done, and everything is written."""


def run(name: str, params: Params, root: Path = Path()) -> None:
    """Write results/NAME/, metrics/sets/NAME.json and plots/NAME/; then ModelsFailed, if a model failed on a fold."""
    check_models(params)
    folder, state = root / paths.DATA, root / paths.STATE
    rows = load_training_data(name, folder)
    made = plan.make(name, params, int(rows.fold.max()) + 1, folder, state)
    provenance = Provenance.read(name, folder)
    with file_lock.locked(root / paths.LOCKS / f"{name}.lock", f"the models of {name}"):
        began = time.monotonic()
        # Before the work: a server that does not answer is said now, not after hours.
        tracker = None
        if params.tracking.enabled:
            from pipeline.tracking.tracker import Tracker  # loads MLflow, which takes longer than many a fit

            tracker = Tracker(params.tracking, made, rows, provenance, root)
        with training_progress.listening(made, params) as lines, _beside(tracker, params.execution) as told:
            scheduler = Scheduler(made, rows, Listeners(lines, *told))
            scheduler.run(params.execution)
        if tracker:
            tracker.close()
        table = result_files.tidy(made, scheduler.records, provenance.source)
        decisions = result_files.decision_table(made, rows.fold, scheduler.decisions)
        result_files.write(made, scheduler.records, table, decisions, root)
        cost = f"; tracking took {tracker.seconds:.1f} s of CPU" if tracker else ""
        log.info("%s: %d models in %.0f s%s.", name, len(made.models), time.monotonic() - began, cost)
    _say_failures(name, scheduler.records)


@contextmanager
def _beside(tracker: Listener | None, execution: Execution) -> Iterator[list[Listener]]:
    """The tracker in a thread of its own, where other processes fit: here its CPU time would count as a fit's."""
    if tracker is None or not pools.apart(execution):
        yield [tracker] if tracker else []
    else:
        with BackgroundListener(tracker) as aside:
            yield [aside]


def _say_failures(name: str, records: result_files.Records) -> None:
    failed = [f"  {model}, fold {fold}: {record['message']}" for (model, fold), record in sorted(records.items())
              if record["status"] == "failed"]  # fmt: skip
    if failed:
        raise ModelsFailed("\n".join([
            f"{name}: {len(failed)} of {len(records)} fits failed; the others are done, and in the results.", *failed,
        ]))  # fmt: skip
