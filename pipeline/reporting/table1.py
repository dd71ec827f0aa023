"""The paper's Table 1 of our results, with the paper's figures beside ours: Markdown, CSV, LaTeX, HTML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from pipeline.reporting import labels, scores
from pipeline.reporting.scores import Scores

EMPTY = "–"
BELOW = {"mean": "MEAN ± STD", "median": "MEDIAN ± MAD"}
CAPTION = (
    "Accuracy (= micro-averaged F1) in per cent: mean ± sample deviation over the folds, the best of a row in bold. "
    "MEAN ± STD over the sets is with the population deviation, MEDIAN ± MAD is the true median."
)
COMPARED = "Ours, the paper's, and the difference of the means."


@dataclass(frozen=True)
class Cell:
    text: str
    best: bool = False
    value: float | None = None
    papers: str = ""
    difference: float | None = None


@dataclass(frozen=True)
class Line:
    title: str
    source: str
    cells: list[Cell]
    below: bool = False
    """One of the rows over all sets."""


def lines(held: Scores, sources: dict[str, str]) -> list[Line]:
    best = held.best()
    found = [
        Line(labels.title(name), sources[name], [_cell(held, best, name, model) for model in held.models])
        for name in held.sets
    ]
    summary = held.over_sets()
    for middle, spread in (("mean", "std"), ("median", "mad")):
        printed = summary[middle].round(1)
        cells = [_summary_cell(held, summary, model, middle, spread, printed.max()) for model in held.models]
        found.append(Line(BELOW[middle], "", cells, below=True))
    return found


def _cell(held: Scores, best: pd.DataFrame, name: str, model: str) -> Cell:
    if held.failed.loc[name, model]:
        return Cell("failed")
    value = held.mean.loc[name, model]
    if pd.isna(value):
        return Cell(EMPTY)
    papers = scores.papers(model, name)
    text = _pm(value, held.std.loc[name, model])
    if papers is None:
        return Cell(text, bool(best.loc[name, model]), float(value))
    return Cell(text, bool(best.loc[name, model]), float(value), _pm(*papers), float(value) - papers[0])


def _summary_cell(held: Scores, summary: pd.DataFrame, model: str, middle: str, spread: str, top: float) -> Cell:
    row = summary.loc[model]
    if not row["sets"]:
        return Cell(EMPTY)
    text = _pm(row[middle], row[spread])
    if row["sets"] < len(held.sets):  # not to be compared with the means of those that have all
        return Cell(f"{text} ({int(row['sets'])} sets)", False, float(row[middle]))
    papers = scores.printed(held.sets)
    best = round(row[middle], 1) == top
    if model not in labels.PAPERS or len(papers) < len(held.sets):
        return Cell(text, best, float(row[middle]))
    column = papers[labels.PAPERS[model]]
    theirs = column.mean() if middle == "mean" else column.median()
    around = column.std(ddof=0) if middle == "mean" else (column - theirs).abs().median()
    return Cell(text, best, float(row[middle]), _pm(theirs, around), float(row[middle] - theirs))


def _pm(value: float, spread: float) -> str:
    # One fold, or one set: there is no deviation.
    return f"{value:.1f}" if pd.isna(spread) else f"{value:.1f} ± {spread:.1f}"


def _compared(held: Scores, table: list[Line]) -> tuple[list[int], list[Line]]:
    """The columns that the paper has too, and the lines with a figure of the paper in them."""
    columns = [i for i, model in enumerate(held.models) if model in labels.PAPERS]
    return columns, [line for line in table if any(line.cells[i].papers for i in columns)]


def csv(held: Scores) -> str:
    """Long: a row a set and model, and the rows over the sets."""
    rows = []
    for name in held.sets:
        for model in held.models:
            papers = scores.papers(model, name) or (None, None)
            mean = held.mean.loc[name, model]
            status = "failed" if held.failed.loc[name, model] else "missing" if pd.isna(mean) else "ok"
            rows.append({
                "dataset": name, "model": model, "mean": mean, "std": held.std.loc[name, model], "status": status,
                "paper_mean": papers[0], "paper_std": papers[1],
                "difference": mean - papers[0] if papers[0] is not None else None,
            })  # fmt: skip
    for model, row in held.over_sets().iterrows():
        for label, middle, spread in (("MEAN", "mean", "std"), ("MEDIAN", "median", "mad")):
            status = "ok" if row["sets"] == len(held.sets) else f"{int(row['sets'])} sets"
            rows.append(
                {"dataset": label, "model": model, "mean": row[middle], "std": row[spread], "status": status}
            )  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame.to_csv(index=False, lineterminator="\n", float_format="%.4f")


def markdown(held: Scores, sources: dict[str, str]) -> str:
    table = lines(held, sources)
    bold: Callable[[Cell], str] = lambda cell: f"**{cell.text}**" if cell.best else cell.text  # noqa: E731
    head = ["set", *map(labels.label, held.models), "data from"]
    body = [[line.title, *map(bold, line.cells), line.source] for line in table]
    parts = ["# Table 1", CAPTION, _md(head, body)]
    columns, compared = _compared(held, table)
    if compared:
        head = ["set", *(text for i in columns for text in (labels.label(held.models[i]), "paper", "difference"))]
        body = [[line.title, *_threes(line, columns)] for line in compared]
        parts += ["## Beside the paper's", COMPARED, _md(head, body)]
    return "\n\n".join(parts) + "\n"


def _threes(line: Line, columns: list[int]) -> list[str]:
    """Ours, the paper's, the difference; for each column."""
    return [text for i in columns for text in (line.cells[i].text, line.cells[i].papers, _signed(line.cells[i]))]


def _md(head: list[str], body: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *body)]
    ruled = [head, ["-" * width for width in widths], *body]
    return "\n".join("| " + " | ".join(f"{cell:<{w}}" for cell, w in zip(row, widths)) + " |" for row in ruled)


def _signed(cell: Cell) -> str:
    return "" if cell.difference is None else signed(cell.difference)


def signed(value: float) -> str:
    """With its sign, which a zero has not."""
    text = f"{value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def latex(held: Scores, sources: dict[str, str]) -> str:
    """Two tabulars for `booktabs`: ours, and the comparison."""
    table = lines(held, sources)

    def shown(cell: Cell) -> str:
        text = _tex(cell.text)
        return rf"\textbf{{{text}}}" if cell.best else text

    parts = [
        f"% {CAPTION}\n% Needs \\usepackage{{booktabs}}.",
        _tabular(["Data set", *map(labels.label, held.models)],
                 [[_tex(line.title), *map(shown, line.cells)] for line in table], sum(line.below for line in table)),
    ]  # fmt: skip
    columns, compared = _compared(held, table)
    if compared:
        head = ["Data set"]
        for i in columns:
            head += [labels.label(held.models[i]), "paper", r"$\Delta$"]
        body = [[_tex(line.title), *map(_tex, _threes(line, columns))] for line in compared]
        parts += [f"% {COMPARED}", _tabular(head, body, sum(line.below for line in compared))]
    return "\n".join(parts) + "\n"


def _tabular(head: list[str], body: list[list[str]], below: int) -> str:
    rows = [" & ".join(row) + r" \\" for row in body]
    if below:
        rows.insert(len(rows) - below, r"\midrule")
    titles = " & ".join(text if text.startswith("$") else _tex(text) for text in head)
    return "\n".join([rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}", r"\toprule", titles + r" \\", r"\midrule",
                      *rows, r"\bottomrule", r"\end{tabular}"])  # fmt: skip


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "ℓ": r"$\ell$", "±": r"$\pm$", "−": "$-$", "–": "--",
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text)
