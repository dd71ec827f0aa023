"""A served model as one C99 header without dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ldep.export.c_model import array, c_model
from pipeline.encoding import cells
from pipeline.serving import c_cells, c_features
from pipeline.serving.portable import Portable

HEAD = """\
/* {title}

   A classifier of raw rows, made by ldep; C99, without dependencies. A row is an array of LDEP_COLUMNS doubles in the
   order of the list below, NAN where a cell is missing. Cells of nominal columns and of dates come from
   ldep_encode_COLUMN(text), and ldep_number(text) reads numbers from text. Texts are UTF-8.

     double ldep_decision(row)                     not negative: the second class
     int    ldep_predict(row)                      0 or 1, an index into ldep_classes
{probability_line}\
     double ldep_contributions(row, shares)        LDEP_COLUMNS shares; returns the bias; they sum to the decision value

   A number beyond 1e150, or infinite, gives the decision NAN and the class -1.

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
PROBABILITY_LINE = "     void   ldep_probabilities(row, probabilities) of the two classes\n"
ROWS = """\
/* The features of a row; 0 if a number is out of range. */
static inline int ldep_features(const double *row, double *z)
{
    int f;
    for (f = 0; f < LDEP_FEATURES; f++) {
        double cell = ldep_feature(row, f);
        if (isnan(cell)) cell = ldep_fill[f];
        if (fabs(cell) > LDEP_LARGEST) return 0;
        z[f] = (cell - ldep_mean[f]) / ldep_scale[f] - ldep_center[f];
    }
    return 1;
}

static inline double ldep_decision(const double *row)
{
    double z[LDEP_FEATURES];
    return ldep_features(row, z) ? ldep_decision_of(z) : NAN;
}

static inline int ldep_predict(const double *row)
{
    const double decision = ldep_decision(row);
    return isnan(decision) ? -1 : decision >= 0.0;
}

static inline double ldep_contributions(const double *row, double *shares)
{
    double z[LDEP_FEATURES], of_features[LDEP_FEATURES], bias = NAN;
    const int usable = ldep_features(row, z);
    int f;
    for (f = 0; f < LDEP_COLUMNS; f++) shares[f] = usable ? 0.0 : NAN;
    if (!usable) return NAN;
    bias = ldep_contributions_of(z, of_features);
    for (f = 0; f < LDEP_FEATURES; f++) shares[ldep_source[f]] += of_features[f];
    return bias;
}
"""
PROBABILITIES = """
static inline void ldep_probabilities(const double *row, double *probabilities)
{
    probabilities[1] = ldep_probability_of(ldep_decision(row));
    probabilities[0] = 1.0 - probabilities[1];
}
"""


def to_c(portable: Portable, title: str) -> str:
    """Return the header."""
    model = portable.model
    known = identifiers(column.name for column in portable.columns)
    head = HEAD.format(
        title=_comment(title),
        probability_line=PROBABILITY_LINE if model.link is not None else "",
        columns="".join(
            f"     row[LDEP_{known[column.name].upper()}]  {_comment(column.name)}"
            f"{'' if column.kind == 'numeric' else f', from ldep_encode_{known[column.name]}(text)'}\n"
            for column in portable.columns
        ),
        classes="".join(f"     {index}  {_comment(str(label))}\n" for index, label in enumerate(model.classes)),
    )
    parts = [
        head,
        f"#define LDEP_COLUMNS {len(portable.columns)}\n",
        f"#define LDEP_LARGEST {cells.LARGEST!r}\n",
        _enumeration(known.values()),
        _texts("ldep_columns", known),
        _texts("ldep_classes", [str(label) for label in model.classes]),
        array("static const double ldep_fill[]", portable.fill),
        array("static const double ldep_mean[]", portable.mean),
        array("static const double ldep_scale[]", portable.scale),
        "\n" + c_model(model),
        "\n" + c_cells.READER,
    ]
    for column in portable.of_kind("nominal"):
        table = column.categories or [], column.values
        parts.append("\n" + c_cells.encoder(known[column.name], column.name, *table))
    if portable.of_kind("date"):
        parts.append("\n" + c_features.DATES)
    for column in portable.of_kind("date"):
        parts.append("\n" + c_features.date_reader(known[column.name], column))
    parts += [
        "\n" + c_features.expansion(portable),
        "\n" + ROWS,
        PROBABILITIES if model.link is not None else "",
        "\n#endif\n",
    ]
    return "".join(parts)


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """A C identifier for each column. Equal ones, apart from case, get numbers: enumerators are in capitals."""
    taken: set[str] = {"columns", "features", "pieces", "members", "clipped", "threshold", "largest"}
    taken |= {"missing", "number", "text", "model_h"}
    chosen = {}
    for name in names:
        plain = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_") or "column"
        candidate, count = plain, 2
        while candidate.lower() in taken:
            candidate, count = f"{plain}_{count}", count + 1
        taken.add(candidate.lower())
        chosen[name] = candidate
    return chosen


def _enumeration(known: Iterable[str]) -> str:
    return f"enum {{ {', '.join(f'LDEP_{name.upper()}' for name in known)} }};\n"


def _texts(name: str, texts: Iterable[str]) -> str:
    return f"static const char *const {name}[] = {{{', '.join(map(c_cells.quoted, texts))}}};\n"


def _comment(text: str) -> str:
    """Text that cannot end a comment or continue it on another line."""
    line = " ".join(text.split())
    return line.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("??", "? ?")
