"""A project that was moved or copied with its MLflow database, which stores where its artifacts are.

MLflow writes absolute addresses into its database, and has no relative ones. After a move they name a folder that does
not exist, and MLflow makes it again; after a copy they name the artifacts of the original, which would be read and
added to. So commands do not use such a database, and say that `ldep relocate` corrects it. The command is explicit,
because a folder may also be seen under two paths, by a container for example.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.tracking.runs import OWNER

ARTIFACTS = "mlartifacts"  # the folder beside the database
# Where MLflow's database has addresses of artifacts, and where it has tags.
ADDRESSES = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "storage_location"),
)
TAGS = (("tags", "key", "value"), ("logged_model_tags", "tag_key", "tag_value"), ("model_version_tags", "key", "value"))


def check(database: Path, experiment: str | None = None) -> None:
    """Raise UserError if a database is a folder, or if it was moved or copied since an experiment was made.

    Without a name any experiment counts.
    """
    if database.is_dir():
        raise UserError(f"{database} is a folder, and should be a file of MLflow; remove or rename it.")
    if not database.is_file():
        return
    with _opened(database, "ro") as connection:
        try:
            found = _elsewhere(connection, database, experiment)
        except sqlite3.DatabaseError:  # it is damaged or without tables: MLflow says so, or makes them
            return
    if found:
        raise UserError(
            f"{database} was moved or copied: it names the artifacts in {_path(found[0])}, and would change them. "
            "`ldep relocate` makes it use those that were moved or copied with it."
        )


def relocate(database: Path, owner: Callable[[Path], str]) -> list[Path]:
    """Make a database name the artifacts beside it; return the folders that it named before.

    owner: identifies the project in a folder; what belonged to the old place belongs to the new one.
    """
    here = _here(database)
    with _opened(database, "rw") as connection, connection:
        found = _elsewhere(connection, database, None)
        if found and not here.is_dir():
            raise UserError(
                f"{here} does not exist: move or copy it from {_path(found[0])} first, with everything in it."
            )
        for old in found:
            for table, column in ADDRESSES:
                connection.execute(
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?) "
                    f"WHERE {column} = ? OR substr({column}, 1, ?) = ?",
                    (here.as_uri(), len(old) + 1, old, len(old) + 1, f"{old}/"),
                )
            for table, key, value in TAGS:
                connection.execute(
                    f"UPDATE {table} SET {value} = ? WHERE {key} = ? AND {value} = ?",
                    (owner(here.parent), OWNER, owner(_path(old).parent)),
                )
    return [_path(address) for address in found]


def _elsewhere(connection: sqlite3.Connection, database: Path, experiment: str | None) -> list[str]:
    """The addresses that experiments have of a folder like ours in another place.

    A folder of another name was chosen by somebody, and is right.
    """
    rows = connection.execute("SELECT DISTINCT artifact_location, name FROM experiments").fetchall()
    addresses = {address for address, name in rows if address and experiment in (None, name)}
    local = [address for address in sorted(addresses) if urlsplit(address).scheme in ("", "file")]
    return [address for address in local if _path(address).name == ARTIFACTS and _path(address) != _here(database)]


def _here(database: Path) -> Path:
    return database.resolve().parent / ARTIFACTS


def _path(address: str) -> Path:
    parts = urlsplit(address)
    return Path(unquote(parts.path) if parts.scheme == "file" else address)


@contextlib.contextmanager
def _opened(database: Path, mode: str) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"{database.resolve().as_uri()}?mode={mode}", uri=True, timeout=60)
    try:
        yield connection
    finally:
        connection.close()
