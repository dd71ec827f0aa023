"""How a figure of the report is declared. Each module of `figures` has one, called FIGURE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from matplotlib.figure import Figure

from pipeline.reporting import labels
from pipeline.reporting.report_data import ReportData


class Section(StrEnum):
    """The section of the page in which a figure appears."""

    TESTS = "tests"
    RESULTS = "results"
    TRAINING = "training"


@dataclass(frozen=True)
class Picture:
    """A drawn figure. `name` becomes the name of its files and its anchor on the page."""

    name: str
    title: str
    caption: str
    section: str
    full_width: bool
    drawing: Figure


@dataclass(frozen=True)
class ReportFigure:
    """One figure about all data sets. `draw` returns None if these results have nothing to show.

    In the title and the caption, {metric} stands for the measure by which the models are compared, and {equal} for
    the largest difference that counts as equal.
    """

    name: str
    title: str
    caption: str
    section: Section
    position: int
    """Figures of a section are placed in this order."""
    draw: Callable[[ReportData], Figure | None]
    full_width: bool = False
    for_every_metric: bool = False
    """Whether it is also drawn for each of the other measures that the page shows."""

    def pictures(self, data: ReportData) -> list[Picture]:
        drawing = self.draw(data)
        if drawing is None:
            return []
        title, caption = _filled(self.title, data), _filled(self.caption, data)
        return [Picture(self.name, title, caption, self.section, self.full_width, drawing)]

    def of_other_metrics(self, data: ReportData) -> list[Picture]:
        """The same figure for each of the other measures, in a section with the name of the measure."""
        if not self.for_every_metric:
            return []
        return [
            replace(picture, name=f"{self.name}_{metric}", section=metric, full_width=True)
            for metric in data.other_metrics
            for picture in self.pictures(data.by(metric))
        ]


@dataclass(frozen=True)
class FigurePerDataset:
    """One figure for each data set that `draw` can show; it returns None for the others."""

    name: str
    title: str
    caption: str
    section: Section
    position: int
    draw: Callable[[ReportData, str], Figure | None]
    full_width: bool = False

    def pictures(self, data: ReportData) -> list[Picture]:
        drawings = {dataset: self.draw(data, dataset) for dataset in data.scores.datasets}
        return [
            Picture(
                f"{self.name}_{dataset}",
                f"{self.title}, {labels.title(dataset)}",
                self.caption,
                self.section,
                self.full_width,
                drawing,
            )
            for dataset, drawing in drawings.items()
            if drawing is not None
        ]

    def of_other_metrics(self, data: ReportData) -> list[Picture]:
        return []


def _filled(text: str, data: ReportData) -> str:
    filled = text.replace("{metric}", data.measure.noun).replace("{equal}", data.measure.rope_text)
    return filled[0].upper() + filled[1:]
