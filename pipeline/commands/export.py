"""The command `ldep export`: a registered model as one file that needs no Python."""

from __future__ import annotations

import logging
from pathlib import Path

from ldep.export.piecewise import NotExportable
from pipeline.common.errors import UserError
from pipeline.common.files import replacing
from pipeline.registry import download
from pipeline.serving import c_header, onnx_file
from pipeline.serving.portable import Portable, PortableClasses, RawColumns, portable

log = logging.getLogger(__name__)
SUFFIXES = {".onnx": "onnx", ".h": "c"}


def run(uri: str, target: Path, form: str | None = None, contributions: bool = True, root: Path = Path()) -> None:
    """Write the model of a models:/ address or of a folder. Without `form` the suffix of the file decides."""
    chosen = form or SUFFIXES.get(target.suffix)
    if chosen is None:
        raise UserError(f"{target}: name the file .onnx or .h, or choose --format onnx or --format c.")
    if target.is_dir():
        raise UserError(f"{target} is a folder; name the file to write.")
    try:
        served = download.load(uri, root)
        model = onnx_file.of_served(served) if chosen == "onnx" else portable(served)
    except NotExportable as error:
        raise UserError(f"{uri} is not exported: {error}") from None
    if isinstance(model, Portable) and chosen == "c":
        content = c_header.to_c(model, uri).encode()
    else:
        content = _onnx(model, contributions)
    with replacing(target) as part:
        part.write_bytes(content)
    log.info("%s: %.0f kB. %s", target, len(content) / 1000, _usage(chosen, model))


def _onnx(model: Portable | PortableClasses, contributions: bool) -> bytes:
    try:
        return onnx_file.to_onnx(model, contributions=contributions).SerializeToString()
    except ImportError as error:
        raise UserError(f"{error} The format c needs nothing.") from None


def _usage(form: str, model: RawColumns) -> str:
    if form == "c":
        return '#include it, and call ldep_predict(row); its first comment lists the columns. Link with "-lm".'
    kinds = {onnx_file.NUMBERS: "numeric", onnx_file.TEXTS: "nominal", onnx_file.DATES: "date"}
    counts = {name: len(model.of_kind(kind)) for name, kind in kinds.items()}
    inputs = [f"`{name}` ({count} columns)" for name, count in counts.items() if count]
    return f"Inputs: {' and '.join(inputs)}; the metadata of the file name the columns."
