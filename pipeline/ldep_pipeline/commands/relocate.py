"""The command `ldep relocate`: a project that was moved or copied uses its own artifacts again, or from now on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from ldep_pipeline.commands import CommandLine
from ldep_pipeline.tracking import connection


def add_relocate(parser: ArgumentParser) -> None:
    """It has no arguments."""


def relocate(args: Namespace) -> None:
    run()


def run(root: Path = Path()) -> None:
    """Correct the addresses in the database, and say what was changed."""
    database, before = connection.relocate(root)
    if not before:
        print(f"{database} names the artifacts beside it; nothing was changed.")
        return
    print(f"{database} named the artifacts in {', '.join(map(str, before))}; it now names those beside it.")


COMMANDS = {"relocate": CommandLine(add_relocate, relocate, "ldep relocate")}
