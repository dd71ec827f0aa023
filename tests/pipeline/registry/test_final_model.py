"""The final model of a data set: which candidate wins, its settings, and its key."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ldep_pipeline.config import params
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import results
from ldep_pipeline.execution.scheduler import tune_on_all_rows
from ldep_pipeline.fitting.specs import ccp_seconds
from ldep_pipeline.registry import final_model, selection
from tests.support import registered, tiny

NAME = registered.NAME


def select(table: pd.DataFrame, values: params.Params) -> selection.Selection:
    return selection.select(NAME, table, values, load_training_data(NAME), results.read_decisions(NAME))


def test_missing_folds_of_a_metric_disqualify(trained_project):
    table = results.read(NAME)
    table.loc[(table["model"] == "ldep") & (table["fold"] == 1), "value"] = np.nan
    assert select(table, registered.with_candidates()).model == "linear"


def test_the_solver_is_that_of_the_cross_validation(trained_project):
    """A budget that all rows exceed, and the rows of a training fold do not."""
    rows = load_training_data(NAME)
    inside, features = rows.largest_training_part(), rows.X.shape[1]
    seconds = (ccp_seconds(inside, features, 2, 2) + ccp_seconds(len(rows.X), features, 2, 2)) / 2
    entry = {
        "class": "ldep.LDEPClassifier",
        "params": {"r1": 2, "r2": 2, "loss": "hinge", "solver": "ccp"},
        "budget": {"seconds": seconds, "instead": {"solver": "anneal"}},
    }
    values = {"datasets": [NAME], "own_data": {NAME: {"path": "x.csv", "target": "sold"}}}
    checked = params.check({**values, "models": ["exact"], "classifiers": {"exact": entry}})
    assert registered.planned("exact", checked).settings["solver"] == "ccp"


def test_after_another_cross_validation_a_version_has_its_numbers(trained_project):
    """The same settings and rows; but the metrics, and the sigmoid, are those of the folds."""
    entry = {**tiny.values()["classifiers"]["ldep"], "search": {"alpha": {"choices": [0.1]}}, "first": []}
    values = {"datasets": [NAME], "own_data": {NAME: {"path": "x.csv", "target": "sold"}}, "models": ["ldep"]}
    works = []
    for trials in (1, 2):
        checked = params.check({**values, "classifiers": {"ldep": {**entry, "trials": trials}}})
        works.append(registered.planned("ldep", checked))
    assert works[0].settings == works[1].settings
    assert works[0].key != works[1].key


def test_only_a_model_without_calibrated_probabilities_gets_a_sigmoid(trained_project, monkeypatch):
    entries = {"ldep_cv": tiny.values()["classifiers"]["ldep_cv"], "linear": registered.CLASSIFIERS["linear"]}
    values = {"datasets": [NAME], "own_data": {NAME: {"path": "x.csv", "target": "sold"}}}
    checked = params.check({**values, "models": list(entries), "classifiers": entries})
    decisions = results.read_decisions(NAME)
    monkeypatch.setattr(results, "read_decisions", lambda *_: decisions.assign(ldep_cv=decisions["linear"]))
    for model, has_sigmoid in {"ldep_cv": False, "linear": True}.items():
        fitted = final_model.fit(registered.planned(model, checked), checked, Path())
        assert (fitted.link is not None) == has_sigmoid


def test_a_tuned_winner_takes_the_settings_of_a_study_of_all_rows(trained_project):
    entry = {**tiny.values()["classifiers"]["ldep"], "trials": 2}
    values = {"datasets": [NAME], "own_data": {NAME: {"path": "x.csv", "target": "sold"}}}
    checked = params.check({**values, "models": ["ldep"], "classifiers": {"ldep": entry}, "execution": {"n_jobs": 1}})
    work = registered.planned("ldep", checked)
    assert not Path("tuned").exists()  # only the command `ldep tune` writes it
    chosen = tune_on_all_rows(NAME, "ldep", checked)["chosen"]
    assert chosen.items() <= work.settings.items()
