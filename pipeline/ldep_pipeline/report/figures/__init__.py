"""The figures of the report: how one is declared, and on which section of a page it appears.

Each module of this package has some; a new module is found here. The figures of a section stand in the order of the
modules, those over the full width last.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from matplotlib.figure import Figure

from ldep_pipeline.report import drawing, labels


@dataclass(frozen=True)
class Picture:
    """A drawn figure. `name` becomes the name of its files."""

    name: str
    anchor: str
    title: str
    caption: str
    full_width: bool
    drawing: Figure
    has_bitmap: bool = True
    """Whether it is also written as PNG, for `dvc plots`."""


@dataclass(frozen=True)
class ReportFigure:
    """A function that draws, and what stands around its figure.

    The function receives the data of the page. It returns a figure, one figure per data set, or None if there is
    nothing to show.
    """

    draw: Callable[[Any], Figure | Mapping[str, Figure] | None]
    title: str
    caption: str | Callable[[Any], str]
    section: str
    full_width: bool
    for_every_metric: bool

    @property
    def name(self) -> str:
        return self.draw.__name__

    def __call__(self, data: Any) -> Any:
        with drawing.style():
            return self.draw(data)

    def pictures(self, data: Any, suffix: str = "") -> list[Picture]:
        drawn = self(data)
        if not drawn:
            return []
        figures = drawn if isinstance(drawn, Mapping) else {"": drawn}
        caption = self.caption if isinstance(self.caption, str) else self.caption(data)
        pictures = []
        for dataset, figure in figures.items():
            anchor = self.name + suffix + (f"_{dataset}" if dataset else "")
            title = self.title + (f", {labels.title(dataset)}" if dataset else "")
            shown = (data.prefix + anchor, anchor, _filled(title, data), _filled(caption, data))
            pictures.append(Picture(*shown, self.full_width or bool(suffix), figure, not suffix))
        return pictures


def report_figure(
    section: str,
    title: str,
    caption: str | Callable[[Any], str],
    *,
    full_width: bool = False,
    for_every_metric: bool = False,
) -> Callable[[Callable[[Any], Any]], ReportFigure]:
    """Declare a function as a figure of a section; `for_every_metric`: also for each other metric of the page.

    In the title and the caption, {metric} stands for the metric by which the models are compared, and {equal} for the
    largest difference that counts as equal.
    """
    return lambda draw: ReportFigure(draw, title, caption, section, full_width, for_every_metric)


@cache
def all_figures() -> list[ReportFigure]:
    """The figures of all modules of this package, in the order in which the pages show them."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, ReportFigure)]
    return sorted(found, key=lambda figure: figure.full_width)


def of_section(section: str, data: Any) -> list[Picture]:
    return [picture for figure in all_figures() if figure.section == section for picture in figure.pictures(data)]


def by_another_metric(data: Any) -> list[Picture]:
    """data: compared by a metric that is not that of the page. All of these figures are over the full width."""
    declared = [figure for figure in all_figures() if figure.for_every_metric]
    declared.sort(key=lambda figure: figure.full_width, reverse=True)
    return [picture for figure in declared for picture in figure.pictures(data, f"_{data.metric.name}")]


def _filled(text: str, data: Any) -> str:
    filled = text.replace("{metric}", data.metric.noun).replace("{equal}", data.metric.equal_gain_text)
    return filled[0].upper() + filled[1:]
