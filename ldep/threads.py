"""One BLAS thread inside a fit: at these sizes more threads cost time, and change the last bits of the result."""

from __future__ import annotations

from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_thread():
    """A context in which BLAS and OpenMP use one thread. Parallelism belongs outside, over fits."""
    return _controller().limit(limits=1)
