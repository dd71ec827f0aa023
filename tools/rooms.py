"""Draw the rooms of the application in their layers: `python -m tools.rooms` writes docs/images/rooms.svg.

The layers are those of pyproject.toml. What is said of a room is its row in docs/architecture.md, up to the colon.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

PROJECT, PAGE, DRAWING = Path("pyproject.toml"), Path("docs/architecture.md"), Path("docs/images/rooms.svg")
LEFT, WIDTH, TOP, HEIGHT, STEP, GAP = 110, 590, 64, 46, 58, 16
WHITE, BLUE, PURPLE, ORANGE = (
    ("#ffffff", "#8a97a6"),
    ("#dbe7f4", "#1f5fa8"),
    ("#ece3f3", "#6b4a94"),
    ("#f8e6d8", "#c2571a"),
)
COLOURS = {
    **dict.fromkeys(("commands", "stages"), BLUE),
    **dict.fromkeys(("server", "serving"), PURPLE),
    **dict.fromkeys(("fitting", "metrics"), ORANGE),
}
NOTES = [
    (BLUE, "commands", ["entry points: the", "subcommands of ldep, and", "a module per stage"]),
    (PURPLE, "serving", ["what answers a request"]),
    (ORANGE, "fitting", ["what decides a score,", "with the packages of", "ldep that train"]),
]
LIBRARY = "the library: imports neither the application nor DVC, MLflow, Optuna or openml"
NAME, TEXT = 'font-size="15" font-weight="600"', 'font-size="12.5" fill="#42505f"'


def layers(project: str) -> list[list[str]]:
    """The rooms of each layer, from top to bottom."""
    contracts = tomllib.loads(project)["tool"]["importlinter"]["contracts"]
    (rooms,) = (c["layers"] for c in contracts if c["type"] == "layers" and c["containers"] == ["ldep_pipeline"])
    return [layer.split(" | ") for layer in rooms]


def contents(page: str) -> dict[str, str]:
    """What the table of the page says of each room."""
    table = page.partition("| room | content |")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, flags=re.MULTILINE))


def draw(rows: list[list[str]], said: dict[str, str]) -> str:
    """The drawing as SVG."""
    bottom = TOP + len(rows) * STEP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 {bottom + 92}" '
            'font-family="system-ui, \'DejaVu Sans\', Helvetica, Arial, sans-serif" fill="#17212b" role="img" '
            'aria-label="The rooms of ldep_pipeline in layers; each imports only rooms in layers below it.">',
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#4b5865"/></marker></defs>',
            f'<rect width="940" height="{bottom + 92}" rx="10" fill="#f7f9fb"/>',
            f'<text x="{LEFT}" y="40" font-size="16" font-weight="600">ldep_pipeline</text>',
            *(line for number, row in enumerate(rows) for line in _layer(row, TOP + number * STEP, said)),
            f'<path d="M70 {TOP + 4} L70 {bottom - 16}" fill="none" stroke="#4b5865" stroke-width="1.6" '
            'marker-end="url(#head)"/>',
            f'<text transform="translate(56 {(TOP + bottom) / 2:g}) rotate(-90)" text-anchor="middle" {TEXT}>'
            "imports go downwards only</text>",
            *_notes(rows),
            *_box("ldep", LIBRARY, PURPLE, LEFT, bottom + 22, WIDTH),
            "</svg>\n",
        ]
    )


def _layer(row: list[str], y: int, said: dict[str, str]) -> Iterator[str]:
    width = (WIDTH - GAP * (len(row) - 1)) / len(row)
    for number, room in enumerate(row):
        short = said[room].partition(": ")[0].replace("`", "")
        yield from _box(room, short, COLOURS.get(room, WHITE), LEFT + number * (width + GAP), y, width)


def _box(name: str, text: str, colours: tuple[str, str], x: float, y: int, width: float) -> Iterator[str]:
    fill, stroke = colours
    middle = f'x="{x + width / 2:g}" text-anchor="middle"'
    yield f'<rect x="{x:g}" y="{y}" width="{width:g}" height="{HEIGHT}" rx="7" fill="{fill}" stroke="{stroke}"/>'
    yield f'<text {middle} y="{y + 20}" {NAME}>{escape(name)}</text>'
    yield f'<text {middle} y="{y + 37}" {TEXT}>{escape(text)}</text>'


def _notes(rows: list[list[str]]) -> Iterator[str]:
    for (_, colour), room, lines in NOTES:
        y = TOP + next(number for number, row in enumerate(rows) if room in row) * STEP
        for number, line in enumerate(lines):
            place = f'x="{LEFT + WIDTH + 22}" y="{y + 16 + 17 * number}"'
            yield f'<text {place} font-size="13" fill="{colour}">{line}</text>'


if __name__ == "__main__":
    DRAWING.write_text(draw(layers(PROJECT.read_text("utf-8")), contents(PAGE.read_text("utf-8"))), encoding="utf-8")
