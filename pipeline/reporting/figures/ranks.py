"""Mean ranks of the models, with bars that join those that Nemenyi's test cannot tell apart."""

from __future__ import annotations

from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData
from pipeline.reporting.significance import LEVEL, Ranks


def draw(data: ReportData) -> Figure | None:
    return None if data.ranks is None else diagram(data.ranks)


def diagram(ranks: Ranks) -> Figure:
    """Draw a critical difference diagram."""
    import scikit_posthocs

    names = {model: labels.label(model) for model in ranks.mean.index}
    with drawing.style():
        figure, axes = drawing.figure(drawing.WIDTH + 1.8, 0.9 + 0.18 * len(names))
        axes.grid(visible=False)
        drawn = scikit_posthocs.critical_difference_diagram(
            ranks.mean.rename(names),
            ranks.pairs.rename(index=names, columns=names),
            alpha=LEVEL,
            ax=axes,
            label_fmt_left="{label}  {rank:.1f}\u2002",
            label_fmt_right="\u2002{rank:.1f}  {label}",  # an en space keeps the text off its line
            color_palette={name: drawing.colour(labels.family(model)) for model, name in names.items()},
            label_props={"fontsize": 9},
            text_h_margin=0.12,
            elbow_props={"linewidth": 1},
            marker_props={"s": 22},
            crossbar_props={"color": drawing.INK, "linewidth": 2.5, "marker": ""},
        )
        for crossbar in drawn["crossbars"]:
            for line in crossbar:
                # The library takes these points from a set, whose order differs between processes.
                line.set_xdata(sorted(line.get_xdata()))
        return figure


FIGURE = ReportFigure(
    name="ranks",
    title="Mean ranks by {metric}",
    caption="1 is best. A bar joins models between which Nemenyi's test finds no difference at the 5 % level.",
    section=Section.TESTS,
    position=1,
    draw=draw,
    full_width=True,
    for_every_metric=True,
)
