"""Whether the files of a registered model are those that somebody with a trusted key registered.

A manifest in the model's folder lists the digest of every file and carries an Ed25519 signature with the id of its key.
`keys` says which keys a project trusts. The manifest also names the registered model and the logged model, so that
signed files cannot stand in for others.
"""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path
from typing import Any

from mlflow.store.artifact.models_artifact_repo import REGISTERED_MODEL_META_FILE_NAME

from ldep_pipeline.common.digests import file_digest
from ldep_pipeline.common.errors import short
from ldep_pipeline.config import paths
from ldep_pipeline.registry.keys import REVOKED, SigningKey, TrustedKeys

MANIFEST = "ldep-manifest.json"
PURPOSE = b"ldep model manifest\n"  # signed with each manifest: a signature of something else is none of a manifest
SHOWN = 3  # files that a message names


class Untrusted(Exception):
    """The files are not those that were registered; the message says why, as the end of a sentence."""


def sign(folder: Path, model: str, model_id: str, key: SigningKey) -> None:
    """Write the manifest of a folder."""
    manifest: dict[str, Any] = {"model": model, "model_id": model_id, "key": key.id, "files": _digests(folder)}
    manifest["signature"] = base64.b64encode(key.sign(_message(manifest))).decode()
    content = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    (folder / MANIFEST).write_text(content, encoding="utf-8")


def check(folder: Path, model: str, model_id: str, trusted: TrustedKeys) -> None:
    """Raise Untrusted unless the folder holds exactly the files that a trusted key signed for this model."""
    path = folder / MANIFEST
    if not path.is_file() or path.is_symlink():
        raise Untrusted(f"it has no signature ({MANIFEST} is missing)")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        signature = base64.b64decode(manifest.pop("signature"), validate=True)
        files, key_id = dict(manifest["files"]), str(manifest["key"])
        owner = (manifest["model"], manifest["model_id"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, binascii.Error):
        raise Untrusted(f"its signature cannot be read ({MANIFEST} is damaged)") from None
    key = trusted.by_id.get(key_id)
    if key is None:
        raise Untrusted(
            f"this project does not trust the key {short(key_id)} that signed it ({paths.TRUSTED_KEYS} lists those "
            "that it trusts, and `ldep keys trust` adds one)"
        )
    if not key.verifies(_message(manifest), signature):
        raise Untrusted(f"its signature is not one of the key {key.id} ({key.name})")
    if key.state == REVOKED:
        raise Untrusted(f"the key {key.id} ({key.name}) that signed it was revoked on {key.until}")
    if owner != (model, model_id):
        raise Untrusted(f"its files belong to {owner[0]}, logged model {owner[1]}")
    _compare(files, _digests(folder))


def _message(manifest: dict[str, Any]) -> bytes:
    return PURPOSE + json.dumps(manifest, sort_keys=True).encode()


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
