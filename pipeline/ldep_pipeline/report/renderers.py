"""One function per format in which a `Table` can be written."""

from __future__ import annotations

import csv as csv_module
import io
from collections.abc import Sequence

from markupsafe import Markup, escape

from ldep_pipeline.report.table import Cell, Column, Table

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
