"""The reading of text cells as part of an ONNX graph: the codes that `pipeline.encoding.cells` gives them.

Most cells are spelled as a category was declared, and one table finds them. Only the others are read: numbers by their
value, words without the blanks around them. Where a column declares equal numbers as different categories, their
spellings are words too. What is then still unknown is missing, as in Python. Two spellings are not understood, and
count as missing: numbers with an exponent beyond 289 (with more than 16 digits beyond 99, and none with more than 100
digits), which onnxruntime might refuse to convert, and numbers after a blank that is not ASCII.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np

from ldep.export.graph import ROWS, Graph
from pipeline.encoding import cells

BLANKS = "".join(chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace())
ASCII_BLANKS = "".join(blank for blank in BLANKS if blank in " \t\n\v\f\r")


def quoted(text: str) -> str:
    """Quote a text for a regular expression of RE2."""
    return "".join(letter if letter.isalnum() else rf"\x{{{ord(letter):x}}}" for letter in text)


def _decimal(digits: int, exponent: str) -> str:
    mantissa = rf"(?:[0-9]{{1,{digits}}}\.?[0-9]{{0,{digits}}}|\.[0-9]{{1,{digits}}})"
    return rf"{mantissa}(?:[eE][+-]?0*(?:{exponent}))?"


DECIMAL = f"(?:{_decimal(16, '[0-9]{1,2}|1[0-9]{2}|2[0-8][0-9]')}|{_decimal(100, '[0-9]{1,2}')})"
NUMBER = rf"[{quoted(ASCII_BLANKS)}]*[+-]?{DECIMAL}[{quoted(BLANKS)}]*"
INFINITY = r"(?i:inf|infinity)"
UNKNOWN = -1


def add_codes(
    graph: Graph, texts: str, columns: Sequence[Sequence[str]], values: Sequence[Sequence[float]] | None = None
) -> str:
    """Add the codes of the cells of nominal columns, a table of doubles with NaN for missing cells.

    `values` are other numbers than the codes, one per category.
    """
    tables = [dict(cells.code_table(tuple(categories))) for categories in columns]
    ids: dict[float | str, int] = {}
    for table in tables:
        for key in table:
            ids.setdefault(key, len(ids))
    # A spelling with a code of its own in one column still stands for its value in the others.
    for text, value in _spellings(ids).items():
        for table in tables:
            if value in table:
                table.setdefault(text, table[value])
    identified = _identify(graph, texts, columns, ids)
    # One table for all columns: the key of a value in column q is its id times the number of columns, plus q.
    scaled = graph.node("Mul", identified, graph.constant(len(columns)))
    keys = graph.node("Add", scaled, graph.constant(np.arange(len(columns))))
    codes = {
        ids[value] * len(columns) + column: code if values is None else values[column][int(code)]
        for column, table in enumerate(tables)
        for value, code in table.items()
    }
    return graph.lookup(keys, list(codes), list(codes.values()), math.nan)


def _identify(graph: Graph, texts: str, columns: Sequence[Sequence[str]], ids: dict[float | str, int]) -> str:
    """The id of the value that each cell reads as; the number of ids if it is none of them."""
    missing = len(ids)
    spellings = dict.fromkeys(cells.MISSING, missing)
    for text in [category.strip() for categories in columns for category in categories] + list(cells.TRUTH):
        value = text if text in ids else cells.read(text)
        if value is not None and value in ids:
            spellings[text] = ids[value]
    found = graph.lookup(texts, np.array(list(spellings), dtype=object), list(spellings.values()), UNKNOWN)
    unknown = graph.node("Less", found, graph.constant(0))
    some = graph.node("Less", graph.node("ReduceMin", found, keepdims=0), graph.constant(0))
    shape = [ROWS, len(columns)]
    as_found, read = Graph("found_"), Graph("read_")
    return graph.node(
        "If",
        some,
        then_branch=read.branch(_read(read, texts, found, unknown, ids), np.int64, shape),
        else_branch=as_found.branch(as_found.node("Identity", found), np.int64, shape),
    )


def _read(graph: Graph, texts: str, found: str, unknown: str, ids: dict[float | str, int]) -> str:
    """Read the cells that no declared spelling matches."""
    places = graph.node("Transpose", graph.node("NonZero", unknown))
    unread = graph.node("GatherND", texts, places)
    numbers = {value: number for value, number in ids.items() if isinstance(value, float) and math.isfinite(value)}
    result = graph.lookup(_numbers(graph, unread), [math.nan, *numbers], [len(ids), *numbers.values()], len(ids))
    for pattern, number in _words(ids).items():
        matches = graph.node("RegexFullMatch", unread, pattern=rf"[{quoted(BLANKS)}]*(?:{pattern})[{quoted(BLANKS)}]*")
        result = graph.node("Where", matches, graph.constant(number), result)
    return graph.node("ScatterND", found, places, result)


def _numbers(graph: Graph, texts: str) -> str:
    is_number = graph.node("RegexFullMatch", texts, pattern=NUMBER)
    numerals = graph.node("Where", is_number, texts, graph.constant(np.array("nan", dtype=object)))
    numbers = graph.node("Cast", numerals, to=graph.onnx.TensorProto.DOUBLE)
    return graph.node("Add", numbers, graph.constant(0.0))  # so that -0 is 0


def _words(ids: dict[float | str, int]) -> dict[str, int]:
    """Patterns of the values that are not found by their number."""
    spellings = _spellings(ids)
    words = {quoted(value): ids[value] for value in ids if isinstance(value, str) and value not in spellings}
    for text, value in cells.TRUTH.items():
        if value in ids:
            words[text] = ids[value]
    for infinity, sign in ((math.inf, r"\+?"), (-math.inf, "-")):
        if infinity in ids:
            words[sign + INFINITY] = ids[infinity]
    # Last, so that a spelling prevails over its value.
    return words | {quoted(spelling): ids[spelling] for spelling in spellings}


def _spellings(ids: dict[float | str, int]) -> dict[str, float]:
    """The numbers of the texts that are numbers: spellings with a code of their own in some column."""
    texts = [text for text in ids if isinstance(text, str)]
    return {text: value for text in texts if isinstance(value := cells.read(text), float)}
