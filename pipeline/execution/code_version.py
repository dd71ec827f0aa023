"""The code that a fit depends on, as a digest: the room `fitting`, the model's package and the numerical libraries."""

from __future__ import annotations

import importlib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import ldep
import pipeline
from pipeline.common.digests import digest, file_digest

FIT_ROOMS = ("fitting",)
# Distributions whose version decides numbers. Those of the solvers are optional.
NUMERICAL = ("numpy", "scipy", "scikit-learn", "cvxpy", "dccp", "highspy", "mosek")


@cache
def room_digest(*rooms: str) -> str:
    """Digest of the code in some rooms of the pipeline."""
    return digest([_content(Path(pipeline.__file__).parent / room) for room in rooms])


@cache
def code_digest(class_path: str) -> str:
    """Digest of the code that a fit of this class depends on.

    An installed package counts by its version. A package that lies in the project, or is installed in editable mode,
    counts by its content.
    """
    package = importlib.import_module(class_path.split(".")[0])
    return digest(numerical_versions(), room_digest(*FIT_ROOMS), _package_digest(package))


@cache
def worker_code() -> dict[str, str]:
    """What must be equal in a worker and in the driver, by content, however the package is installed."""
    library = _content(Path(ldep.__file__).parent)
    return {**numerical_versions(), "the code of ldep": digest(room_digest(*FIT_ROOMS), library)[:12]}


@cache
def numerical_versions() -> dict[str, str]:
    return {name: _version(name) for name in NUMERICAL}


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def _package_digest(package: Any) -> Any:
    # A folder without __init__.py has no __file__, and may lie in several places.
    places = [Path(place) for place in getattr(package, "__path__", None) or [package.__file__]]
    if any("site-packages" in place.parts for place in places):
        return [package.__name__, getattr(package, "__version__", None) or _distribution_versions(package.__name__)]
    return [_content(place) for place in places]


def _content(place: Path) -> list[tuple[str, str]]:
    if place.is_file():
        return [(place.name, file_digest(place))]
    return [(str(path.relative_to(place)), file_digest(path)) for path in sorted(place.rglob("*.py"))]


def _distribution_versions(package: str) -> list[str]:
    """Versions of the distributions that provide a package without a `__version__`."""
    return [metadata.version(name) for name in metadata.packages_distributions().get(package, [])]
