"""The command `ldep completion`: a script with which a shell completes commands, options and file names.

The script is written once, with the arguments of every command in it, so that a shell waits for no Python.
"""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

import shtab

from ldep_pipeline.commands import CommandLine

SHELLS = ("bash", "zsh", "fish")


def add_completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def completion(args: Namespace) -> None:
    from ldep_pipeline.commands.main import build_parser  # it imports this module by name

    print(script(build_parser(complete=True), args.shell))


def script(parser: ArgumentParser, shell: str) -> str:
    for action in _actions(parser):
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def _actions(parser: ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a parser and of the commands in it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)


COMMANDS = {
    "completion": CommandLine(
        add_completion, completion, "ldep completion bash > ~/.local/share/bash-completion/completions/ldep"
    )
}
