"""The numbers of pieces that tuning chose for the ℓ-DEP."""

from __future__ import annotations

import json
from collections import Counter

from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData

# Setting, title of its panel, colour.
PANELS = (("r1", "r1, pieces of the dilation", "ldep"), ("r2", "r2, pieces of the erosion", "svc"))
AREA_PER_FOLD = 26
TICKS = (1, 2, 5, 10, 20, 40)


def draw(data: ReportData) -> Figure | None:
    choices = _choices(data)
    if not choices:
        return None
    datasets = list(dict.fromkeys(dataset for dataset, _ in choices))
    largest = max(settings[name] for _, settings in choices for name, _, _ in PANELS)
    with drawing.style():
        figure, panels = drawing.figure(
            drawing.WIDTH, 1.0 + 0.24 * len(datasets), 1, len(PANELS), sharey=True, squeeze=False
        )
        for axes, (name, title, family) in zip(panels[0], PANELS):
            folds = Counter(
                (settings[name], len(datasets) - 1 - datasets.index(dataset)) for dataset, settings in choices
            )
            for count in sorted(set(folds.values())):
                x, y = zip(*(place for place, number in folds.items() if number == count))
                area = AREA_PER_FOLD * count
                axes.scatter(x, y, s=area, color=drawing.colour(family), alpha=0.75, linewidths=0)
            axes.set_xscale("log")
            axes.set_xticks([tick for tick in TICKS if tick <= largest])
            drawing.plain_numbers(axes.xaxis)
            axes.set_yticks(range(len(datasets)), [labels.title(dataset) for dataset in reversed(datasets)])
            axes.set(title=title, xlim=(0.8, 1.25 * largest), ylim=(-0.7, len(datasets) - 0.3))
            axes.spines["left"].set_visible(False)
            axes.tick_params(length=0)
        return figure


def _choices(data: ReportData) -> list[tuple[str, dict[str, int]]]:
    """The data set and settings of each tuned fit of a model that has both r1 and r2."""
    results = data.results[(data.results["trials"] > 0) & (data.results["status"] == "ok")]
    fits = results.drop_duplicates(["dataset", "model", "fold"])
    tuned = [(fit.dataset, json.loads(fit.settings)) for fit in fits.itertuples()]
    return [(dataset, settings) for dataset, settings in tuned if "r1" in settings and "r2" in settings]


FIGURE = ReportFigure(
    name="chosen",
    title="Pieces chosen by tuning",
    caption="The area of a point is proportional to the number of folds that chose this number of pieces. The axes are "
    "logarithmic.",
    section=Section.TRAINING,
    position=1,
    draw=draw,
)
