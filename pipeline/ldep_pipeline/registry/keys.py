"""The key that signs registered models, and the keys that a project trusts.

The private key, an Ed25519 key in PEM, is .ldep/signing.key, or the file that LDEP_SIGNING_KEY names. It never leaves
the machines that register models. The public keys stand in trusted-keys.json, which belongs to git: whoever has a clone
can verify, and nobody who verifies can forge. Only this file decides which keys are trusted, never the model's folder.

A key is active, retired (what it signed is still trusted, and it signs nothing new) or revoked (nothing that it signed
is trusted).
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import datetime
import getpass
import hashlib
import json
import logging
import os
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from ldep_pipeline.common.errors import UserError, short
from ldep_pipeline.common.files import locked, write_json
from ldep_pipeline.config import paths

log = logging.getLogger(__name__)
VARIABLE = "LDEP_SIGNING_KEY"
ACTIVE, RETIRED, REVOKED = "active", "retired", "revoked"
STATES = (ACTIVE, RETIRED, REVOKED)
ID_LENGTH = 16  # characters of the fingerprint
NEW_KEY = "`ldep keys rotate` makes a new one"


@dataclass(frozen=True)
class TrustedKey:
    """A public key of trusted-keys.json. `since` and `until` are days; `until` is empty for an active key."""

    id: str
    public: str
    name: str
    since: str
    state: str = ACTIVE
    until: str = ""
    why: str = ""

    def verifies(self, message: bytes, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(_decoded(self.public)).verify(signature, message)
        except InvalidSignature:
            return False
        return True


class TrustedKeys:
    """The keys of a project, by their ids; none if there is no file."""

    def __init__(self, keys: dict[str, TrustedKey], path: Path) -> None:
        self.by_id, self.path = keys, path

    @classmethod
    def read(cls, root: Path = Path()) -> TrustedKeys:
        path = root / paths.TRUSTED_KEYS
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))["keys"]
            keys = [TrustedKey(**entry) for entry in entries]
            for key in keys:
                if key.state not in STATES or key.id != fingerprint(_decoded(key.public)):
                    raise ValueError(f"the entry of the key {short(str(key.id))} is not consistent")
            if len({key.id for key in keys}) < len(keys):
                raise ValueError("a key is listed twice")
        except FileNotFoundError:
            return cls({}, path)
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}.") from None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UserError(
                f"{path} is damaged ({type(error).__name__}: {short(str(error))}); restore it with "
                f"`git checkout {paths.TRUSTED_KEYS}`."
            ) from None
        return cls({key.id: key for key in keys}, path)

    def write(self) -> None:
        write_json(self.path, {"keys": [asdict(key) for key in self.by_id.values()]})

    def put(self, key: TrustedKey) -> None:
        self.by_id[key.id] = key

    def end(self, id_: str, state: str, why: str = "") -> None:
        """Retire or revoke a key."""
        self.put(replace(self.by_id[id_], state=state, until=_today(), why=why))


@dataclass(frozen=True)
class SigningKey:
    """A private key, and the id of its public half."""

    private: Ed25519PrivateKey

    @classmethod
    def new(cls) -> SigningKey:
        return cls(Ed25519PrivateKey.generate())

    @property
    def public(self) -> str:
        raw = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return base64.b64encode(raw).decode()

    @property
    def id(self) -> str:
        return fingerprint(_decoded(self.public))

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)

    def as_trusted(self, name: str = "") -> TrustedKey:
        return TrustedKey(self.id, self.public, name or person(), _today())


def fingerprint(public: bytes) -> str:
    """The id of a public key: the beginning of its SHA-256."""
    return hashlib.sha256(public).hexdigest()[:ID_LENGTH]


def person() -> str:
    """Who acts, for the records that several people share: the user of this machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        user = str(os.getuid())
    return f"{user}@{platform.node()}"


def signing_key(root: Path = Path()) -> SigningKey:
    """The key for new signatures, trusted by this project; made if there is none. UserError if it may not sign."""
    with _change(root) as trusted:
        key = read(root)
        if key is None:
            key = _make(root)
        known = trusted.by_id.get(key.id)
        if known is None:
            trusted.put(key.as_trusted())
            log.warning(
                "the key %s now signs models, and %s trusts it; commit this file, so that others can verify them.",
                key.id,
                paths.TRUSTED_KEYS,
            )
        elif known.state != ACTIVE:
            raise UserError(
                f"the signing key {path(root)} ({key.id}) is {known.state} since {known.until} in "
                f"{paths.TRUSTED_KEYS}; {NEW_KEY}."
            )
    return key


def read(root: Path = Path()) -> SigningKey | None:
    """The private key; None if this clone has none."""
    place = path(root)
    try:
        content = place.read_bytes()
    except FileNotFoundError:
        if os.environ.get(VARIABLE):
            raise UserError(
                f"{VARIABLE} names {place}, which does not exist; correct it, unset it, or make the key: ldep keys new."
            ) from None
        return None
    except OSError as error:
        raise UserError(f"the signing key {place} cannot be read: {error.strerror}.") from None
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError):  # damaged, or protected by a password
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UserError(
            f"the signing key {place} is not an Ed25519 private key in PEM without a password. Restore it, or remove "
            "the file: `ldep register` then makes a new key."
        )
    return SigningKey(key)


def new(root: Path = Path(), name: str = "") -> SigningKey:
    """Make the first key of this clone, and trust it."""
    with _change(root) as trusted:
        if path(root).exists():
            raise UserError(f"{path(root)} exists already; `ldep keys rotate` replaces it.")
        key = _make(root)
        trusted.put(key.as_trusted(name))
    return key


def rotate(root: Path = Path(), name: str = "") -> tuple[str, SigningKey]:
    """Replace the private key: the old one is retired unless it was revoked. Return the old id and the new key."""
    with _change(root) as trusted:
        old = read(root)
        if old is None:
            raise UserError(f"there is no key {path(root)} to replace; `ldep keys new` makes the first one.")
        key = SigningKey.new()
        known = trusted.by_id.get(old.id)
        if known is not None and known.state == ACTIVE:
            trusted.end(old.id, RETIRED)
        trusted.put(key.as_trusted(name or (known.name if known else "")))
        _write(key, path(root), replaces=True)
    return old.id, key


def revoke(id_: str, why: str, root: Path = Path()) -> None:
    """Trust nothing any more that a key has signed."""
    with _change(root) as trusted:
        if id_ not in trusted.by_id:
            raise UserError(f"{paths.TRUSTED_KEYS} has no key {short(id_)}; `ldep keys show` lists the keys.")
        if trusted.by_id[id_].state == REVOKED:
            raise UserError(f"the key {id_} is revoked already, since {trusted.by_id[id_].until}.")
        trusted.end(id_, REVOKED, why)


def trust(public: str, name: str, root: Path = Path()) -> str:
    """Trust the public key of somebody else; return its id."""
    try:
        raw = _decoded(public)
        Ed25519PublicKey.from_public_bytes(raw)
    except ValueError:
        raise UserError(
            f"'{short(public)}' is not a public key: it has 44 characters, as `ldep keys show` prints them."
        ) from None
    id_ = fingerprint(raw)
    with _change(root) as trusted:
        known = trusted.by_id.get(id_)
        if known is not None:
            hint = "" if known.state == ACTIVE else f"; to trust it again, edit {paths.TRUSTED_KEYS}"
            raise UserError(f"{paths.TRUSTED_KEYS} has the key {id_} already: it is {known.state}{hint}.")
        trusted.put(TrustedKey(id_, base64.b64encode(raw).decode(), name, _today()))
    return id_


def path(root: Path = Path()) -> Path:
    return Path(os.environ.get(VARIABLE) or root / paths.STATE / "signing.key")


@contextlib.contextmanager
def _change(root: Path) -> Iterator[TrustedKeys]:
    """The trusted keys, written if the block changes them. One process at a time: data sets register in parallel."""
    with locked(root / paths.LOCKS / "keys.lock", "the signing keys"):
        trusted = TrustedKeys.read(root)
        before = dict(trusted.by_id)
        yield trusted
        if trusted.by_id != before:
            trusted.write()


def _make(root: Path) -> SigningKey:
    key, place = SigningKey.new(), path(root)
    _write(key, place)
    made = read(root)  # another clone that shares the file may have been faster
    assert made is not None
    return made


def _write(key: SigningKey, place: Path, replaces: bool = False) -> None:
    """Write a private key, readable by its owner alone. The file appears whole."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        if replaces:
            Path(name).replace(place)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(name, place)
    finally:
        Path(name).unlink(missing_ok=True)


def _decoded(public: str) -> bytes:
    try:
        raw = base64.b64decode(public, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise ValueError("a public key is not in base64") from None
    if len(raw) != 32:
        raise ValueError("a public key does not have 32 bytes")
    return raw


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()
