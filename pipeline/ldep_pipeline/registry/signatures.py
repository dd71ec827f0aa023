"""Whether the files of a registered model are those that this project registered.

A manifest in the model's folder lists the digest of every file and carries a signature: an HMAC with the key of the
project. Whoever can write to the artifact store, or to MLflow's database, cannot write a valid signature without the
key. The manifest also names the registered model and the logged model, so that signed files cannot stand in for others.

LDEP_SIGNING_KEY names a key file that several clones share. Without it the key is .ldep/signing.key, which the first
`ldep register` makes, readable by its owner alone.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import tempfile
from pathlib import Path
from typing import Any

from mlflow.store.artifact.models_artifact_repo import REGISTERED_MODEL_META_FILE_NAME

from ldep_pipeline.common.digests import file_digest
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import paths

VARIABLE = "LDEP_SIGNING_KEY"
SHORTEST = 32  # characters
MANIFEST = "ldep-manifest.json"
SHOWN = 3  # files that a message names


class Untrusted(Exception):
    """The files are not those that were registered; the message says why, as the end of a sentence."""


def sign(folder: Path, model: str, model_id: str, key: bytes) -> str:
    """Write the manifest of a folder; return the manifest's digest."""
    manifest: dict[str, Any] = {"model": model, "model_id": model_id, "files": _digests(folder)}
    manifest["signature"] = _signature(manifest, key)
    content = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    (folder / MANIFEST).write_text(content, encoding="utf-8")
    return manifest_digest(folder)


def manifest_digest(folder: Path) -> str:
    return file_digest(folder / MANIFEST)


def check(folder: Path, model: str, model_id: str, key: bytes | None, recorded: str | None = None) -> None:
    """Raise Untrusted unless the folder holds exactly the files that were signed for this model.

    The manifest is trusted if its signature is valid, or if its digest is the `recorded` one.
    """
    path = folder / MANIFEST
    if not path.is_file() or path.is_symlink():
        raise Untrusted(f"it has no signature ({MANIFEST} is missing)")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        signature, files = str(manifest.pop("signature")), dict(manifest["files"])
        owner = (manifest["model"], manifest["model_id"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Untrusted(f"its signature cannot be read ({MANIFEST} is damaged)") from None
    signed = key is not None and hmac.compare_digest(signature, _signature(manifest, key))
    if not signed and manifest_digest(folder) != recorded:
        raise Untrusted("this project has no signing key" if key is None else "this project did not sign it")
    if owner != (model, model_id):
        raise Untrusted(f"its files belong to {owner[0]}, logged model {owner[1]}")
    _compare(files, _digests(folder))


def _signature(manifest: dict[str, Any], key: bytes) -> str:
    return hmac.new(key, json.dumps(manifest, sort_keys=True).encode(), "sha256").hexdigest()


def _digests(folder: Path) -> dict[str, str]:
    """The digest of each file but the manifest. A link counts as changed: what it leads to may change at any time.

    Two kinds of files are left out, because MLflow's own commands write them into the folder of a model that they load,
    and we never read them: Python's bytecode, and MLflow's note of the version that was loaded.
    """
    digests = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if str(name) in (MANIFEST, REGISTERED_MODEL_META_FILE_NAME) or "__pycache__" in name.parts:
            continue
        if path.is_symlink():
            digests[name.as_posix()] = "link"
        elif path.is_file():
            digests[name.as_posix()] = file_digest(path)
    return digests


def _compare(signed: dict[str, str], present: dict[str, str]) -> None:
    differences = {
        "lost": sorted(set(signed) - set(present)),
        "changed": sorted(name for name in signed if name in present and present[name] != signed[name]),
        "added": sorted(set(present) - set(signed)),
    }
    for what, names in differences.items():
        if names:
            shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
            raise Untrusted(f"files were {what} after registration: {shown}")


def read_key(root: Path = Path()) -> bytes | None:
    """The key; None if this project has none yet."""
    path = _key_path(root)
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


def read_or_make_key(root: Path = Path()) -> bytes:
    key = read_key(root)
    if key is None:
        _make_key(_key_path(root))
        key = read_key(root)
    assert key is not None
    return key


def _make_key(path: Path) -> None:
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


def _key_path(root: Path) -> Path:
    return Path(os.environ.get(VARIABLE) or root / paths.STATE / "signing.key")
