"""Which code a fit depends on, as a digest: the room `fitting`, the model's package and the numerical libraries."""

from __future__ import annotations

import importlib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy
import scipy
import sklearn

import ldep
import pipeline
from pipeline.common.digests import digest, file_digest

FIT_ROOMS = ("fitting",)


@cache
def room_digest(*rooms: str) -> str:
    """Digest of the code in some rooms of the pipeline."""
    return digest([_content(Path(pipeline.__file__).parent / room) for room in rooms])


@cache
def code_digest(class_path: str) -> str:
    """Digest of the code that a fit of this class depends on.

    Packages that are installed count by their version. A package that lies in the project, or is installed from where
    it is edited, counts by its content.
    """
    package = importlib.import_module(class_path.split(".")[0])
    versions = {module.__name__: module.__version__ for module in (numpy, scipy, sklearn)}
    return digest(versions, room_digest(*FIT_ROOMS), _package_digest(package))


@cache
def worker_code() -> dict[str, str]:
    """What must be the same where the work is done as where it is planned, by content, however it is installed."""
    library = _content(Path(ldep.__file__).parent)
    versions = {module.__name__: module.__version__ for module in (numpy, scipy, sklearn)}
    return {**versions, "the code of ldep": digest(room_digest(*FIT_ROOMS), library)[:12]}


def _package_digest(package: Any) -> Any:
    # A folder without __init__.py has no __file__, and may lie in several places.
    places = [Path(place) for place in getattr(package, "__path__", None) or [package.__file__]]
    if any("site-packages" in place.parts for place in places):
        return [package.__name__, getattr(package, "__version__", None) or _versions(package.__name__)]
    return [_content(place) for place in places]


def _content(place: Path) -> list[tuple[str, str]]:
    if place.is_file():
        return [(place.name, file_digest(place))]
    return [(str(path.relative_to(place)), file_digest(path)) for path in sorted(place.rglob("*.py"))]


def _versions(package: str) -> list[str]:
    """Of the distributions that a package without a `__version__` came with."""
    return [metadata.version(name) for name in metadata.packages_distributions().get(package, [])]
