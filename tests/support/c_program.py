"""A C program around an exported header: it reads rows of text cells and prints the answers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd

from ldep.export import Program, identifiers, to_c

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2"]
# Cells are texts that end with a NUL, one after the other.
MAIN = """\
#include <stdio.h>
#include "model.h"
#define CELL 4096
static double (*const readers[])(const char *) = {@READERS@};
int main(void)
{
    static char cell[CELL];
    double row[LDEP_COLUMNS], shares[LDEP_COLUMNS];
    int column = 0, length = 0, letter, k;
    while ((letter = getchar()) != EOF) {
        cell[length++] = (char)letter;
        if (letter != 0) continue;
        length = 0;
        row[column] = readers[column](cell);
        if (++column < LDEP_COLUMNS) continue;
        column = 0;
        @ANSWERS@
        for (k = 0; k < LDEP_COLUMNS; k++) printf(" %.17g", shares[k]);
        for (k = 0; k < LDEP_COLUMNS; k++) printf(" %.17g", row[k]);
        printf("\\n");
    }
    return 0;
}
"""

TWO_CLASSES = """\
double p[2];
        ldep_probabilities(row, p);
        printf("%d %.17g %.17g %.17g", ldep_predict(row), ldep_decision(row), p[1], ldep_contributions(row, shares));
"""
MORE_CLASSES = """\
double p[LDEP_CLASSES], d[LDEP_CLASSES];
        int pair[2];
        printf("%d %.17g", ldep_predict(row), ldep_contributions(row, shares, pair));
        ldep_probabilities(row, p);
        ldep_decisions(row, d);
        printf(" %d %d", pair[0], pair[1]);
        for (k = 0; k < LDEP_CLASSES; k++) printf(" %.17g", d[k]);
        for (k = 0; k < LDEP_CLASSES; k++) printf(" %.17g", p[k]);
"""


def compiler() -> str | None:
    return shutil.which("gcc") or shutil.which("cc")


def build(model: Program, folder: Path) -> Path:
    """Compile the program around the header of a model."""
    (folder / "model.h").write_text(to_c(model, "test */ model"), encoding="utf-8")
    known = identifiers(column.name for column in model.columns)
    readers = [
        "ldep_number" if column.read == "number" else f"ldep_encode_{known[column.name]}" for column in model.columns
    ]
    printed = TWO_CLASSES if len(model.classes) == 2 else MORE_CLASSES
    return compiled(MAIN.replace("@READERS@", ", ".join(readers)).replace("@ANSWERS@", printed), folder)


def compiled(source: str, folder: Path) -> Path:
    """Compile a source in a folder; warnings are errors."""
    command = compiler()
    assert command is not None
    (folder / "main.c").write_text(source, encoding="utf-8")
    program = folder / "program"
    subprocess.run([command, *FLAGS, "-o", program, folder / "main.c", "-lm"], check=True)
    return program


def answers(program: Path, model: Program, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Send the cells as texts, numbers with all their digits; return the columns of the answers."""
    texts = frame[[column.name for column in model.columns]].to_numpy(dtype=object)
    sent = b"".join(_text(cell).encode() + b"\0" for row in texts for cell in row)
    lines = subprocess.run([program], input=sent, capture_output=True, check=True).stdout.decode().splitlines()
    table = np.array([line.split() for line in lines], dtype=np.float64).reshape(len(frame), -1)
    width, n_classes = len(model.columns), len(model.classes)
    if n_classes > 2:
        ends = np.cumsum([1, 1, 1, 1, n_classes, n_classes, width])
        names = ("class", "bias", "label", "rival", "decision", "probability", "contributions", "cells")
        found = dict(zip(names, np.split(table, ends, axis=1)))
        return {
            name: part[:, 0] if part.shape[1] == 1 and name != "contributions" else part for name, part in found.items()
        }
    return {
        "class": table[:, 0].astype(int),
        "decision": table[:, 1],
        "probability": table[:, 2],
        "bias": table[:, 3],
        "contributions": table[:, 4 : 4 + width],
        "cells": table[:, 4 + width :],
    }


def _text(cell: object) -> str:
    if isinstance(cell, str):
        return cell
    return "" if cell is None or cell != cell else repr(float(cell))  # type: ignore[arg-type]
