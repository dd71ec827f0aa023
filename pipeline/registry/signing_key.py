"""The key with which this project signs the models that it registers.

LDEP_SIGNING_KEY names a key file that several clones share. Without it the key is .ldep/signing.key, which the first
`ldep register` makes, readable by its owner alone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

from pipeline.common.errors import UserError
from pipeline.config import paths

VARIABLE = "LDEP_SIGNING_KEY"
SHORTEST = 32  # characters


def read(root: Path = Path()) -> bytes | None:
    """The key; None if this project has none yet."""
    path = _path(root)
    try:
        key = path.read_bytes().strip()
    except FileNotFoundError:
        if os.environ.get(VARIABLE):
            raise UserError(f"{VARIABLE} names {path}, which does not exist; correct it, or unset it.") from None
        return None
    except OSError as error:
        raise UserError(f"the signing key {path} cannot be read: {error.strerror}.") from None
    if len(key) < SHORTEST:
        raise UserError(
            f"the signing key {path} has {len(key)} characters; at least {SHORTEST} are needed. Restore it, or remove "
            "the file: `ldep register` then makes a new key, and registers the models again."
        )
    return key


def read_or_make(root: Path = Path()) -> bytes:
    key = read(root)
    if key is None:
        _make(_path(root))
        key = read(root)
    assert key is not None
    return key


def _make(path: Path) -> None:
    """Write a new key, readable by its owner alone. The file appears whole, and never replaces another one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.link(name, path)
    finally:
        Path(name).unlink()


def _path(root: Path) -> Path:
    return Path(os.environ.get(VARIABLE) or root / paths.STATE / "signing.key")
