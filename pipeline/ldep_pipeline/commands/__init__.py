"""The command `ldep`: the commands by module, each with its arguments, its example and its action.

`main` imports the module of a command when the command is chosen. Here is what the modules share.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


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


def add_layout(
    parser: ArgumentParser, delimiter: str | None = None, decimal: str | None = None, encoding: str | None = None
) -> None:
    """How a file of rows is written; what has no default is guessed."""
    shown = [value or "guessed" for value in (delimiter, decimal, encoding)]
    parser.add_argument(
        "--delimiter",
        type=_delimiter,
        default=delimiter,
        help=rf"between the cells of a .csv file; \t is a tab (default: {shown[0]})",
    )
    parser.add_argument(
        "--decimal", default=decimal, help=f"decimal sign of the numbers in a .csv file (default: {shown[1]})"
    )
    parser.add_argument("--encoding", default=encoding, help=f"encoding of a .csv or .arff file (default: {shown[2]})")


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
