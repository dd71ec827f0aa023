"""A page of the report: a list of sections in one file that needs no network.

A section is a function from the data of a page to blocks of HTML. It is declared for one kind of page: one about many
data sets shows a `ReportData`, one about a single data set a `DatasetReport`. A section without blocks is left out,
with its link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import jinja2
from markupsafe import Markup, escape

from ldep_pipeline.report import drawing, renderers
from ldep_pipeline.report.figures import Picture
from ldep_pipeline.report.renderers import Table

FOLDER = Path(__file__).parent


class Block(Protocol):
    """A part of a section."""

    @property
    def pictures(self) -> Sequence[Picture]: ...

    def html(self, svgs: Mapping[str, str]) -> Markup:
        """svgs: {name of a picture: its SVG}."""


@dataclass(frozen=True)
class Text:
    markup: Markup
    pictures: Sequence[Picture] = ()

    def html(self, svgs: Mapping[str, str]) -> Markup:
        return self.markup


@dataclass(frozen=True)
class Figures:
    pictures: Sequence[Picture]
    layout: str = ""

    def html(self, svgs: Mapping[str, str]) -> Markup:
        figures = [
            Markup(
                '<figure{} id="{}"><h3>{}</h3><div class="draw" role="img" aria-label="{}">{}</div>'
                "<figcaption>{}</figcaption></figure>\n"
            ).format(
                Markup(' class="broad"') if picture.full_width else "",
                picture.anchor,
                picture.title,
                picture.title,
                Markup(svgs[picture.name]),
                picture.caption,
            )
            for picture in self.pictures
        ]
        return Markup('<div class="{}">\n{}</div>').format(f"figures {self.layout}".strip(), Markup("").join(figures))


@dataclass(frozen=True)
class Panel:
    """Blocks that a click on their summary shows."""

    anchor: str
    title: str
    summary: str
    blocks: Sequence[Block]

    @property
    def pictures(self) -> Sequence[Picture]:
        return [picture for block in self.blocks for picture in block.pictures]

    def html(self, svgs: Mapping[str, str]) -> Markup:
        content = Markup("\n").join(block.html(svgs) for block in self.blocks)
        head = Markup('<details class="panel" id="{}"><summary><b>{}</b> {}</summary>\n')
        return head.format(self.anchor, self.title, self.summary) + content + Markup("\n</details>")


@dataclass(frozen=True)
class Card:
    """One of the few numbers that most readers come for."""

    name: str
    value: str
    unit: str
    note: str
    family: str = ""


@dataclass(frozen=True)
class PageSection:
    """A section as it is declared. `shows` is the type of data that its function takes."""

    anchor: str
    title: str
    shows: type
    blocks: Callable[[Any], Iterable[Block | None]]


def section(anchor: str, title: str, shows: type) -> Callable[[Callable[..., Iterable[Block | None]]], PageSection]:
    return lambda blocks: PageSection(anchor, title, shows, blocks)


@dataclass(frozen=True)
class FilledSection:
    anchor: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    title: str
    heading: str
    lead: str = ""
    sections: Sequence[FilledSection] = field(default_factory=list)
    forward: str = ""
    """The page to which a reader is led at once, if any."""

    @property
    def pictures(self) -> list[Picture]:
        return [picture for part in self.sections for block in part.blocks for picture in block.pictures]

    def html(self, svgs: Mapping[str, str], provenance: Mapping[str, str]) -> str:
        """provenance: what the report was made with, {term: text}; without it there is no footer and no menu."""
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        style = Markup(drawing.theme_css() + (FOLDER / "page.css").read_text(encoding="utf-8"))
        script = Markup((FOLDER / "page.js").read_text(encoding="utf-8"))
        values = {"page": self, "svgs": svgs, "provenance": provenance, "style": style, "script": script}
        return environment.get_template("page.html").render(values)


def filled(sections: Iterable[PageSection], data: Any) -> list[FilledSection]:
    """The sections for this kind of data that have something to show."""
    found = []
    for declared in sections:
        if isinstance(data, declared.shows):
            blocks = [block for block in declared.blocks(data) if block is not None]
            if blocks:
                found.append(FilledSection(declared.anchor, declared.title, blocks))
    return found


def paragraph(words: str) -> Text:
    """Text in backticks becomes code."""
    return Text(Markup("<p>{}</p>").format(_with_code(words)))


def note(words: str) -> Text:
    return Text(Markup('<p class="note">{}</p>').format(_with_code(words)))


def heading(words: str) -> Text:
    return Text(Markup("<h3>{}</h3>").format(words))


def sentence_with_names(start: str, names: Sequence[str]) -> Text:
    """A sentence that ends with names, in none of which a line breaks."""
    unbroken = Markup(", ").join(Markup('<span class="word">{}</span>').format(name) for name in names)
    return Text(Markup("<p>{}{}.</p>").format(start, unbroken))


def keys(families: Mapping[str, str]) -> Text:
    """The colours of the families."""
    keys = (Markup('<span><span class="dot {}"></span>{}</span>').format(*family) for family in families.items())
    return Text(Markup('<div class="keys">{}</div>').format(Markup("").join(keys)))


def switch(words: str) -> Text:
    """A check box that hides the notes in the cells of the tables of its section."""
    return Text(Markup('<label class="switch"><input type="checkbox" checked> {}</label>').format(words))


def bullets(sentences: Sequence[str], kind: str = "") -> Text | None:
    items = Markup("").join(Markup("<li>{}</li>\n").format(_with_code(sentence)) for sentence in sentences)
    return Text(Markup('<ul class="{}">\n{}</ul>').format(f"findings {kind}".strip(), items)) if sentences else None


def code(words: str) -> Text:
    return Text(Markup("<pre><code>{}</code></pre>").format(words))


def terms(texts: Mapping[str, str]) -> Text:
    items = Markup("").join(Markup("<dt>{}</dt><dd>{}</dd>\n").format(term, text) for term, text in texts.items())
    return Text(Markup("<dl>\n{}</dl>").format(items))


def table(found: Table | None, identifier: str) -> Text | None:
    return None if found is None else Text(renderers.html(found, identifier))


def cards(chosen: Iterable[Card]) -> Text:
    shown = Markup(
        '<div class="card {}"><div class="of">{}</div><div class="value">{}<span>{}</span></div>'
        '<div class="of">{}</div></div>\n'
    )
    parts = (shown.format(card.family, card.name, card.value, card.unit, card.note) for card in chosen)
    return Text(Markup('<div class="cards">\n{}</div>').format(Markup("").join(parts)))


def figures(pictures: Sequence[Picture], layout: str = "") -> Figures | None:
    return Figures(pictures, layout) if pictures else None


def _with_code(words: str) -> Markup:
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(words))))
