"""A fitted ℓ-DEP in forms that run without Python: one program of primitive steps, printed as ONNX or as C."""

from ldep._utils import belong_to
from ldep.export._c import identifiers, to_c
from ldep.export._onnx import DATES, NUMBERS, TEXTS, ExportMixin, to_onnx
from ldep.export._program import (
    Column,
    Feature,
    NotExportable,
    Program,
    ProgramLink,
    Reading,
    Spelling,
    check_two_classes,
    fitted_model,
    program_of,
)

__all__ = [
    "DATES",
    "NUMBERS",
    "TEXTS",
    "Column",
    "ExportMixin",
    "Feature",
    "NotExportable",
    "Program",
    "ProgramLink",
    "Reading",
    "Spelling",
    "check_two_classes",
    "fitted_model",
    "identifiers",
    "program_of",
    "to_c",
    "to_onnx",
]

belong_to(__name__, NotExportable, Program)
