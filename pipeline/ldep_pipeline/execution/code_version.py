"""The code that a fit depends on, as a digest: the rooms that score, the model's package, the numerical libraries.

Keys name packages and never files, so that a new file counts without being listed. Nothing is imported for them.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from ldep_pipeline.common.digests import digest, source_digest
from ldep_pipeline.config import paths
from ldep_pipeline.execution.code_graph import APPLICATION, LIBRARY, package_folder

FIT_ROOMS = ("fitting", "metrics")
# The packages of ldep that describe a fitted model, or make the numbers that a fit gets. No package that decides a fit
# imports them (a test proves it), except that the estimators inherit methods from them, none of which `fit` or
# `predict` calls.
DECIDES_NO_FIT = ("answers", "explain", "export", "plotting", "prove", "table")
# Distributions whose version decides numbers. Those of the solvers are optional.
NUMERICAL = ("numpy", "scipy", "scikit-learn", "cvxpy", "dccp", "highspy", "mosek")
DISTRIBUTIONS = {"sklearn": "scikit-learn"}  # of packages that are called otherwise: looking for them takes a while
INSTALLED = ("site-packages", "dist-packages")


@cache
def room_digest(*rooms: str) -> str:
    """Digest of the code in some rooms of the pipeline, or in parts of them such as `registry/examination`."""
    folder = package_folder(APPLICATION)
    return digest([source_digest(folder / room) for room in rooms])


@cache
def library_digest(*packages: str) -> str:
    """Digest of the code in some packages of ldep."""
    folder = package_folder(LIBRARY)
    return digest([source_digest(folder / package) for package in packages])


@cache
def code_digest(class_path: str) -> str:
    """Digest of the code that a fit of this class depends on."""
    return digest(numerical_versions(), room_digest(*FIT_ROOMS), package_version(class_path.split(".")[0]))


@cache
def worker_code() -> dict[str, str]:
    """What must be equal in a worker and in the driver."""
    code = digest(room_digest(*FIT_ROOMS), package_version(LIBRARY))
    return {**numerical_versions(), "the code of ldep": code[:12]}


@cache
def numerical_versions() -> dict[str, str]:
    return {name: version(name) for name in NUMERICAL}


def version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


@cache
def package_version(name: str) -> list[str]:
    """The version of an installed package of others; the content of ldep, and of a package outside site-packages."""
    spec = find_spec(name) if name != "__main__" else None
    if spec is None:
        return [name, "not installed"]
    # A folder without __init__.py has no origin, and may lie in several places.
    places = [Path(place) for place in spec.submodule_search_locations or [str(spec.origin)]]
    if name == LIBRARY:
        return [source_digest(place, without=DECIDES_NO_FIT) for place in places]
    if not any(folder in place.parts for place in places for folder in INSTALLED):
        return [source_digest(place) for place in places]
    found = version(DISTRIBUTIONS.get(name, name))
    if found != "not installed":
        return [name, found]
    return [name, *map(version, metadata.packages_distributions().get(name, []))]


def find_own_models() -> None:
    """Let the user's own classes be found, in this process."""
    folder = str(paths.OWN_MODELS.resolve())
    if paths.OWN_MODELS.is_dir() and folder not in sys.path:
        sys.path.append(folder)
