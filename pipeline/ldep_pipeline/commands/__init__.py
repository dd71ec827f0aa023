"""The command `ldep`: the commands by module, each with its arguments, its example and its action.

`main` imports the module of a command when the command is chosen. Here is what the modules share.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldep_pipeline.common.errors import UserError

if TYPE_CHECKING:
    from ldep_pipeline.data.tables import Layout
    from ldep_pipeline.registry.origin import Origin


@dataclass(frozen=True)
class CommandLine:
    """What a command accepts, and what it does. `action` may return an exit code."""

    add_arguments: Callable[[ArgumentParser], None]
    action: Callable[[Namespace], int | None]
    example: str


def add_params(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--params", type=Path, default=Path("params.yaml"), metavar="FILE", help="parameters (default: params.yaml)"
    )


def add_model_address(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL_URI", help="models:/NAME@ALIAS, models:/NAME/VERSION, or a folder")


def add_layout(parser: ArgumentParser, default: str = "guessed") -> None:
    """How a file of rows is written; `default` says what is taken where nothing is given."""
    parser.add_argument(
        "--delimiter",
        type=_delimiter,
        help=rf"between the cells of a .csv file; \t is a tab (default: {default})",
    )
    parser.add_argument("--decimal", help=f"decimal sign of the numbers in a .csv file (default: {default})")
    parser.add_argument("--encoding", help=f"encoding of a .csv or .arff file (default: {default})")


AS_TRAINED = "as in the file of training, or guessed if that was none"


def chosen_layout(source: Path, options: Mapping[str, Any], origin: Origin | None) -> Layout:
    """How a file is read: as the options say, else as the file that a model was trained on, else by a guess.

    The guess is the one of `ldep new`.
    """
    from ldep_pipeline.data.tables import csv_table  # `ldep --help` needs no table

    known = origin.layout() if origin is not None else None
    given = {name: options[name] for name in ("delimiter", "decimal", "encoding") if options.get(name) is not None}
    return replace(known or csv_table.guess_layout(source), **given)


def run(command: Sequence[str], folder: Path = Path()) -> None:
    """Run git or dvc; UserError if it fails. `dvc` is that of this installation, which need not be on the PATH."""
    program = [sys.executable, "-m", "dvc"] if command[0] == "dvc" else [command[0]]
    done = subprocess.run([*program, *command[1:]], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UserError(
            f"`{shlex.join(command)}` failed in {folder.resolve()}: {said[-1] if said else 'no reason given'}"
        )


def positive_integer(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return value


def _delimiter(text: str) -> str:
    return "\t" if text == r"\t" else text
