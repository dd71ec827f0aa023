"""The packages that a stored pipeline needs, pinned to the installed versions."""

from __future__ import annotations

from functools import cache
from importlib import metadata

PACKAGES = ("mlflow", "numpy", "pandas", "scikit-learn", "scipy", "skops", "threadpoolctl")


@cache
def of_pipelines() -> tuple[str, ...]:
    """Requirements in pip's form. MLflow would need 20 seconds per model to find them."""
    return tuple(f"{name}=={metadata.version(name)}" for name in PACKAGES)
