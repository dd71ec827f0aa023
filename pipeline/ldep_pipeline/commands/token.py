"""The command `ldep token`: a new token for `ldep serve --tokens`."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, date, datetime
from pathlib import Path

from ldep_pipeline.commands import CommandLine
from ldep_pipeline.common.errors import UserError, short
from ldep_pipeline.server import tokens


def add_token(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="who will use the token")
    parser.add_argument("file", metavar="FILE", type=Path, help="the file of `ldep serve --tokens`; made if it is new")
    parser.add_argument(
        "--expires", metavar="DATE", type=_future, help="the last day, in UTC, on which it is valid (default: none)"
    )


def token(args: Namespace) -> None:
    print(run(args.name, args.file, args.expires))
    print(f"{args.file} has its hash alone: keep the token now, it cannot be shown again.", file=sys.stderr)


def run(name: str, path: Path, last_day: date | None = None) -> str:
    """Append the hash of a new token to the file, which its owner alone can read; return the token."""
    secret, new = tokens.new(name, last_day)
    content = new.line().encode()
    if not tokens.NAME.fullmatch(name):
        raise UserError(f"'{short(name)}' cannot be the name of a token; use letters, digits, '-', '_' and '.'.")
    if path.exists():
        if any(token.name == name for token in tokens.from_file(path)):
            raise UserError(f"{path} has a token with the name '{name}'; choose another one, or delete its line.")
        if not (path.read_bytes() or b"\n").endswith(b"\n"):
            content = b"\n" + content
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {str(error.strerror).lower()}.") from None
    with os.fdopen(file, "ab") as opened:
        opened.write(content)
    return secret


def _future(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"'{text}' is not a date, such as 2027-01-31") from None
    if day < datetime.now(UTC).date():
        raise ArgumentTypeError(f"{text} is in the past")
    return day


COMMANDS = {"token": CommandLine(add_token, token, "ldep token phone tokens.txt --expires 2027-01-31")}
