"""One table in each format."""

from __future__ import annotations

import csv
import io

import pytest

from ldep_pipeline.report import renderers
from ldep_pipeline.report.renderers import Cell, Column, Table, missing, number, signed, spread_text

TABLE = Table(
    [Column("Data set", "left"), Column("ℓ-DEP"), Column("Δ")],
    [
        [Cell("a|b & <c>"), Cell(spread_text(77.04, 1.42), 77.04, best=True, note="paper 76.0"), signed(-0.5)],
        [Cell("d_e"), missing("failed"), missing()],
    ],
    [[Cell("MEAN ± STD"), number(77.04), Cell()]],
)


def test_markdown_is_padded_aligned_and_escaped():
    assert renderers.markdown(TABLE).splitlines() == [
        r"| Data set   |          ℓ-DEP |    Δ |",
        r"| ---------- | -------------: | ---: |",
        r"| a\|b & <c> | **77.0 ± 1.4** | −0.5 |",
        r"| d_e        |         failed |    – |",
        r"| MEAN ± STD |           77.0 |      |",
    ]


def test_text_has_no_rules():
    assert renderers.text(TABLE).splitlines() == [
        "Data set         ℓ-DEP     Δ",
        "a|b & <c>   77.0 ± 1.4  −0.5",
        "d_e             failed     –",
        "MEAN ± STD        77.0",
    ]


def test_latex_is_escaped_and_separates_the_summary():
    assert renderers.latex(TABLE).splitlines() == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"Data set & $\ell$-DEP & $\Delta$ \\",
        r"\midrule",
        r"a|b \& <c> & \textbf{77.0 $\pm$ 1.4} & $-$0.5 \\",
        r"d\_e & failed & -- \\",
        r"\midrule",
        r"MEAN $\pm$ STD & 77.0 &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_csv_has_the_values_and_is_read_back():
    rows = list(csv.reader(io.StringIO(renderers.csv(TABLE, ".4f"))))
    assert rows == [
        ["Data set", "ℓ-DEP", "Δ"],
        ["a|b & <c>", "77.0400", "-0.5000"],
        ["d_e", "", ""],
        ["MEAN ± STD", "77.0400", ""],
    ]


def test_html_is_escaped_and_carries_what_it_is_sorted_by():
    html = str(renderers.html(TABLE, "results"))
    assert '<table class="sortable" id="results">' in html
    assert '<th scope="row">a|b &amp; &lt;c&gt;</th>' in html
    value = '<td data-v="77.04"><b>77.0<span class="pm"> ± 1.4</span></b><span class="beside">paper 76.0</span></td>'
    assert value in html
    assert '<td data-v="">failed</td>' in html  # sorts last
    assert html.index("<tfoot>") < html.index("MEAN ± STD")


def test_html_marks_models_and_badges():
    table = Table(
        [Column("Model", "left"), Column("Verdict")], [[Cell("ℓ-DEP", family="ldep"), Cell("yes", style="good")]]
    )
    html = str(renderers.html(table, "x"))
    assert '<span class="dot ldep"></span><span class="word">ℓ-DEP</span>' in html
    assert '<span class="badge good">yes</span>' in html


def test_a_row_must_have_a_cell_per_column():
    with pytest.raises(ValueError, match="a row has 1 cells, but the table has 2 columns"):
        Table([Column("a"), Column("b")], [[Cell("1")]])
