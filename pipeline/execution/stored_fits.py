"""Finished fits in the store: the record, the decision values of the test rows, and the fitted pipeline.

Nothing in the store is ever unpickled. The pipeline is a skops file, and decision values are a plain array.
"""

from __future__ import annotations

import io
import logging

import numpy as np

from pipeline.execution.store import Store
from pipeline.fitting.fit import FitResult

log = logging.getLogger(__name__)
DECISIONS, MODEL = ".npy", ".skops"


def save(store: Store, key: str, result: FitResult) -> None:
    """Store a successful fit."""
    files = {}
    if result.decisions is not None:
        files[DECISIONS] = _array_bytes(result.decisions)
    if result.pipeline is not None:
        files[MODEL] = result.pipeline
    store.put(key, result.record, files)


def load(store: Store, key: str) -> FitResult | None:
    """A stored fit without its pipeline, or None."""
    record = store.get(key)
    if record is None:
        return None
    content = store.read_file(key, DECISIONS)
    if content is None:
        return FitResult(record)
    try:
        return FitResult(record, _array(content))
    except (ValueError, EOFError) as error:
        log.warning("the decision values of fit %s are no array of numbers (%s); it is done again.", key, error)
        return None


def model_file(store: Store, key: str) -> bytes | None:
    """The skops file of the fitted pipeline, if it was kept."""
    return store.read_file(key, MODEL)


def _array(content: bytes) -> np.ndarray:
    """Read numbers for each row; ValueError for anything else, such as pickled objects."""
    values = np.load(io.BytesIO(content), allow_pickle=False)
    if values.ndim == 0 or values.dtype.kind != "f":
        raise ValueError(f"{values.ndim} dimensions of {values.dtype}")
    return values


def _array_bytes(values: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()
