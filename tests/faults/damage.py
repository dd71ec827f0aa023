"""Six ways in which a file can be damaged, or be another file than it should be."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from tests.faults.finished import Finished, group


def remove(project: Finished, name: str) -> None:
    (project.folder / name).unlink()


def empty(project: Finished, name: str) -> None:
    (project.folder / name).write_bytes(b"")


def cut(project: Finished, name: str) -> None:
    path = project.folder / name
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])


def fill_with_garbage(project: Finished, name: str) -> None:
    """Bytes of the same length that are no text in any common encoding."""
    path = project.folder / name
    path.write_bytes(random.Random(name).randbytes(max(path.stat().st_size, 64)))


def replace_by_another_shape(project: Finished, name: str) -> None:
    """A valid file of the same format with other content than its reader expects."""
    path = project.folder / name
    path.unlink()
    _write_other(path)


def replace_by_an_earlier_one(project: Finished, name: str) -> None:
    """The file of an earlier run. Where names are digests, that is the content of another file of the group."""
    source = project.earlier / name
    same = source.is_file() and source.read_bytes() == (project.folder / name).read_bytes()
    if not source.is_file() or same:
        wanted = group(project.folder, name)
        others = (path for path in sorted(project.earlier.rglob(f"*{Path(name).suffix}")) if path.is_file())
        for path in others:
            relative = str(path.relative_to(project.earlier))
            if relative != name and group(project.earlier, relative) == wanted:
                source = path
                break
    if source.is_file():
        (project.folder / name).unlink()
        shutil.copyfile(source, project.folder / name)


KINDS: dict[str, Callable[[Finished, str], None]] = {
    "missing": remove,
    "empty": empty,
    "cut": cut,
    "garbage": fill_with_garbage,
    "other shape": replace_by_another_shape,
    "earlier run": replace_by_an_earlier_one,
}


def _write_other(path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", "y", "z"], "b": [1.5, None, 3.0]})
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".npy":
        np.save(path, np.zeros((2, 2)))
    elif path.suffix == ".db":
        with sqlite3.connect(path) as database:
            database.execute("create table other (number integer)")
        database.close()
    elif path.suffix == ".journal":
        path.write_text(json.dumps({"op_code": 0, "worker_id": "w"}) + "\n")
    elif path.suffix in (".lock", ".yaml") or path.name == "MLmodel":
        path.write_text(yaml.safe_dump([{"other": 1}]))
    elif path.suffix == ".json" or path.name == "rwlock":
        path.write_text("[[]]")
    else:
        path.write_text("a text of one line\n")
