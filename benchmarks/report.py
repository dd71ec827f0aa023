"""What a benchmark leaves behind: tables as CSV and Markdown, claims with the figure to reach, and how it was made."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from pipeline.common import machine
from pipeline.common.files import replacing, write_text

FOLDER = Path("reports/bench")


class Report:
    def __init__(self, name: str, title: str):
        self.name, self.title = name, title
        self.made_with = machine.describe()
        self.tables: dict[str, pd.DataFrame] = {}
        self.claims: list[dict] = []
        self.notes: list[str] = []
        self.figures: dict[str, object] = {}

    def table(self, name: str, frame: pd.DataFrame) -> None:
        self.tables[name] = frame

    def claim(self, what: str, measured: float, to_reach: str, holds: bool) -> None:
        self.claims.append(
            {"what": what, "measured": f"{measured:.4g}", "to reach": to_reach, "reached": "yes" if holds else "no"}
        )

    def note(self, text: str) -> None:
        self.notes.append(text)

    def figure(self, name: str, figure) -> None:
        self.figures[name] = figure

    def write(self, folder: Path = FOLDER) -> None:
        """Write NAME.md, NAME-TABLE.csv and NAME-FIGURE.png."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"# {self.title}", "", pd.DataFrame(self.claims).to_markdown(index=False) if self.claims else "", ""]
        lines += [line for note in self.notes for line in (note, "")]
        for name, figure in self.figures.items():
            with replacing(folder / f"{self.name}-{name}.png") as part:
                figure.savefig(part, dpi=120, bbox_inches="tight", format="png")
            lines += [f"![{name}]({self.name}-{name}.png)", ""]
        for name, frame in self.tables.items():
            file = f"{self.name}-{name}.csv"
            write_text(folder / file, frame.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
            if len(frame) <= 60:
                lines += [frame.to_markdown(index=False, floatfmt=".4g"), ""]
            lines += [f"As CSV: [{file}]({file}).", ""]
        lines += [f"Made by `python -m benchmarks {self.name}`. {self.made_with}", ""]
        write_text(folder / f"{self.name}.md", "\n".join(lines))
        print("\n".join(lines[:6]), f"\nWritten to {folder}/{self.name}.md.", file=sys.stderr)
