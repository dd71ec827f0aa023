"""The report of a benchmark: claims with their targets, notes, figures, tables, and how it was made."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ldep_pipeline.common import machine
from ldep_pipeline.common.files import replacing, write_text
from ldep_pipeline.report import renderers
from ldep_pipeline.report.renderers import Cell, Column, Table

FOLDER = Path("reports/bench")
LONGEST_TABLE = 60  # rows; a longer one is written as CSV only
CLAIM_COLUMNS = (Column("claim", "left"), Column("measured"), Column("target", "left"), Column("reached", "left"))


class Report:
    def __init__(self, name: str, title: str):
        self.name, self.title = name, title
        self.made_with = machine.describe()  # now: the commit may change during a long run
        self.tables: dict[str, pd.DataFrame] = {}
        self.claims: list[list[Cell]] = []
        self.notes: list[str] = []
        self.figures: dict[str, Figure] = {}

    def table(self, name: str, frame: pd.DataFrame) -> None:
        self.tables[name] = frame

    def claim(self, claim: str, measured: float, target: str, reached: bool) -> None:
        texts = (claim, f"{measured:.4g}", target, "yes" if reached else "no")
        self.claims.append([Cell(text) for text in texts])

    def note(self, text: str) -> None:
        self.notes.append(text)

    def figure(self, name: str, figure: Figure) -> None:
        self.figures[name] = figure

    def write(self, folder: Path = FOLDER) -> None:
        """Write NAME.md, NAME-TABLE.csv and NAME-FIGURE.png."""
        folder.mkdir(parents=True, exist_ok=True)
        summary = [f"# {self.title}"]
        if self.claims:
            summary.append(renderers.markdown(Table(CLAIM_COLUMNS, self.claims)))
        parts = [*summary, *self.notes]
        for name, figure in self.figures.items():
            with replacing(folder / f"{self.name}-{name}.png") as part:
                figure.savefig(part, dpi=120, bbox_inches="tight", format="png")
            parts.append(f"![{name}]({self.name}-{name}.png)")
        for name, frame in self.tables.items():
            file, table = f"{self.name}-{name}.csv", from_frame(frame)
            write_text(folder / file, renderers.csv(table, ".6g"))
            if len(frame) <= LONGEST_TABLE:
                parts.append(renderers.markdown(table))
            parts.append(f"As CSV: [{file}]({file}).")
        parts.append(f"Made by `python -m benchmarks {self.name}`. {self.made_with}")
        write_text(folder / f"{self.name}.md", "\n\n".join(parts) + "\n")
        print("\n\n".join(summary), f"\nWritten to {folder}/{self.name}.md.", file=sys.stderr)


def from_frame(frame: pd.DataFrame, float_format: str = ".4g") -> Table:
    """One column per column of the frame, without its index; numbers are aligned to the right."""
    columns = [
        Column(str(name), "right" if pd.api.types.is_numeric_dtype(frame[name]) else "left") for name in frame.columns
    ]
    rows = [[_plain(value, float_format) for value in row] for row in frame.itertuples(index=False, name=None)]
    return Table(columns, rows)


def _plain(value: Any, float_format: str) -> Cell:
    if value is None or value is pd.NA or value is pd.NaT:
        return Cell()
    if isinstance(value, float):
        return Cell() if math.isnan(value) else Cell(format(value, float_format), float(value))
    return Cell(str(value))
