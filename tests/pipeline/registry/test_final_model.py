"""The final model of a data set: which candidate wins, its settings, and its key."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.config import params
from pipeline.execution import results
from pipeline.execution.full_study import tune_on_all_rows
from pipeline.registry import final_model, selection
from tests.support import registered, tiny

NAME = registered.NAME


def test_missing_folds_of_a_metric_disqualify(trained_project):
    table = results.read(NAME)
    table.loc[(table["model"] == "ldep") & (table["fold"] == 1), "value"] = np.nan
    assert selection.select(NAME, table, registered.with_candidates()).model == "linear"


def test_after_another_cross_validation_a_version_has_its_numbers(trained_project):
    """The same settings and rows; but the metrics, and the sigmoid, are those of the folds."""
    entry = {**tiny.values()["classifiers"]["ldep"], "search": {"alpha": {"choices": [0.1]}}, "first": []}
    values = {"datasets": [NAME], "own_data": {NAME: {"path": "x.csv", "target": "sold"}}, "models": ["ldep"]}
    works = []
    for trials in (1, 2):
        checked = params.check({**values, "classifiers": {"ldep": {**entry, "trials": trials}}})
        works.append(final_model.plan(NAME, "ldep", checked, Path()))
    assert works[0].settings == works[1].settings
    assert works[0].key != works[1].key


def test_only_a_model_without_calibrated_probabilities_gets_a_sigmoid(trained_project, monkeypatch):
    entries = {"ldep_cv": tiny.values()["classifiers"]["ldep_cv"], "linear": registered.CLASSIFIERS["linear"]}
    values = {"datasets": [NAME], "own_data": {NAME: {"path": "x.csv", "target": "sold"}}}
    checked = params.check({**values, "models": list(entries), "classifiers": entries})
    decisions = results.read_decisions(NAME)
    monkeypatch.setattr(results, "read_decisions", lambda *_: decisions.assign(ldep_cv=decisions["linear"]))
    for model, has_sigmoid in {"ldep_cv": False, "linear": True}.items():
        fitted = final_model.fit(final_model.plan(NAME, model, checked, Path()), checked, Path())
        assert (fitted.sigmoid is not None) == has_sigmoid


def test_a_tuned_winner_takes_the_settings_of_a_study_of_all_rows(trained_project):
    entry = {**tiny.values()["classifiers"]["ldep"], "trials": 2}
    values = {"datasets": [NAME], "own_data": {NAME: {"path": "x.csv", "target": "sold"}}}
    checked = params.check({**values, "models": ["ldep"], "classifiers": {"ldep": entry}, "execution": {"n_jobs": 1}})
    work = final_model.plan(NAME, "ldep", checked, Path())
    assert not Path("tuned").exists()  # only the command `ldep tune` writes it
    chosen = tune_on_all_rows(NAME, "ldep", checked)["chosen"]
    assert chosen.items() <= work.settings.items()
