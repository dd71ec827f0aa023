"""A fitted ℓ-DEP in forms that run without Python: one program of primitive steps, printed as ONNX or as C."""

from ldep._utils import belong_to
from ldep.export._c import identifiers, to_c
from ldep.export._onnx import INPUTS, ExportMixin, to_onnx
from ldep.export._program import (
    Column,
    Feature,
    Letters,
    NotExportable,
    Program,
    ProgramLink,
    Reading,
    Spelling,
    Term,
    check_no_text,
    fitted_model,
    program_of,
)
from ldep.export._skl2onnx import register_skl2onnx

__all__ = [
    "INPUTS",
    "Column",
    "ExportMixin",
    "Feature",
    "Letters",
    "NotExportable",
    "Program",
    "ProgramLink",
    "Reading",
    "Spelling",
    "Term",
    "check_no_text",
    "fitted_model",
    "identifiers",
    "program_of",
    "register_skl2onnx",
    "to_c",
    "to_onnx",
]

belong_to(__name__, NotExportable, Program)
