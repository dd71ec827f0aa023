"""The figures of the report, one per module. A new module with a FIGURE is found here and placed on the page."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from pipeline.reporting.figure import FigurePerDataset, ReportFigure, Section


def all_figures() -> list[ReportFigure | FigurePerDataset]:
    """The figures of all modules of this package, in the order in which the page shows them."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    figures = [module.FIGURE for module in modules]
    return sorted(figures, key=_place)


def _place(figure: ReportFigure | FigurePerDataset) -> tuple[int, int, str]:
    return list(Section).index(figure.section), figure.position, figure.name
