"""One core per fit.

The driver runs one fit per worker, so a fit that starts threads or processes of its own only competes with the others.
Its CPU seconds would not include those of its processes, and after Ctrl-C they would go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from joblib import parallel_config
from threadpoolctl import threadpool_limits


@contextmanager
def one_core() -> Iterator[None]:
    """Within this context, BLAS uses one thread, and an `n_jobs` in params.yaml has no effect."""
    with threadpool_limits(1), parallel_config(backend="sequential"):
        yield
