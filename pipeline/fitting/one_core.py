"""One core per fit.

The driver runs one fit per worker, so a fit that starts threads or processes of its own only competes with the others.
Its CPU seconds would not include those of its processes, and after Ctrl-C they would go on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from joblib import parallel_config
from threadpoolctl import ThreadpoolController


@contextmanager
def one_core() -> Iterator[None]:
    """Within this context, BLAS uses one thread, and an `n_jobs` in params.yaml has no effect."""
    with _thread_pools(len(sys.modules)).limit(limits=1), parallel_config(backend="sequential"):
        yield


@lru_cache(maxsize=1)
def _thread_pools(imported_modules: int) -> ThreadpoolController:
    """The libraries of this process that start threads.

    Finding them takes 4 ms, which is as long as many a fit. So they are searched for again only after an import, which
    may have loaded another one.
    """
    return ThreadpoolController()
