"""For each comparison of our models: how likely one is better, and how likely both are practically equal."""

from __future__ import annotations

from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData

ROW = 0.2  # inches


def draw(data: ReportData) -> Figure | None:
    claims = [claim for claim in data.claims if claim.datasets > 1]
    if not claims:
        return None
    with drawing.style():
        figure, axes = drawing.figure(drawing.WIDTH + 1.8, 0.9 + ROW * len(claims))
        drawing.horizontal(axes)
        for row, claim in enumerate(reversed(claims)):
            left = 0.0
            parts = (
                (claim.posterior.better, drawing.colour("ldep"), 0.9),
                (claim.posterior.equal, drawing.MUTED, 0.35),
                (claim.posterior.worse, drawing.colour("svc"), 0.9),
            )
            for width, colour, opacity in parts:
                axes.barh(row, width, left=left, height=0.7, color=drawing.transparent(colour, opacity))
                if width >= 0.08:
                    axes.text(left + width / 2, row, f"{100 * width:.0f}", ha="center", va="center", fontsize=7)
                left += width
        names = [f"{labels.label(claim.ours)} – {claim.other}" for claim in reversed(claims)]
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set(
            xlim=(0, 1),
            ylim=(-0.6, len(names) - 0.4),
            xlabel="posterior probability: better | practically equal | worse, in %",
        )
        axes.set_xticks([])
        return figure


FIGURE = ReportFigure(
    name="posterior",
    title="Better, equal or worse by {metric}",
    caption="Bayesian signed-rank test over the data sets. Differences of at most {equal} count as practically "
    "equal. Unlike a test of a null hypothesis, it can find that two models are equal.",
    section=Section.TESTS,
    position=3,
    draw=draw,
    full_width=True,
    for_every_metric=True,
)
