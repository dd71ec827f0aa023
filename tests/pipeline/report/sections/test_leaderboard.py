"""The tables over all models: the forms of each family, and all metrics."""

from __future__ import annotations

import numpy as np
import pytest

from ldep_pipeline.metrics.metric import Metric
from ldep_pipeline.report import drawing, labels
from ldep_pipeline.report.figures import properties, scores_and_times
from ldep_pipeline.report.report_data import COMPARED
from ldep_pipeline.report.sections import leaderboard
from tests.support import reported

DATASETS = ("haberman", "wdbc", "banana", "titanic", "sonar")


def example() -> dict[str, reported.Folds]:
    return {
        name: {
            "ldep_default": [0.80, 0.82],
            "ldep": [0.84 + 0.01 * index, 0.86],
            "ldep_ensembled": [0.88, 0.90 - 0.01 * index],
            "extra_trees": [0.81, 0.83],
            "extra_trees_tuned": [0.85, 0.85],
            "dep": [0.6, 0.6],
        }
        for index, name in enumerate(DATASETS)
    }


def texts(table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


@pytest.mark.parametrize(
    ("model", "family", "form", "label"),
    [
        ("ldep_default", "ldep", "default", "Default ℓ-DEP"),
        ("ldep", "ldep", "tuned", "Tuned ℓ-DEP"),
        ("ldep_ensembled", "ldep", "ensembled", "Ensembled ℓ-DEP"),
        ("rbf_svc_tuned", "rbf_svc", "tuned", "Tuned RBF SVC"),
        ("extra_trees", "extra_trees", "default", "Extra trees"),
        ("ldep_cv", None, "default", "Self-tuning ℓ-DEP"),
        ("their_model_tuned", None, "default", "their_model_tuned"),
    ],
)
def test_a_name_says_the_family_and_the_form(model, family, form, label):
    assert labels.form_of(model) == (family, form)
    assert labels.label(model) == label


def test_a_family_is_one_row_with_its_three_forms():
    table = leaderboard.forms_table(reported.report_data(example()))
    assert table is not None
    ours, trees = texts(table)
    assert (ours[0], ours[1], ours[7]) == ("ℓ-DEP", "81.0", "88.0")
    assert (trees[0], trees[1], trees[4], trees[7]) == ("Extra trees", "82.0", "85.0", "–")
    assert [cell.best for cell in table.rows[1]][:5] == [False, True, False, False, False]


def test_without_a_family_in_two_forms_there_is_no_such_table():
    assert leaderboard.forms_table(reported.report_data({"haberman": {"ldep": [0.8], "mlp": [0.7]}})) is None


def test_all_metrics_have_a_column_and_the_best_value_is_marked():
    table = leaderboard.metrics_table(reported.report_data(example()))
    titles = [column.title for column in table.columns]
    assert titles[:2] == ["Model", "Accuracy"]
    assert titles[-2:] == ["Fit time", "Predict time"]  # no model of the example has a tuning time
    assert table.rows[0][0].text == "Ensembled ℓ-DEP"
    assert [row[1].best for row in table.rows] == [True, False, False, False, False, False]


def test_the_pareto_front_has_the_points_that_nothing_beats():
    points = [(1.0, 80.0), (2.0, 79.0), (3.0, 85.0), (3.0, 84.0), (9.0, 85.0), (10.0, 90.0)]
    assert scores_and_times.pareto_front(points) == [(1.0, 80.0), (3.0, 85.0), (10.0, 90.0)]


def test_where_less_is_better_the_front_falls():
    points = [(1.0, 0.5), (2.0, 0.6), (3.0, 0.4), (9.0, 0.3), (10.0, 0.35)]
    assert scores_and_times.pareto_front(points, higher_is_better=False) == [(1.0, 0.5), (3.0, 0.4), (9.0, 0.3)]


def test_the_axis_ends_before_a_score_that_is_far_behind_the_others():
    means = np.array([90.0, 89.0, 88.0, 87.0, 50.0])
    assert scores_and_times.fence(means, higher_is_better=True) == pytest.approx(87 - 3 * 2)
    assert scores_and_times.fence(means[:4], higher_is_better=True) == 87.0
    assert scores_and_times.fence(-means, higher_is_better=False) == pytest.approx(-81)


def test_where_less_is_better_the_axis_of_the_scores_points_down():
    figure = scores_and_times.score_and_time(reported.report_data(example()).by(COMPARED["log_loss"]))
    assert figure is not None
    low, high = figure.axes[0].get_ylim()
    assert low > high


def test_where_less_is_better_the_best_form_has_the_least():
    data = reported.with_metric(reported.report_data(example()), "log_loss", {"ldep_default": 0.5, "ldep": 0.4})
    table = leaderboard.forms_table(data.by(COMPARED["log_loss"]))
    assert table is not None
    assert texts(table)[0][:5] == ["ℓ-DEP", "0.500", "", "2.5 s", "0.400"]
    metrics = leaderboard.metrics_table(data)
    column = [column.title for column in metrics.columns].index("Log-loss")
    assert [row[0].text for row in metrics.rows if row[column].best] == ["Tuned ℓ-DEP"]


def test_the_lead_is_over_the_model_of_another_family_that_has_the_best_mean():
    datasets = example()
    datasets["haberman"]["extra_trees"] = [0.95, 0.95]  # the better one here, but not in the mean
    data = reported.report_data(datasets)
    found = properties.lead(data) or pytest.fail("nothing to show")
    assert (found.ours, found.rival) == ("ldep_ensembled", "extra_trees_tuned")
    assert found.by_dataset["haberman"] == pytest.approx(4.0)
    assert scores_and_times.posterior(data) is not None


def test_leads_within_the_region_of_practical_equivalence_count_as_equal():
    datasets = example()
    datasets["haberman"]["ldep_ensembled"] = [0.85, 0.858]
    datasets["wdbc"]["ldep_ensembled"] = [0.84, 0.84]
    found = properties.lead(reported.report_data(datasets)) or pytest.fail("nothing to show")
    assert found.in_words == "better on 3, equal on 1, worse on 1"
    other, svc, ldep = (drawing.colour(family) for family in ("other", "svc", "ldep"))
    assert found.colours == [other, svc, ldep, ldep, ldep]


def test_the_data_set_with_the_largest_lead_is_at_the_top():
    figure = properties.properties(reported.report_data(example()))
    assert figure is not None
    names = [text.get_text() for text in figure.subfigs[0].axes[0].get_yticklabels()]
    assert [names[-1], names[0]] == ["Haberman", "Sonar"]


def test_the_note_names_the_units_and_the_losses_of_the_metrics_that_are_shown():
    compared = [metric for metric in COMPARED.values() if metric.compared]
    assert leaderboard.metrics_note(compared) == (
        "Means over the data sets and folds: metrics in per cent, except log-loss; CPU time of a fit and of the tuning "
        "of a fold, and time to predict its test rows. Less is better for log-loss, calibration error and times."
    )
    mcc = Metric("mcc", "MCC", "Matthews correlation coefficient", low=-1.0)
    assert "per cent, except MCC;" in leaderboard.metrics_note([mcc])
    assert leaderboard.metrics_note([mcc]).endswith("Less is better for times.")
