"""Bearer tokens: who may use a server.

A file has one token per line: its name, the SHA-256 of the token, and optionally the last day (UTC) on which it is
valid. Blank lines and lines that begin with # do not count:

    ci       sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    phone    sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752  2027-01-31

The tokens themselves are kept nowhere. They are random and long, so that their hashes need neither salt nor a slow
hash function.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from ldep_pipeline.common.errors import UserError, short

log = logging.getLogger(__name__)
VARIABLE = "LDEP_TOKENS"
PREFIX = "ldep_"  # by which a token is recognised where it should not be
LONGEST = 512  # bytes of a token; a longer one is not looked at
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
HASH = re.compile(r"sha256:([0-9a-f]{64})")
OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Token:
    name: str
    sha256: bytes
    last_day: date | None = None

    def line(self) -> str:
        return f"{self.name} sha256:{self.sha256.hex()}{f' {self.last_day}' if self.last_day else ''}\n"


def new(name: str, last_day: date | None = None) -> tuple[str, Token]:
    """A new token, and what is kept of it."""
    secret = PREFIX + secrets.token_urlsafe(32)
    return secret, Token(name, hashlib.sha256(secret.encode()).digest(), last_day)


def parse(text: str, source: str) -> tuple[Token, ...]:
    """The tokens of a file, or of LDEP_TOKENS, where commas also separate; UserError names the line that is wrong.

    No message repeats what a line has: a token may stand there by mistake.
    """
    found: dict[str, Token] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"{source}, line {number}"
        digest = HASH.fullmatch(words[1]) if len(words) in (2, 3) else None
        if digest is None or not NAME.fullmatch(words[0]):
            raise UserError(
                f"{where}: this is not a name, sha256: with 64 hexadecimal digits, and optionally a date; `ldep token` "
                "writes such lines."
            )
        if words[0] in found:
            raise UserError(f"{where}: the name '{short(words[0])}' appears twice; give each token its own.")
        try:
            last_day = date.fromisoformat(words[2]) if len(words) == 3 else None
        except ValueError:
            raise UserError(f"{where}: the last day must be a date, such as 2027-01-31.") from None
        found[words[0]] = Token(words[0], bytes.fromhex(digest[1]), last_day)
    return tuple(found.values())


def from_file(path: Path) -> tuple[Token, ...]:
    """The tokens of a file that its owner alone may read; UserError says what is wrong."""
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise UserError(f"{path} is not a file.")
            if mode & OTHERS:
                raise UserError(f"{path} can be read or written by other users; close it with `chmod 600 {path}`.")
            return parse(file.read(), str(path))
    except UnicodeDecodeError:
        raise UserError(f"{path} is not a file of tokens: it is not UTF-8.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {str(error.strerror).lower()}; `ldep token` makes one.") from None


def from_environment() -> tuple[Token, ...]:
    return parse(os.environ.get(VARIABLE, "").replace(",", "\n"), VARIABLE)


class Tokens:
    """The tokens of a file and of the environment. The file is read again when it has changed.

    A file with an error leaves the tokens as they were, at the start none of a file: an editor may be writing it.
    Without a file its tokens are valid no more.
    """

    def __init__(self, path: Path | None, fixed: Sequence[Token] = ()) -> None:
        self.path, self.fixed = path, tuple(fixed)
        self._tokens = self.fixed
        self._seen = self._state()
        self._read()

    def holder(self, header: str | None) -> str | None:
        """The name of the token in the value of an Authorization header; None if there is none, or it is not valid.

        Every token is compared, each in constant time, whatever the result.
        """
        self._refresh()
        scheme, _, presented = (header or "").partition(" ")
        presented = presented.strip()
        if scheme.lower() != "bearer" or not presented or len(presented) > LONGEST:
            return None
        digest = hashlib.sha256(presented.encode("utf-8", "surrogateescape")).digest()
        today, name = datetime.now(UTC).date(), None
        for token in self._tokens:
            equal = hmac.compare_digest(digest, token.sha256)
            valid = token.last_day is None or today <= token.last_day
            name = token.name if equal and valid else name
        return name

    def _state(self) -> tuple[int, int, int, int] | None:
        if self.path is None:
            return None
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode

    def _refresh(self) -> None:
        state = self._state()
        if state == self._seen:
            return
        self._seen = state
        if self._read():
            log.warning("%s was read again: %d tokens.", self.path, len(self._tokens) - len(self.fixed))

    def _read(self) -> bool:
        """Take up the tokens of the file as it is now; whether that was possible."""
        try:
            self._tokens = self.fixed + (from_file(self.path) if self.path is not None and self._seen else ())
        except UserError as error:
            log.error("this file of tokens is not taken up: %s", error)
            return False
        return True
