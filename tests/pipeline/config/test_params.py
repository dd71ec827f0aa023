"""params.yaml at the door: what is wrong is named, with the key, and nothing runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import params

ROOT = Path(__file__).parents[3]
OWN = {"path": "my.csv", "target": "label"}


def test_the_projects_own_file_is_valid_and_needs_no_network():
    from ldep_pipeline.data import catalogue

    values = params.load(ROOT / "params.yaml")
    assert all(catalogue.entry(name).packaged for name in values.datasets)
    assert len(values.datasets) == 6
    assert (values.data.source, values.data.timeout) == ("auto", 30)
    assert (values.impute.strategy, values.impute.scope) == ("mean", "dataset")
    assert (values.split.folds, values.split.seed) == (5, 1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"datsets": ["banana"]}, "unknown key 'datsets'; did you mean 'datasets'?"),
        ({"datasets": ["banana"], "data": {"timout": 3}}, "unknown key 'data.timout'; did you mean 'timeout'?"),
        ({"datasets": ["m"], "own_data": {"m": {**OWN, "delimeter": ";"}}}, "did you mean 'delimiter'?"),
        ({"datasets": ["banana"], "data": {"timeout": "long"}}, "'data.timeout'"),
        ({"datasets": ["banana"], "data": {"timeout": 0}}, "'data.timeout': input should be greater than 0; found 0"),
        ({"datasets": ["banana"], "data": {"timeout": float("nan")}}, "'data.timeout'"),
        ({"datasets": ["banana"], "data": {"retries": 99}}, "'data.retries'"),
        ({"datasets": ["banana"], "split": {"folds": 1}}, "'split.folds'"),
        ({"datasets": ["banana"], "split": {"folds": 5.0}}, "'split.folds'"),
        ({"datasets": ["banana"], "impute": {"strategy": "men"}}, "'mean', 'median', 'most_frequent'"),
        ({"datasets": ["banana"], "impute": None}, "'impute'"),
        ({"datasets": "banana"}, "'datasets'"),
        ({"datasets": ["banan"]}, "did you mean 'banana'?"),
        ({"datasets": ["banana", "banana"]}, "'banana' is listed twice"),
        ({"datasets": ["../../etc/passwd"]}, "'datasets.0': a name has letters"),
        ({"datasets": ["a/b"], "own_data": {"a/b": OWN}}, "letters, digits"),
        ({"datasets": [".hidden"], "own_data": {".hidden": OWN}}, "letters, digits"),
        ({"datasets": [{"name": "m", **OWN}]}, "own_data: {NAME: {path: ..., target: ...}}"),
        ({"datasets": ["m"], "own_data": {"m": {"path": "my.csv"}}}, "'own_data.m.target' is missing"),
        ({"datasets": ["banana"], "own_data": {"banana": OWN}}, "own_data.banana: the catalogue has"),
        ([], "not a mapping"),
        (None, "not a mapping"),
    ],
)
def test_what_is_wrong_is_named(values, message):
    with pytest.raises(UserError) as caught:
        params.check(values)
    assert message in str(caught.value)


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(UserError) as caught:
        params.check({"datasets": ["banana"], "data": {"timeout": "x"}, "split": {"seed": -1}})
    assert "'data.timeout'" in str(caught.value)
    assert "'split.seed'" in str(caught.value)


def test_own_data_is_taken():
    values = params.check({"datasets": ["m", "banana"], "own_data": {"m": {**OWN, "ignore": ["id"]}}})
    assert values.own_data["m"].ignore == ["id"]


def with_own(**own):
    return params.check({"datasets": ["m"], "models": ["ldep", "rbf_svc"], "own_data": {"m": {**OWN, **own}}})


def test_a_data_set_without_settings_of_its_own_has_those_of_the_project():
    values = with_own()
    assert values.of("m").model_dump() == values.model_dump()
    assert values.of("banana") is values


def test_what_a_data_set_sets_replaces_the_value_of_the_project_for_it_alone():
    values = with_own(
        metric="f1", models=["ldep"], tuning={"trials": 4}, split={"group": "id", "folds": 3}, register={"margin": 0.1}
    )
    own = values.of("m")
    assert (own.metric, own.models, own.tuning.trials, own.register_.margin) == ("f1", ["ldep"], 4, 0.1)
    assert (own.split.folds, own.split.seed, own.tuning.folds) == (3, 1, 3)  # the rest is the project's
    assert (values.metric, values.tuning.trials, values.split.folds) == ("accuracy", 20, 5)


def test_a_data_set_changes_a_model_or_has_one_of_its_own():
    change = {"search": {"n_init": {"choices": [1, 2]}}, "first": []}
    values = with_own(classifiers={"ldep": change, "new": {"class": "sklearn.svm.SVC"}}, models=["ldep", "new"])
    known, own = values.classifiers, values.of("m").classifiers
    assert set(own["ldep"].search) == {*known["ldep"].search, "n_init"}
    assert own["ldep"].params == known["ldep"].params
    assert own["ldep_ensembled"].search == own["ldep"].search  # an ensemble follows its model
    assert own["rbf_svc_tuned"] == known["rbf_svc_tuned"]
    assert "new" not in known


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"metric": "beauty"}, "'own_data.m.metric'"),
        ({"metric": "cost"}, "own_data.m.metric: cost needs costs"),
        ({"models": ["lde"]}, "own_data.m.models: 'lde' is not one of classifiers; did you mean 'ldep'?"),
        ({"tuning": {"trails": 3}}, "unknown key 'own_data.m.tuning.trails'; did you mean 'trials'?"),
        ({"tuning": {"trials": 0}}, "'own_data.m.tuning.trials'"),
        ({"split": {"folds": 1}}, "'own_data.m.split.folds'"),
        ({"split": {"keep": True}}, "'own_data.m.split': keep needs a column"),
        ({"register": {"candidates": ["x"]}}, "own_data.m.register.candidates: 'x' is not one of classifiers"),
        ({"classifiers": {"ldpe": {"trials": 3}}}, "own_data.m.classifiers.ldpe: 'class' is missing"),
        ({"classifiers": {"ldep": {"trials": 0}}}, "own_data.m.classifiers.ldep.trials: input should be"),
        ({"classifiers": {"ldep_ensembled": {"trials": 3}}}, "own_data.m.classifiers.ldep_ensembled: an ensemble has"),
    ],
)
def test_a_wrong_setting_of_a_data_set_is_named_with_its_whole_key(own, message):
    with pytest.raises(UserError) as caught:
        with_own(**own)
    assert message in str(caught.value)


def test_a_project_names_the_models_of_the_package_changes_them_and_has_others():
    entries = {"ldep": {"trials": 3}, "rbf_svc_tuned": {"class": "sklearn.svm.SVC"}, "mine": {"class": "a.B"}}
    values = params.check({"datasets": ["banana"], "models": ["mlp", "mine"], "classifiers": entries})
    assert (values.classifiers["ldep"].trials, values.classifiers["ldep_ensembled"].trials) == (3, 3)
    assert values.classifiers["rbf_svc_tuned"].search == {}
    assert "rbf_svc_ensembled" not in values.classifiers  # its model is no longer tuned


def test_choices_replace_a_range_a_range_replaces_choices_and_one_end_of_a_range_changes_alone():
    search = {"r1": {"choices": [2, 4]}, "penalty": {"low": 1, "high": 2}, "r2": {"high": 10}}
    found = with_own(classifiers={"ldep": {"search": search}}).of("m").classifiers["ldep"].search
    assert (found["r1"].choices, found["r1"].low) == ([2, 4], None)
    assert (found["penalty"].choices, found["penalty"].high) == (None, 2)
    assert (found["r2"].low, found["r2"].high, found["r2"].log) == (1, 10, True)


def test_another_estimator_in_a_parameter_does_not_keep_the_parameters_of_the_one_before():
    bagging = {"class": "sklearn.ensemble.BaggingClassifier"}
    before, after = {"estimator": {"class": "a.B", "params": {"C": 1}}}, {"estimator": {"class": "a.D"}}
    own = {"m": {**OWN, "classifiers": {"bag": {"params": after}}}}
    values = params.check({"classifiers": {"bag": {**bagging, "params": before}}, "own_data": own})
    assert values.of("m").classifiers["bag"].params == after


@pytest.mark.parametrize("promise", [{"range": None}, {}, {"monotone": None}, {"stable": None, "seconds": 5.0}])
def test_a_promise_that_states_nothing_is_named(promise):
    with pytest.raises(UserError, match=r"own_data\.m\.promises\.0': give one promise per entry"):
        with_own(promises=[promise])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        (b"datasets: [banana", "not valid YAML"),
        (b"datasets: [banana]\nmodels: []\ndatasets: [wdbc]\n", "'datasets' appears twice, the second time in line 3"),
        (b"split: {seed: 1, seed: 2}\n", "'seed' appears twice"),
        (b"? [a]\n: 1\n", "not valid YAML"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, content, message):
    path = tmp_path / "params.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        params.load(path)


def test_yaml_runs_no_code(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(f"datasets: !!python/object/apply:pathlib.Path.touch [{tmp_path}/run]")
    with pytest.raises(UserError, match="not valid YAML"):
        params.load(path)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi")
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"datasets: [banana]\nsplit: {{seed: {'9' * 5000}}}", "the number in line 2 has 5000 digits"),
        (f"datasets: [banana]\nsplit: {{seed: 0x{'f' * 5000}}}", "the number in line 2 has 5002 digits"),
        ("datasets: " + "[" * 60 + "]" * 60, "nested more than 50 levels deep"),
        ("datasets: " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        (f"{BOMB}datasets: [banana]", "has more than 100,000 parts"),
        ("datasets: &a [*a]", "the value in line 1 contains itself"),
        ("datasets: [banana]\nsplit: {seed: 2026-99-99}", "is not valid YAML: month must be in 1..12"),
        ("datasets: [banana]\n" + "#" * 1_000_001, "is larger than 1,000,000 bytes"),
        ("datasets: [banana]\ndatasets: [wdbc]", "the key 'datasets' appears twice, the second time in line 2"),
    ],
)
def test_a_hostile_file_is_refused_in_one_sentence(tmp_path, text, message):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        params.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 500


def test_an_alias_is_allowed(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("datasets: &names [banana]\nregister: {candidates: []}\nmodels: []\n")
    assert params.load(path).datasets == ["banana"]
