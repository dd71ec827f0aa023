"""The command `ldep export`: a registered model as one file that needs no Python."""

from __future__ import annotations

import logging
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ldep.export import INPUTS, NotExportable, Program, to_c, to_onnx
from ldep_pipeline.commands import CommandLine, add_model_address
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.common.files import replacing
from ldep_pipeline.registry import download
from ldep_pipeline.serving import portable

log = logging.getLogger(__name__)
SUFFIXES = {".onnx": "onnx", ".h": "c"}


def add_export(parser: ArgumentParser) -> None:
    add_model_address(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--format", choices=["onnx", "c"], help="(default: onnx for a file named .onnx, c for one named .h)"
    )
    parser.add_argument(
        "--no-contributions",
        action="store_true",
        help="leave the explanation out of an ONNX file, which is then faster",
    )


def export(args: Namespace) -> None:
    run(args.model, args.out, args.format, contributions=not args.no_contributions)


def run(uri: str, target: Path, form: str | None = None, contributions: bool = True, root: Path = Path()) -> None:
    """Write the model of a models:/ address or of a folder. Without `form` the suffix of the file decides."""
    chosen = form or SUFFIXES.get(target.suffix)
    if chosen is None:
        raise UserError(f"{target}: name the file .onnx or .h, or choose --format onnx or --format c.")
    if target.is_dir():
        raise UserError(f"{target} is a folder; name the file to write.")
    try:
        program = portable.program(download.load(uri, root))
        if chosen == "c":
            content = to_c(program, uri).encode()
        else:
            content = to_onnx(program, contributions=contributions).SerializeToString()
    except NotExportable as error:
        raise UserError(f"{uri} is not exported: {error}") from None
    except ImportError as error:
        raise UserError(f"{error} The format c needs nothing.") from None
    with replacing(target) as part:
        part.write_bytes(content)
    log.info("%s: %.0f kB. %s", target, len(content) / 1000, _usage(chosen, program))


def _usage(form: str, program: Program) -> str:
    if form == "c":
        return '#include it, and call ldep_predict(row); its first comment lists the columns. Link with "-lm".'
    counts = {name: len(program.read_as(*steps)) for name, steps in INPUTS.items()}
    inputs = [f"`{name}` ({count} columns)" for name, count in counts.items() if count]
    return f"Inputs: {' and '.join(inputs)}; the metadata of the file name the columns."


COMMANDS = {
    "export": CommandLine(add_export, export, "ldep export models:/ldep-banana@champion --format onnx -o banana.onnx")
}
