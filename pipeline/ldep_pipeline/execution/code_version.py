"""The code that a fit depends on, as a digest: the rooms that score, the model's package, the numerical libraries.

Keys name packages and never files, so that a new file counts without being listed.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import ldep
import ldep_pipeline
from ldep_pipeline.common.digests import digest, source_digest

FIT_ROOMS = ("fitting", "metrics")
# The packages of ldep that describe a fitted model, or make the numbers that a fit gets. No package that decides a fit
# imports them (a test proves it), except that the estimators inherit methods from them, none of which `fit` or
# `predict` calls.
DECIDES_NO_FIT = ("answers", "explain", "export", "plotting", "table")
# Distributions whose version decides numbers. Those of the solvers are optional.
NUMERICAL = ("numpy", "scipy", "scikit-learn", "cvxpy", "dccp", "highspy", "mosek")


@cache
def room_digest(*rooms: str) -> str:
    """Digest of the code in some rooms of the pipeline, or in parts of them such as `registry/examination`."""
    folder = Path(ldep_pipeline.__file__).parent
    return digest([source_digest(folder / room) for room in rooms])


@cache
def library_digest(*packages: str) -> str:
    """Digest of the code in some packages of ldep."""
    folder = Path(ldep.__file__).parent
    return digest([source_digest(folder / package) for package in packages])


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
    code = digest(room_digest(*FIT_ROOMS), _content(ldep, Path(ldep.__file__).parent))
    return {**numerical_versions(), "the code of ldep": code[:12]}


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
    return [_content(package, place) for place in places]


def _content(package: Any, place: Path) -> str:
    return source_digest(place, without=DECIDES_NO_FIT if package is ldep else ())


def _distribution_versions(package: str) -> list[str]:
    """Versions of the distributions that provide a package without a `__version__`."""
    return [metadata.version(name) for name in metadata.packages_distributions().get(package, [])]
