"""What a server counts, in Prometheus' text format, summed over its worker processes.

The processes count in files of a common folder, named in the environment; without it, a process counts for itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import psutil
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from ldep_pipeline.server.settings import METRICS

CONTENT_TYPE = CONTENT_TYPE_LATEST
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)  # seconds
_own = CollectorRegistry()

requests = Counter("ldep_requests", "Requests by route and status.", ["route", "status"], registry=_own)
running = Gauge("ldep_requests_running", "Requests at present.", registry=_own, multiprocess_mode="livesum")
seconds = Histogram(
    "ldep_request_seconds", "Time of answered requests for rows.", ["output"], registry=_own, buckets=BUCKETS
)
rows = Counter("ldep_rows", "Rows answered, by version of the model.", ["version"], registry=_own)
classes = Counter("ldep_answers", "Rows answered, by the class of the answer.", ["class"], registry=_own)
taken_as_missing = Counter(
    "ldep_taken_as_missing", "Cells with a value that the model does not know, by column.", ["column"], registry=_own
)
searches_running = Gauge(
    "ldep_searches_running", "Searches for counterfactuals.", registry=_own, multiprocess_mode="livesum"
)
searches_waiting = Gauge(
    "ldep_searches_waiting", "Requests that wait for a search.", registry=_own, multiprocess_mode="livesum"
)
token_uses = Counter("ldep_token_uses", "Requests with a valid token, by its name.", ["name"], registry=_own)
version = Gauge(
    "ldep_model_version",
    "The version that a worker answers with; 0 for a folder.",
    registry=_own,
    multiprocess_mode="liveall",
)
refused_versions = Counter("ldep_refused_versions", "Versions that --follow did not take up.", registry=_own)


def count_answers(answered: Mapping[str, int], unknown: Mapping[str, int], by: str) -> None:
    """Count the rows of a response by class, their unknown values by column, and the version that answered."""
    rows.labels(by).inc(sum(answered.values()))
    for label, count in answered.items():
        classes.labels(label).inc(count)
    for column, count in unknown.items():
        taken_as_missing.labels(column).inc(count)


def count_searches(running: int, waiting: int) -> None:
    """Count by how much the number of running searches has changed, and that of the requests that wait for one."""
    searches_running.inc(running)
    searches_waiting.inc(waiting)


def text() -> bytes:
    """The numbers of all processes. Those of a process that is gone count on, except for what it was doing."""
    folder = os.environ.get(METRICS)
    if not folder:
        return generate_latest(_own)
    for path in Path(folder).glob("gauge_live*.db"):
        process = int(path.stem.rpartition("_")[2])
        if not psutil.pid_exists(process):
            mark_process_dead(process, folder)
    together = CollectorRegistry()
    MultiProcessCollector(together, folder)
    return generate_latest(together)
