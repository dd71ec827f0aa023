"""A program as one C99 header without dependencies: the tables of its numbers, and functions that compute with them.

The functions, which are the same for every program, are the files of the folder `c`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ldep.export._program import (
    DATE_FORMS,
    DATE_PARTS,
    Column,
    Program,
    ProgramLink,
    Reading,
    check_no_text,
)
from ldep.model import OPEN_VOTES, form_of

FUNCTIONS = Path(__file__).parent / "c"
STEPS = ("value", "equals", "missing", *DATE_PARTS)
HEAD = """\
/* {title}

   A classifier of raw rows, made by ldep; C99, without dependencies. A row is an array of LDEP_COLUMNS doubles in the
   order of the list below, NAN where a cell is missing. Cells of nominal columns and of dates come from
   ldep_encode_COLUMN(text), and ldep_number(text) reads numbers from text. Texts are UTF-8.

{functions}
   A number beyond 1e150, or infinite, gives decision values NAN and the class -1.

   Columns:
{columns}
   Classes:
{classes}
*/
#ifndef LDEP_MODEL_H
#define LDEP_MODEL_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

"""
TWO_CLASSES = """\
     double ldep_decision(row)                     not negative: the second class
     int    ldep_predict(row)                      0 or 1, an index into ldep_classes
{probabilities}\
     double ldep_contributions(row, shares)        LDEP_COLUMNS shares; returns the bias; they sum to the decision value
"""
MORE_CLASSES = """\
     void   ldep_decisions(row, decisions)         LDEP_CLASSES values; the largest decides
     int    ldep_predict(row)                      an index into ldep_classes
{probabilities}\
     double ldep_contributions(row, shares, pair)  LDEP_COLUMNS shares; returns the bias; they sum to the lead of
                                                   the class pair[0] over the second best class, pair[1]
"""
PROBABILITY_LINE = "     void   ldep_probabilities(row, probabilities) of the classes\n"
# The numbers of the links of more than two classes in class_probabilities.h.
LINKS = {"identity": 0, "softmax": 0, "log_shares": 1, "leads": 2}
PROBABILITIES = """
static inline void ldep_probabilities(const double *row, double *probabilities)
{{
    const double decision = ldep_decision(row), score = {slope} * ({value}) + {intercept};
    probabilities[1] = 1.0 / (1.0 + exp(-score));
    probabilities[0] = 1.0 - probabilities[1];
}}
"""


def to_c(program: Program, title: str) -> str:
    """Return the header; NotExportable if the program reads texts."""
    check_no_text(program)
    assert program.reading is not None
    known = identifiers(column.name for column in program.columns)
    classes = [str(label) for label in program.classes]
    header = TWO if form_of(len(classes)).pair is not None else MORE
    head = HEAD.format(
        title=_comment(title),
        functions=header.functions.format(probabilities=PROBABILITY_LINE if program.link is not None else ""),
        columns="".join(
            f"     row[LDEP_{known[column.name].upper()}]  {_comment(column.name)}"
            f"{'' if column.read == 'number' else f', from ldep_encode_{known[column.name]}(text)'}\n"
            for column in program.columns
        ),
        classes="".join(f"     {index}  {_comment(label)}\n" for index, label in enumerate(classes)),
    )
    sizes = {
        "COLUMNS": len(program.columns),
        "LARGEST": repr(program.reading.largest),
        "FEATURES": program.n_features,
        "PIECES": len(program.offsets),
        "MEMBERS": len(program.weights),
        "MAXIMA": len(program.signs[0]),
        **header.sizes(program),
    }
    steps = [STEPS.index(step) for step in program.of_features("step")]
    parts = [
        head,
        *(f"#define LDEP_{name} {value}\n" for name, value in sizes.items()),
        f"enum {{ {', '.join(f'LDEP_{name.upper()}' for name in known.values())} }};\n",
        array("char *const ldep_columns[]", known),
        array("char *const ldep_classes[]", classes),
        array("int ldep_source[]", program.of_features("column")),
        array("unsigned char ldep_kind[]", np.array(steps)),
        *(array(f"double ldep_{name}[]", program.of_features(name)) for name in ("equals", "fill", "mean", "scale")),
        # The slopes are stored feature by feature, so that a compiler can compute several pieces at a time.
        table("double ldep_slope[LDEP_FEATURES][LDEP_PIECES]", program.slopes.T),
        array("double ldep_offset[LDEP_PIECES]", program.offsets),
        array("double ldep_own_offset[LDEP_PIECES]", program.own_offsets),
        array("double ldep_center[LDEP_FEATURES]", program.center),
        table("double ldep_shift[LDEP_MEMBERS][LDEP_FEATURES]", program.shifts),
        array("double ldep_weight[LDEP_MEMBERS]", program.weights),
        *header.decisions(program),
        array("int ldep_start[LDEP_MEMBERS * LDEP_MAXIMA + 1]", program.starts),
        "\n" + cell_reader(program.reading),
        *(encoder(known[column.name], column) for column in program.read_as("category")),
    ]
    if program.read_as("date"):
        parts.append("\n" + (FUNCTIONS / "dates.h").read_text(encoding="utf-8"))
    for column in program.read_as("date"):
        moment = f"    return ldep_moment(cell, {DATE_FORMS.index(column.form)});\n"
        parts.append(f"\nstatic inline double ldep_encode_{known[column.name]}(const char *cell)\n{{\n{moment}}}\n")
    for name in ("features.h", header.file):
        parts.append("\n" + (FUNCTIONS / name).read_text(encoding="utf-8"))
    if program.link is not None:
        parts.append(header.probabilities(program.link))
    return "".join([*parts, "\n#endif\n"])


def _sizes_of_two(program: Program) -> dict[str, Any]:
    return {"CLIPPED": int(program.vote is not None), "THRESHOLD": number(program.thresholds[0])}


def _sizes_of_more(program: Program) -> dict[str, Any]:
    opened = OPEN_VOTES if program.factors is not None else 0.0
    return {"CLASSES": len(program.classes), "SHARED": int(program.vote is not None), "OPEN": number(opened)}


def _decision(program: Program) -> list[str]:
    """What combines the maxima to the decision value of two classes."""
    return [array("double ldep_sign[LDEP_MAXIMA]", program.signs[0])]


def _decisions(program: Program) -> list[str]:
    """What combines the maxima to decision values of more classes."""
    factors = np.ones(len(program.classes)) if program.factors is None else program.factors
    return [
        table("double ldep_sign[LDEP_CLASSES][LDEP_MAXIMA]", program.signs),
        array("double ldep_factor[LDEP_CLASSES]", factors),
        array("double ldep_threshold[LDEP_CLASSES]", program.thresholds),
    ]


def cell_reader(reading: Reading) -> str:
    """Return the functions that read a cell from text."""
    tables = [
        array("char *const ldep_missing[]", reading.missing),
        array("char *const ldep_words[]", reading.words),
        array("double ldep_word_values[]", list(reading.words.values())),
    ]
    return "".join([*tables, "\n", (FUNCTIONS / "cells.h").read_text(encoding="utf-8")])


def encoder(identifier: str, column: Column) -> str:
    """Return the function that encodes the cells of one nominal column."""
    rows = []
    for text, value, category in column.spellings:
        if "\0" not in text:  # else it cannot be passed as a C string
            kind = "0, 0.0" if value is None else f"1, {number(value)}"
            rows.append(f"        {{{quoted(text)}, {kind}, {number(column.numbers[category])}}}")
    categories = ",\n".join(rows) or '        {"", 1, NAN, NAN}'
    return f"""
/* The column {quoted(column.name)}; NAN if the cell is missing or its category was never declared. */
static inline double ldep_encode_{identifier}(const char *cell)
{{
    static const ldep_category categories[] = {{
{categories}
    }};
    return ldep_code(cell, categories, sizeof categories / sizeof *categories);
}}
"""


def array(declaration: str, values: Any) -> str:
    """Return the definition of an array of numbers or texts."""
    return f"static const {declaration} = {{{_joined(values)}}};\n"


def table(declaration: str, values: np.ndarray) -> str:
    """Return the definition of a table of numbers, with one line per row."""
    rows = ",\n".join(f"    {{{_joined(row)}}}" for row in values)
    return f"static const {declaration} = {{\n{rows}\n}};\n"


def number(value: float) -> str:
    """Return a number as C reads it, to the last bit."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return repr(float(value)) if value >= 0 else f"({float(value)!r})"


def quoted(text: str) -> str:
    """Return a C string literal in ASCII. Octal escapes end by themselves, and no question marks form trigraphs."""
    plain = set(b" !#$%&'()+,-./:;<=>@[]^_`{|}~")
    letters = (
        chr(byte) if byte in plain or (chr(byte).isalnum() and byte < 128) else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "surrogatepass")
    )
    return '"' + "".join(letters) + '"'


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """A C identifier for each column. Equal ones, apart from case, get numbers: enumerators are in capitals."""
    taken: set[str] = {"columns", "features", "pieces", "members", "maxima", "clipped", "threshold", "largest"}
    taken |= {"missing", "number", "text", "model_h", "classes", "shared", "open", "link", "link_slope"}
    chosen = {}
    for name in names:
        plain = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_") or "column"
        candidate, count = plain, 2
        while candidate.lower() in taken:
            candidate, count = f"{plain}_{count}", count + 1
        taken.add(candidate.lower())
        chosen[name] = candidate
    return chosen


def _joined(values: Iterable[Any]) -> str:
    return ", ".join(map(_literal, values))


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    return str(int(value)) if isinstance(value, np.integer) else number(float(value)).strip("()")


def _probabilities(link: ProgramLink) -> str:
    shifted = f"(decision + {number(link.shift[0])})"
    value = {
        "identity": shifted,
        "asinh": f"asinh{shifted}",
        "log_odds": f"2.0 * atanh({number(1.0 - OPEN_VOTES)} * {shifted})",
    }[link.kind]
    return PROBABILITIES.format(slope=number(link.slope), value=value, intercept=number(link.intercepts[0]))


def _class_probabilities(link: ProgramLink) -> str:
    tables = [
        f"\n#define LDEP_LINK {LINKS[link.kind]}\n#define LDEP_LINK_SLOPE {number(link.slope)}\n",
        array("double ldep_link_intercept[LDEP_CLASSES]", link.intercepts),
        array("double ldep_link_shift[LDEP_CLASSES]", link.shift),
    ]
    return "".join([*tables, (FUNCTIONS / "class_probabilities.h").read_text(encoding="utf-8")])


class Header(NamedTuple):
    """What differs between a header for two classes and one for more."""

    functions: str  # the list of its functions
    file: str  # their code
    sizes: Callable[[Program], dict[str, Any]]
    decisions: Callable[[Program], list[str]]
    probabilities: Callable[[ProgramLink], str]


TWO = Header(TWO_CLASSES, "two_classes.h", _sizes_of_two, _decision, _probabilities)
MORE = Header(MORE_CLASSES, "classes.h", _sizes_of_more, _decisions, _class_probabilities)


def _comment(text: str) -> str:
    """Text that cannot end a comment or continue it on another line."""
    line = " ".join(text.split())
    return line.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("??", "? ?")
