"""A table of typed cells, independent of any format, and one function per format in which it can be written."""

from __future__ import annotations

import csv as csv_module
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
from markupsafe import Markup, escape

from ldep_pipeline.metrics.metric import signed_text

MISSING = "–"
Align = Literal["left", "right"]
Style = Literal["plain", "code", "good", "bad", "neutral"]


@dataclass(frozen=True)
class Column:
    title: str
    align: Align = "right"
    wraps: bool = False
    """Whether long text in this column may be broken into several lines."""


@dataclass(frozen=True)
class Cell:
    """The text that a reader sees, and the value behind it. Formats that have no use for a field ignore it."""

    text: str = ""
    value: float | str | None = None
    """What the cell is sorted by, and what goes into a CSV file; the text, if it is None. "" sorts last."""
    best: bool = False
    """The best of its row, set in bold."""
    note: str = ""
    """A second, smaller line."""
    style: Style = "plain"
    """`good`, `bad` and `neutral` are badges."""
    family: str = ""
    """The family of the model that the cell names, which decides the colour of its dot."""
    link: str = ""
    """The page to which the text leads."""


@dataclass(frozen=True)
class Table:
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    summary_rows: Sequence[Sequence[Cell]] = ()
    """Rows over all the others. They stay at the bottom when a reader sorts the table."""

    def __post_init__(self) -> None:
        for row in self.all_rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row has {len(row)} cells, but the table has {len(self.columns)} columns")

    @property
    def all_rows(self) -> list[Sequence[Cell]]:
        return [*self.rows, *self.summary_rows]


Filled = tuple[Column, Callable[[Any], Cell]]
"""A column, and how its cell is made from what a row is about."""


def left(title: str, cell: Callable[[Any], Cell], *, wraps: bool = False) -> Filled:
    return Column(title, "left", wraps), cell


def right(title: str, cell: Callable[[Any], Cell]) -> Filled:
    return Column(title), cell


def of_columns(items: Iterable[Any], *columns: Filled, with_empty: bool = True) -> Table | None:
    """One row per item; None without any. with_empty: also columns without text in any row; the first always stays."""
    rows = [[cell(item) for _, cell in columns] for item in items]
    kept = [place for place in range(len(columns)) if with_empty or not place or any(row[place].text for row in rows)]
    return (
        Table([columns[place][0] for place in kept], [[row[place] for place in kept] for row in rows]) if rows else None
    )


def missing(text: str = MISSING) -> Cell:
    """A cell without a value, in a column of numbers."""
    return Cell(text, "")


def number(value: float | None, digits: int = 1) -> Cell:
    """A number with so many digits after the point; an empty cell for None and NaN."""
    if value is None or _is_missing(value):
        return missing("")
    return Cell(f"{value:.{digits}f}", value)


def signed(value: float) -> Cell:
    """A difference with its sign."""
    return Cell(signed_text(value), value)


def spread_text(middle: float, spread: float) -> str:
    """`76.0 ± 1.4`; without a spread (a single fold, or a single data set) the first number alone."""
    return f"{middle:.1f}" if _is_missing(spread) else f"{middle:.1f} ± {spread:.1f}"


def _is_missing(value: float) -> bool:
    return bool(pd.isna(value))


PLUS_MINUS = " ± "
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "_": r"\_",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "ℓ": r"$\ell$",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "Δ": r"$\Delta$",
}


def markdown(table: Table) -> str:
    """A pipe table whose columns are padded, so that it also reads well on a terminal."""

    def shown(cell: Cell) -> str:
        text = cell.text.replace("|", r"\|").replace("\n", " ")
        if cell.style == "code" and text:
            return f"`{text}`"
        return f"**{text}**" if cell.best else text

    head = [column.title.replace("|", r"\|") for column in table.columns]
    body = [[shown(cell) for cell in row] for row in table.all_rows]
    widths = _widths([head, *body], least=3)
    rule = [
        "-" * (width - 1) + ":" if column.align == "right" else "-" * width
        for column, width in zip(table.columns, widths)
    ]
    lines = [_padded(head, table.columns, widths), rule, *(_padded(row, table.columns, widths) for row in body)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def text(table: Table) -> str:
    """Aligned columns without rules, for a terminal."""
    head = [column.title for column in table.columns]
    lines = [head, *([cell.text for cell in row] for row in table.all_rows)]
    widths = _widths(lines)
    return "\n".join("  ".join(_padded(line, table.columns, widths)).rstrip() for line in lines)


def latex(table: Table) -> str:
    """A tabular for the package `booktabs`, with a rule above the summary rows."""

    def shown(cell: Cell) -> str:
        escaped = escape_latex(cell.text)
        return rf"\textbf{{{escaped}}}" if cell.best else escaped

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    alignment = "".join(column.align[0] for column in table.columns)
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule"]
    lines += [line([escape_latex(column.title) for column in table.columns]), r"\midrule"]
    lines += [line([shown(cell) for cell in row]) for row in table.rows]
    if table.rows and table.summary_rows:
        lines.append(r"\midrule")
    lines += [line([shown(cell) for cell in row]) for row in table.summary_rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def escape_latex(plain: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in plain)


def csv(table: Table, float_format: str = "") -> str:
    """The values, or the texts where there is no value. Floats are written in the given format, if any."""

    def shown(cell: Cell) -> str:
        if isinstance(cell.value, float):
            return format(cell.value, float_format)
        return cell.text if cell.value is None else str(cell.value)

    written = io.StringIO()
    writer = csv_module.writer(written, lineterminator="\n")
    writer.writerow([column.title for column in table.columns])
    writer.writerows([shown(cell) for cell in row] for row in table.all_rows)
    return written.getvalue()


def html(table: Table, identifier: str) -> Markup:
    """A table that page.js can sort. Its first column names the rows."""
    head = Markup("").join(_html_head(column) for column in table.columns)
    parts = [
        Markup('<div class="scroll"><table class="sortable" id="{}">\n').format(identifier),
        Markup("<thead><tr>{}</tr></thead>\n<tbody>\n").format(head),
        *(_html_row(row, table.columns) for row in table.rows),
        Markup("</tbody>"),
    ]
    if table.summary_rows:
        parts += [Markup("\n<tfoot>\n"), *(_html_row(row, table.columns) for row in table.summary_rows)]
        parts.append(Markup("</tfoot>"))
    parts.append(Markup("</table></div>"))
    return Markup("").join(parts)


def _html_head(column: Column) -> Markup:
    return Markup('<th scope="col"{}><button>{}</button></th>').format(_html_class(column), unbroken(column.title))


def _html_row(row: Sequence[Cell], columns: Sequence[Column]) -> Markup:
    first = Markup('<tr><th scope="row">{}</th>').format(_html_content(row[0]))
    others = [
        Markup("<td{}{}>{}</td>").format(_html_class(column), _html_sort_key(cell), _html_content(cell))
        for cell, column in zip(row[1:], columns[1:])
    ]
    return Markup("").join([first, *others, Markup("</tr>\n")])


def _html_class(column: Column) -> Markup:
    if column.wraps:
        return Markup(' class="wide"')
    return Markup(' class="text"') if column.align == "left" else Markup("")


def _html_sort_key(cell: Cell) -> Markup:
    return Markup("") if cell.value is None else Markup(' data-v="{}"').format(cell.value)


def _html_content(cell: Cell) -> Markup:
    shown = unbroken(cell.text) if cell.family else escape(cell.text)
    if cell.value is not None and PLUS_MINUS in cell.text:
        middle, _, spread = cell.text.partition(PLUS_MINUS)
        shown = Markup('{}<span class="pm"> ± {}</span>').format(middle, spread)
    if cell.best:
        shown = Markup("<b>{}</b>").format(shown)
    if cell.style == "code":
        shown = Markup("<code>{}</code>").format(shown)
    elif cell.style != "plain":
        shown = Markup('<span class="badge {}">{}</span>').format(cell.style, shown)
    if cell.link:
        shown = Markup('<a href="{}">{}</a>').format(cell.link, shown)
    if cell.family:
        shown = Markup('<span class="dot {}"></span>{}').format(cell.family, shown)
    if cell.note:
        shown += Markup('<span class="beside">{}</span>').format(cell.note)
    return shown


def unbroken(text: str) -> Markup:
    """A browser may break a line after a hyphen; "ℓ-DEP" is to stay in one piece."""
    words = [
        Markup('<span class="word">{}</span>').format(word) if "-" in word else escape(word) for word in text.split(" ")
    ]
    return Markup(" ").join(words)


def _widths(lines: Sequence[Sequence[str]], least: int = 0) -> list[int]:
    return [max(least, *map(len, column)) for column in zip(*lines)]


def _padded(line: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> list[str]:
    return [
        f"{shown:>{width}}" if column.align == "right" else f"{shown:<{width}}"
        for shown, column, width in zip(line, columns, widths)
    ]
