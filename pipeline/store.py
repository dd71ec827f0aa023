"""Finished work, kept under the digest of all it depends on: what is there need not be done again.

The store stands outside DVC's outputs, which DVC removes before a stage runs. Removing it costs time, nothing else.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy
import scipy
import sklearn

import ldep
from pipeline.files import replacing, write_text

log = logging.getLogger(__name__)
# The code that decides a number, beside that of the model itself.
DECIDING = ("budget.py", "evaluation.py", "fitting.py", "models.py", "seeds.py", "tuning.py")


class Store:
    """JSON records, and files, by key. Writing is atomic; several processes may share a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> dict[str, Any] | None:
        try:
            return json.loads(self._path(key).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            log.warning("%s cannot be read (%s); the work is done again.", self._path(key), error)
            return None

    def put(self, key: str, record: dict[str, Any]) -> None:
        write_text(self._path(key), json.dumps(record))  # in Python's dialect: a setting may be .inf

    def file(self, key: str, suffix: str) -> Path:
        return self._path(key).with_suffix(suffix)

    def put_bytes(self, key: str, suffix: str, content: bytes) -> None:
        with replacing(self.file(key, suffix)) as part:
            part.write_bytes(content)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def digest(*values: Any) -> str:
    """sha256 of plain values, the same in every process."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def file_digest(path: Path, algorithm: str = "sha256") -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


@cache
def code_digest(class_path: str) -> str:
    """Digest of the code that a fit of this class depends on.

    Packages that are installed count by their version. A package that lies in the project, or is installed from where
    it is edited, counts by its content.
    """
    package = importlib.import_module(class_path.split(".")[0])
    versions = {module.__name__: module.__version__ for module in (numpy, scipy, sklearn)}
    own = [file_digest(Path(__file__).with_name(name)) for name in DECIDING]
    return digest(versions, own, _package_digest(package))


@cache
def worker_code() -> dict[str, str]:
    """What must be the same where the work is done as where it is planned, by content, however it is installed."""
    own = [file_digest(Path(__file__).with_name(name)) for name in DECIDING]
    library = _content(Path(ldep.__file__).parent)
    versions = {module.__name__: module.__version__ for module in (numpy, scipy, sklearn)}
    return {**versions, "the code of ldep": digest(own, library)[:12]}


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
