"""The figures: which ones a report has, and that they can be drawn from any results."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

from ldep_pipeline.report import figures
from ldep_pipeline.report.figures import scores_and_times, training
from ldep_pipeline.report.report_data import COMPARED, PlanarData, ReportData
from ldep_pipeline.report.sections import SECTIONS
from tests.support import reported


def names(data: ReportData) -> list[str]:
    sections = {section.anchor for section in SECTIONS if section.shows is ReportData}
    return [picture.name for section in sections for picture in figures.of_section(section, data)]


def test_every_module_of_the_package_has_figures_of_the_report():
    modules = {path.stem for path in Path(figures.__file__).parent.glob("*.py")} - {"__init__"}
    assert {figure.draw.__module__.rpartition(".")[2] for figure in figures.all_figures()} == modules


def test_every_figure_has_a_section_and_a_name_of_its_own():
    declared = [(figure.section, figure.name) for figure in figures.all_figures()]
    assert len(set(declared)) == len(declared)
    assert {section for section, _ in declared} <= {section.anchor for section in SECTIONS}


def test_the_example_has_every_figure_of_all_data_sets():
    expected = {"ranks", "posterior", "wins", "scores", "times", "score_and_time", "costs", "chosen", "convergence"}
    before = pyplot.get_fignums()
    assert set(names(reported.report_data())) == expected
    assert pyplot.get_fignums() == before  # nothing is left in pyplot's global state


def test_with_many_models_the_columns_of_wins_are_our_models_only():
    folds: reported.Folds = {f"m{number}": [0.5, 0.6] for number in range(20)} | {"ldep": [0.7, 0.7]}
    figure = scores_and_times.wins(reported.report_data({"one": folds, "two": folds}))
    assert figure is not None
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["Tuned ℓ-DEP"]
    assert len(figure.axes[0].get_yticklabels()) == 21


def test_the_pieces_that_tuning_chose_are_on_a_logarithmic_axis_with_few_ticks():
    choices = [{"r1": size, "r2": 1} for size in range(1, 41)]
    folds: reported.Folds = {f"m{number}": [0.5] for number in range(40)}
    settings = {f"m{number}": json.dumps(choice) for number, choice in enumerate(choices)}
    data = reported.report_data({"one": folds}, settings=settings, trials=dict.fromkeys(folds, 5))
    figure = training.chosen(data)
    assert figure is not None
    for axes in figure.axes:
        assert axes.get_xscale() == "log"
        assert axes.get_xticks().tolist() == [1, 2, 5, 10, 20, 40]


def test_wins_leave_out_models_without_any_value():
    folds: reported.Folds = {"a": [0.5, 0.6], "b": [0.6, 0.7], "svc": [0.7, 0.7]}
    data = reported.with_metric(reported.report_data({"one": folds}), "log_loss", {"a": 0.5, "b": 0.4})
    figure = scores_and_times.wins(data.by(COMPARED["log_loss"]))
    assert figure is not None
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["a", "b"]


def test_a_single_failed_model_has_no_figure_of_accuracies():
    assert names(reported.report_data({"mine": {"svc": [None, None]}})) == ["convergence"]


def test_boundaries_are_drawn_for_data_sets_with_two_features():
    data = reported.report_data({"flat": {"svc": [0.5, 0.75]}, "mine": {"svc": [0.5, 0.75]}})
    grid = {"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0], "value": [-1.0, 0.5, 1.0, -2.0, -1.0, 1.0]}
    planar = PlanarData(np.array([[0.0, 1.0], [2.0, 0.0]]), np.array(["a", "b"]), ("width", "height"), {"svc": grid})
    data = replace(data, planar={"flat": planar})
    assert [name for name in names(data) if name.startswith("boundaries")] == ["boundaries_flat"]


def test_the_bars_of_the_rank_diagram_are_drawn_from_left_to_right():
    """The library takes the points of a bar from a set of names, whose order differs between processes."""
    models = [f"model {number}" for number in range(8)]
    values = np.linspace(0.6, 0.9, 8)
    datasets = {
        name: {model: [value, value] for model, value in zip(models, np.roll(values, shift).tolist())}
        for shift, name in enumerate("abc")
    }
    mean_ranks = reported.report_data(datasets).ranks
    assert mean_ranks is not None
    bars = [line for line in scores_and_times.rank_diagram(mean_ranks).axes[0].lines if len(line.get_xdata()) == 8]
    assert bars
    for bar in bars:
        assert list(bar.get_xdata()) == sorted(bar.get_xdata())


@pytest.mark.parametrize("places", [[], [0.5], [0.5, 0.5, 0.5], [0.9, 0.1, 0.92]])
def test_labels_are_moved_a_step_apart_in_their_order(places):
    moved = scores_and_times.spread_out(places, 0.05)
    assert np.all(np.diff(sorted(moved)) > 0.049)
    assert list(np.argsort(moved, kind="stable")) == list(np.argsort(places, kind="stable"))
    assert max(moved, default=0.0) <= 1.02 + 1e-9


def test_labels_that_crowd_at_the_top_leave_the_others_in_place():
    assert scores_and_times.spread_out([0.1, 1.0, 1.0, 1.0], 0.05)[0] == pytest.approx(0.1)
