"""Stage register: which model becomes a version, that it does so once, and which alias it gets."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
import skops.io

from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import params
from ldep_pipeline.execution import results
from ldep_pipeline.fitting import models
from ldep_pipeline.registry import download, promotion, signatures, versions
from ldep_pipeline.serving import mlflow_folder, trusted_types
from ldep_pipeline.stages import register, train
from ldep_pipeline.tracking import connection, runs
from tests.support import registered, tiny
from tests.support.registered import aliases, all_versions

NAME, MODEL = registered.NAME, registered.MODEL


def test_a_version_says_where_it_comes_from(trained_project):
    record = register.run(NAME, registered.with_candidates("ldep"))
    assert json.loads((trained_project / f"registry/{NAME}.json").read_text()) == record
    (version,) = all_versions()
    table = results.read(NAME)
    mean = table[(table["model"] == "ldep") & (table["metric"] == "accuracy")]["value"].mean()
    assert float(version.tags["metric.accuracy"]) == record["metrics"]["accuracy"] == pytest.approx(mean)
    assert version.tags["data_digest"] == record["data_digest"]
    assert version.tags["command"] == f"ldep register {NAME}"
    assert set(version.tags) >= {"commit", "settings", "source", "model", "decision", "why"}
    assert f"Decision: {record['why']}." in version.description
    run = mlflow.MlflowClient().get_run(version.run_id)  # of the cross-validation
    assert run.data.tags["model"] == "ldep"
    assert aliases() == {"champion": "1"}


def test_the_same_model_is_registered_once(trained_project):
    first = register.run(NAME, registered.with_candidates("ldep"))
    assert register.run(NAME, registered.with_candidates("ldep")) == first
    assert len(all_versions()) == 1


def test_an_infinite_setting_is_registered(trained_project):
    entry = {"class": "sklearn.linear_model.LogisticRegression", "params": {"C": float("inf")}}
    values = {
        "datasets": [NAME],
        "own_data": {NAME: {"path": "x.csv", "target": "sold"}},
        "tracking": {"models": False},
    }
    checked = params.check({**values, "models": ["free"], "classifiers": {"free": entry}, "execution": {"n_jobs": 1}})
    train.run(NAME, checked)
    record = register.run(NAME, checked)
    assert record["settings"] == {"C": float("inf")}
    assert json.loads((trained_project / f"registry/{NAME}.json").read_text()) == record
    assert download.load(f"models:/{MODEL}@champion").predict(registered.rows(3))


def test_an_ensemble_is_trained_registered_and_served(trained_project):
    """Its fits share the studies of the model that it is made of, and the registered members are those of all rows."""
    tuned = {
        "class": "sklearn.tree.DecisionTreeClassifier",
        "search": {"max_depth": {"low": 1, "high": 5}},
        "trials": 4,
    }
    checked = params.check(
        {
            "datasets": [NAME],
            "own_data": {NAME: {"path": "x.csv", "target": "sold"}},
            "models": ["voting"],
            "classifiers": {"tree": tuned, "voting": {"ensemble": "tree"}},
            "execution": {"n_jobs": 1},
        }
    )
    train.run(NAME, checked)
    table = results.read(NAME)
    assert set(table["status"]) == {"ok"}
    assert (table["tune_cpu_seconds"] > 0).all()
    record = register.run(NAME, checked, promote=True)  # two small trees hardly beat guessing here
    assert sum(member["weight"] for member in record["settings"]["members"]) == pytest.approx(1.0)
    served = download.load(f"models:/{MODEL}@champion")
    assert len(served.predict(registered.rows(3))) == 3
    (answer,) = served.predict(registered.rows(1), {"output": "full"})
    likely = max(answer["probability"], key=answer["probability"].__getitem__)
    assert likely == answer["class"]


def test_the_champion_moves_when_the_rule_says_so_and_the_rest_challenges(trained_project, caplog):
    caplog.set_level(logging.INFO)
    register.run(NAME, registered.with_candidates("linear"))
    better = register.run(NAME, registered.with_candidates("ldep"))
    assert (better["version"], better["decision"]) == (2, "champion")
    assert "more than the margin 0" in better["why"]
    assert better["why"] in caplog.text
    assert aliases() == {"champion": "2"}
    again = register.run(NAME, registered.with_candidates("linear"))
    assert (again["version"], again["decision"]) == (1, "none")  # nothing new, and so nothing to decide
    earlier = "the decision for this version was champion: there was no champion"
    assert again["why"] == f"version 2 is the champion now; {earlier}"
    assert f"(linear, registered before) none: {again['why']}." in caplog.text
    assert aliases() == {"champion": "2"}


def test_under_another_rule_a_version_is_decided_again(trained_project):
    register.run(NAME, registered.with_candidates("linear"))
    assert register.run(NAME, registered.with_candidates("ldep", margin=0.5))["decision"] == "challenger"
    record = register.run(NAME, registered.with_candidates("ldep"))
    assert (record["version"], record["decision"]) == (2, "champion")
    assert aliases() == {"champion": "2"}
    by_area = {"metric": "roc_auc"}  # no metric of predicted classes, which could move the threshold
    record = register.run(NAME, registered.with_candidates("ldep").model_copy(update=by_area))
    assert (record["decision"], record["why"]) == ("champion", "it is the champion already")
    record = register.run(NAME, registered.with_candidates("linear").model_copy(update=by_area))
    assert record["decision"] == "challenger"
    assert "roc_auc" in record["why"]
    assert aliases() == {"champion": "2", "challenger": "1"}


def test_an_alias_that_somebody_moved_is_said_and_stays(trained_project):
    register.run(NAME, registered.with_candidates("ldep"))
    mlflow.MlflowClient().delete_registered_model_alias(MODEL, "champion")
    record = register.run(NAME, registered.with_candidates("ldep"))
    assert record["decision"] == "none"
    assert record["why"].startswith("no version is the champion now; ")
    assert aliases() == {}


def test_a_margin_keeps_the_champion(trained_project):
    register.run(NAME, registered.with_candidates("linear"))
    record = register.run(NAME, registered.with_candidates("ldep", margin=0.5))
    assert record["decision"] == "challenger"
    assert "not more than the margin 0.5" in record["why"]
    assert aliases() == {"champion": "1", "challenger": "2"}
    forced = register.run(NAME, registered.with_candidates("ldep", margin=0.5), promote=True)
    assert forced["decision"] == "champion"
    assert forced["why"].startswith("requested by --promote")
    assert aliases() == {"champion": "2"}


def test_the_winner_is_the_best_of_all_candidates_whatever_its_family(trained_project):
    record = register.run(NAME, registered.with_candidates())
    assert record["model"] == "ldep"
    assert list(record["ranking"]) == ["ldep", "linear"]


def test_cut_off_before_its_decision_a_version_is_decided_later(trained_project):
    register.run(NAME, registered.with_candidates("ldep"))
    client = mlflow.MlflowClient()
    client.delete_registered_model_alias(MODEL, "champion")
    for tag in (versions.DECISION, versions.RULE):
        client.delete_model_version_tag(MODEL, "1", tag)
    assert register.run(NAME, registered.with_candidates("ldep"))["decision"] == "champion"
    assert aliases() == {"champion": "1"}
    assert len(all_versions()) == 1


def test_cut_off_before_its_version_a_model_is_logged_again_and_not_twice(trained_project):
    register.run(NAME, registered.with_candidates("ldep"))
    client = mlflow.MlflowClient()
    client.delete_registered_model(MODEL)
    key = register.run(NAME, registered.with_candidates("ldep"))["key"]
    experiment = client.get_experiment_by_name("ldep").experiment_id
    ours = f"tags.`{versions.FINAL_KEY}` = '{key}' and tags.`{runs.OWNER}` = '{connection.owner(trained_project)}'"
    assert len(client.search_logged_models([experiment], ours)) == 1


def test_a_model_that_another_project_is_registering_is_left_alone(trained_project):
    record = register.run(NAME, registered.with_candidates("ldep"))
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("ldep").experiment_id
    theirs = client.create_logged_model(
        experiment, name=MODEL, tags={versions.FINAL_KEY: record["key"], runs.OWNER: "another"}
    )
    client.delete_registered_model(MODEL)
    register.run(NAME, registered.with_candidates("ldep"))
    assert theirs.model_id in {model.model_id for model in client.search_logged_models([experiment])}


def lose_files(folder: Path) -> None:
    shutil.rmtree(folder)


def change_file(folder: Path) -> None:
    (folder / "MLmodel").write_text("changed")


def remove_signature(folder: Path) -> None:
    (folder / signatures.MANIFEST).unlink()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lose_files, "its files are lost"),
        (change_file, "files were changed after registration: MLmodel"),
        (remove_signature, "it has no signature"),
    ],
)
def test_a_version_whose_files_were_lost_or_changed_is_made_again(trained_project, caplog, damage, reason):
    first = register.run(NAME, registered.with_candidates("ldep"))
    before = download.load(f"models:/{MODEL}@champion").predict(registered.rows(20), {"output": "full"})
    damage(registered.stored_files(MODEL, "1"))
    with pytest.raises(UserError, match=reason):
        download.load(f"models:/{MODEL}@champion")
    again = register.run(NAME, registered.with_candidates("ldep"))
    assert (again["version"], again["decision"], again["key"]) == (2, "champion", first["key"])
    assert f"version 1 of {MODEL} is replaced by version 2: {reason}" in caplog.text
    assert [version.version for version in all_versions()] == [2]
    assert aliases() == {"champion": "2"}
    assert download.load(f"models:/{MODEL}@champion").predict(registered.rows(20), {"output": "full"}) == before
    assert register.run(NAME, registered.with_candidates("ldep")) == again


def test_interrupted_while_a_version_is_replaced_the_next_run_completes_it(trained_project, monkeypatch):
    register.run(NAME, registered.with_candidates("ldep"))
    lose_files(registered.stored_files(MODEL, "1"))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(versions.Registry, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            register.run(NAME, registered.with_candidates("ldep"))
    assert len(all_versions()) == 2
    assert register.run(NAME, registered.with_candidates("ldep"))["version"] == 2
    assert aliases() == {"champion": "2"}
    assert len(all_versions()) == 1


def test_a_version_of_a_project_with_another_key_is_left_alone(trained_project):
    first = register.run(NAME, registered.with_candidates("ldep"))
    mlflow.MlflowClient().set_model_version_tag(MODEL, "1", runs.OWNER, "another")
    Path(".ldep/signing.key").unlink()
    Path("trusted-keys.json").unlink()
    own = register.run(NAME, registered.with_candidates("ldep"))
    assert (own["version"], own["decision"], own["key"]) == (2, "challenger", first["key"])
    assert aliases() == {"champion": "1", "challenger": "2"}


def test_after_the_private_key_was_lost_its_versions_stay_and_new_ones_get_a_new_key(trained_project, caplog):
    register.run(NAME, registered.with_candidates("ldep"))
    Path(".ldep/signing.key").unlink()
    assert register.run(NAME, registered.with_candidates("ldep"))["version"] == 1
    assert not Path(".ldep/signing.key").exists()
    assert register.run(NAME, registered.with_candidates("linear"))["version"] == 2
    assert "now signs models, and trusted-keys.json trusts it; commit this file" in caplog.text
    for version in (1, 2):
        assert download.load(f"models:/{MODEL}/{version}").predict(registered.rows(3))


def test_when_the_code_of_the_rule_changes_a_version_is_decided_again(trained_project, monkeypatch):
    register.run(NAME, registered.with_candidates("linear"))
    assert register.run(NAME, registered.with_candidates("ldep", margin=0.5))["decision"] == "challenger"

    def always(*_: object) -> promotion.Decision:
        return promotion.Decision(True, "the newest one wins")

    monkeypatch.setattr(promotion, "decide", always)
    monkeypatch.setattr(promotion, "source_digest", lambda place: f"other code in {place.name}")
    record = register.run(NAME, registered.with_candidates("ldep", margin=0.5))
    assert (record["version"], record["decision"], record["why"]) == (2, "champion", "the newest one wins")


def test_no_fold_is_fitted_again_and_nothing_undeclared_is_written(trained_project, monkeypatch):
    fits = []
    original = models.pipeline

    def counted(*arguments: Any) -> Any:
        fits.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(models, "pipeline", counted)
    before = {path.name for path in Path().iterdir()}
    register.run(NAME, registered.with_candidates("ldep"))
    assert len(fits) == 1
    assert {path.name for path in Path().iterdir()} == before | {"registry"}


def test_a_model_ships_no_code_unless_asked_and_then_only_the_rooms_it_needs(trained_project):
    register.run(NAME, registered.with_candidates("ldep"))
    assert not (registered.stored_files(MODEL, "1") / "code").exists()
    assert register.run(NAME, registered.with_candidates("ldep", ship_code=True))["version"] == 2
    code = registered.stored_files(MODEL, "2") / "code"
    assert {path.name for path in code.iterdir()} == {"ldep", "ldep_pipeline"}
    shipped = {path.parent.relative_to(code / "ldep_pipeline") for path in (code / "ldep_pipeline").rglob("*.py")}
    rooms = {Path(room) for room in mlflow_folder.ROOMS}
    assert {folder for folder in shipped if not rooms & {folder, *folder.parents}} == {Path()}
    assert rooms <= shipped


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"strategy": 1}', b"\xff\xfe"])
def test_a_damaged_encoder_is_named_with_the_command_that_makes_it(trained_project, content):
    path = Path(f"data/imputed/{NAME}.encoder.json")
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"{path} is damaged .*`ldep impute {NAME}`"):
        register.run(NAME, registered.with_candidates("ldep"))
    path.unlink()
    with pytest.raises(UserError, match=rf"{path} is missing; run `ldep impute {NAME}`"):
        register.run(NAME, registered.with_candidates("ldep"))


@pytest.mark.parametrize("file", ["results.csv", "decisions.parquet", "manifest.json"])
@pytest.mark.parametrize("content", [None, b"", b"garbage", b"{}", b"\xff" * 100])
def test_damaged_results_are_named_with_the_command_that_makes_them(trained_project, capsys, file, content):
    path = Path(f"results/{NAME}/{file}")
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert main(["register", NAME]) == 1
    error = capsys.readouterr().err
    assert f"results/{NAME}" in error
    assert f"`ldep train {NAME}`" in error
    assert len(error.splitlines()) == 1


def test_no_pickle_is_stored(trained_project):
    register.run(NAME, registered.with_candidates("ldep"))
    folder = registered.stored_files(MODEL, "1")
    names = [path.name for path in folder.rglob("*") if path.is_file()]
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".joblib", ".cloudpickle"))]
    content = (folder / "data/served/pipeline.skops").read_bytes()
    assert set(skops.io.get_untrusted_types(data=content)) <= set(trusted_types.TYPES)
    assert "pickle" not in (folder / "MLmodel").read_text()


def test_without_results_or_with_no_candidate_the_reason_is_said(trained_project):
    with pytest.raises(UserError, match=r"no candidate \(the list is empty\) has a value of accuracy"):
        register.run(NAME, registered.with_candidates("ldep").model_copy(update={"models": ["linear"]}))
    shutil.rmtree("results")
    with pytest.raises(UserError, match=f"run `ldep train {NAME}` first"):
        register.run(NAME, registered.with_candidates("ldep"))


def test_results_of_other_folds_are_not_registered(trained_project):
    path = Path(f"data/folds/{NAME}.csv")
    folds = pd.read_csv(path)
    folds["fold"] = np.roll(folds["fold"], 1)
    folds.to_csv(path, index=False)
    with pytest.raises(UserError, match=rf"computed from another version of data/folds/{NAME}\.csv"):
        register.run(NAME, registered.with_candidates("ldep"))
    assert not mlflow.MlflowClient().search_registered_models()


def test_without_tracking_the_winner_is_told_and_nothing_registered(trained_project):
    values = registered.with_candidates("ldep").model_copy(update={"tracking": params.Tracking(enabled=False)})
    record = register.run(NAME, values)
    assert (record["model"], record["registered"]) == ("ldep", None)
    assert not mlflow.MlflowClient().search_registered_models()


def test_params_name_what_is_wrong():
    with pytest.raises(UserError, match=r"register\.candidates: 'ldpe' is not one of classifiers; did you mean 'ldep'"):
        tiny.checked(register={"candidates": ["ldpe"]})
    with pytest.raises(UserError, match=r"unknown key 'register\.margn'; did you mean 'margin'"):
        tiny.checked(register={"margn": 0.0})
    with pytest.raises(UserError, match=r"'register\.margin'"):
        tiny.checked(register={"margin": -1.0})


def test_tags_that_somebody_removed_or_rewrote_are_decided_again(trained_project):
    first = register.run(NAME, registered.with_candidates("linear"))
    client = mlflow.MlflowClient()
    client.set_model_version_tag(MODEL, "1", "metric.accuracy", "[")
    second = register.run(NAME, registered.with_candidates("ldep"))
    assert second["why"] == "version 1, the champion, has no accuracy to compare with"
    client.delete_model_version_tag(MODEL, "1", versions.WHY)
    client.set_model_version_tag(MODEL, "1", versions.DECISION, "[")
    again = register.run(NAME, registered.with_candidates("linear"))
    assert (again["version"], again["decision"], again["why"]) == (1, first["decision"], "it is the champion already")
