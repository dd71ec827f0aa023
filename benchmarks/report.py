"""The report of a benchmark: claims with their targets, notes, figures, tables, and how it was made."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from pipeline.common import machine
from pipeline.common.files import replacing, write_text
from pipeline.reporting import renderers
from pipeline.reporting.table import Cell, Column, Table, from_frame

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
