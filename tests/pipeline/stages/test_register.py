"""Registration: which model, once, which alias, and in which form it is stored."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import logging
import os
import pickle
import py_compile
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import mlflow
import numpy as np
import pytest
import skops.io
import yaml
from sklearn.pipeline import Pipeline

from benchmarks import server
from pipeline.commands import serve
from pipeline.commands.main import main
from pipeline.common.errors import UserError
from pipeline.config import params
from pipeline.execution import results
from pipeline.fitting import models
from pipeline.registry import champion, download, final_model, versions
from pipeline.registry.champion import Measured
from pipeline.serving import calibration, served_model, trusted_types
from pipeline.stages import impute, register, train
from pipeline.tracking import connection, tracker
from tests.support import registered, tiny

ROOT = Path(__file__).parents[3]
NAME = registered.NAME
MODEL = f"ldep-{NAME}"


@pytest.fixture
def project(registered_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy with a registry of its own, in which nothing is registered yet."""
    folder = tmp_path / "project"
    shutil.copytree(registered_project, folder, ignore=shutil.ignore_patterns("*.log", "registry", "mlartifacts"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(folder)
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    client = mlflow.MlflowClient()
    for held in client.search_registered_models():
        client.delete_registered_model(held.name)
    return folder


def all_versions() -> list:
    return sorted(mlflow.MlflowClient().search_model_versions(f"name = '{MODEL}'"), key=lambda held: int(held.version))


def aliases() -> dict[str, str]:
    held = mlflow.MlflowClient().get_registered_model(MODEL).aliases
    return {alias: str(version) for alias, version in held.items()}


def test_a_version_says_where_it_comes_from(project):
    record = register.run(NAME, registered.with_candidates("ldep"))
    assert json.loads((project / f"registry/{NAME}.json").read_text()) == record
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


def test_the_same_model_is_registered_once(project):
    first = register.run(NAME, registered.with_candidates("ldep"))
    assert register.run(NAME, registered.with_candidates("ldep")) == first
    assert len(all_versions()) == 1


def test_after_another_cross_validation_a_version_has_its_numbers(project):
    """The same settings and rows; but the metrics, and the sigmoid, are those of the folds."""
    entry = {**tiny.values()["classifiers"]["ldep"], "search": {"alpha": {"choices": [0.1]}}, "first": []}
    values = {"datasets": [NAME], "own_data": {NAME: {"path": "x.csv", "target": "sold"}}, "models": ["ldep"]}
    works = []
    for trials in (1, 2):
        checked = params.check({**values, "classifiers": {"ldep": {**entry, "trials": trials}}})
        works.append(final_model.plan(NAME, "ldep", checked, Path()))
    assert works[0].settings == works[1].settings
    assert works[0].key != works[1].key


def test_an_infinite_setting_is_registered(project):
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
    assert json.loads((project / f"registry/{NAME}.json").read_text()) == record
    assert download.load(f"models:/{MODEL}@champion").predict(registered.rows(3))


def test_the_champion_moves_when_the_rule_says_so_and_the_rest_challenges(project, caplog):
    caplog.set_level(logging.INFO)
    register.run(NAME, registered.with_candidates("linear"))
    better = register.run(NAME, registered.with_candidates("ldep"))
    assert (better["version"], better["decision"]) == (2, "champion")
    assert "more than the margin 0" in better["why"]
    assert better["why"] in caplog.text
    assert aliases() == {"champion": "2"}
    again = register.run(NAME, registered.with_candidates("linear"))
    assert (again["version"], again["decision"]) == (1, "none")  # nothing new, and so nothing to decide
    assert again["why"].startswith("version 2 is the champion now; what was decided for this one: champion, there was")
    assert f"(linear, registered before) none: {again['why']}." in caplog.text
    assert aliases() == {"champion": "2"}


def test_under_another_rule_a_version_is_decided_again(project):
    register.run(NAME, registered.with_candidates("linear"))
    assert register.run(NAME, registered.with_candidates("ldep", margin=0.5))["decision"] == "challenger"
    record = register.run(NAME, registered.with_candidates("ldep"))
    assert (record["version"], record["decision"]) == (2, "champion")
    assert aliases() == {"champion": "2"}
    record = register.run(NAME, registered.with_candidates("ldep", metric="f1_macro"))
    assert (record["decision"], record["why"]) == ("champion", "it is the champion already")
    record = register.run(NAME, registered.with_candidates("linear", metric="f1_macro"))
    assert record["decision"] == "challenger"
    assert "f1_macro" in record["why"]
    assert aliases() == {"champion": "2", "challenger": "1"}


def test_an_alias_that_somebody_moved_is_said_and_stays(project):
    register.run(NAME, registered.with_candidates("ldep"))
    mlflow.MlflowClient().delete_registered_model_alias(MODEL, "champion")
    record = register.run(NAME, registered.with_candidates("ldep"))
    assert record["decision"] == "none"
    assert record["why"].startswith("no version is the champion now; ")
    assert aliases() == {}


def test_a_margin_keeps_the_champion(project):
    register.run(NAME, registered.with_candidates("linear"))
    record = register.run(NAME, registered.with_candidates("ldep", margin=0.5))
    assert record["decision"] == "challenger"
    assert "not more than the margin 0.5" in record["why"]
    assert aliases() == {"champion": "1", "challenger": "2"}
    forced = register.run(NAME, registered.with_candidates("ldep", margin=0.5), promote=True)
    assert forced["decision"] == "champion"
    assert forced["why"].startswith("asked for by --promote")
    assert aliases() == {"champion": "2"}


def test_the_winner_is_the_best_of_all_candidates_whatever_its_family(project):
    record = register.run(NAME, registered.with_candidates())
    assert record["model"] == "ldep"
    assert list(record["standing"]) == ["ldep", "linear"]


def test_cut_off_before_its_decision_a_version_is_decided_later(project):
    register.run(NAME, registered.with_candidates("ldep"))
    client = mlflow.MlflowClient()
    client.delete_registered_model_alias(MODEL, "champion")
    for tag in (versions.DECISION, versions.RULE):
        client.delete_model_version_tag(MODEL, "1", tag)
    assert register.run(NAME, registered.with_candidates("ldep"))["decision"] == "champion"
    assert aliases() == {"champion": "1"}
    assert len(all_versions()) == 1


def test_cut_off_before_its_version_a_model_is_logged_again_and_not_twice(project):
    register.run(NAME, registered.with_candidates("ldep"))
    client = mlflow.MlflowClient()
    client.delete_registered_model(MODEL)
    key = register.run(NAME, registered.with_candidates("ldep"))["key"]
    experiment = client.get_experiment_by_name("ldep").experiment_id
    ours = f"tags.`{versions.FINAL_KEY}` = '{key}' and tags.`{tracker.OWNER}` = '{connection.owner(project)}'"
    assert len(client.search_logged_models([experiment], ours)) == 1


def test_a_model_that_another_project_is_registering_is_left_alone(project):
    record = register.run(NAME, registered.with_candidates("ldep"))
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("ldep").experiment_id
    theirs = client.create_logged_model(
        experiment, name=MODEL, tags={versions.FINAL_KEY: record["key"], tracker.OWNER: "another"}
    )
    client.delete_registered_model(MODEL)
    register.run(NAME, registered.with_candidates("ldep"))
    assert theirs.model_id in {model.model_id for model in client.search_logged_models([experiment])}


def test_no_pickle_is_stored(project):
    register.run(NAME, registered.with_candidates("ldep"))
    folder = registered.stored(f"models:/{MODEL}@champion")
    names = [path.name for path in folder.rglob("*") if path.is_file()]
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".joblib", ".cloudpickle"))]
    content = (folder / "data/served/pipeline.skops").read_bytes()
    assert set(skops.io.get_untrusted_types(data=content)) <= set(trusted_types.TYPES)
    assert "pickle" not in (folder / "MLmodel").read_text()


def test_a_changed_file_is_refused(project):
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    folder = registered.stored(uri)
    path = folder / "data/served/pipeline.skops"
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(UserError, match="changed after it was registered; it is not loaded"):
        download.load(uri)
    with pytest.raises(mlflow.MlflowException, match="changed after it was registered"):  # in a server, too
        mlflow.pyfunc.load_model(str(folder))


@pytest.mark.parametrize("part", ["data/served/served.json", "code/pipeline/serving/calibration.py"])
def test_a_file_that_was_changed_with_its_checksum_is_refused_too(project, part):
    """By the digest in the store, which whoever writes into the artifact folder does not reach."""
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    folder = registered.stored(uri)
    assert mlflow.pyfunc.load_model(str(folder)).predict(registered.rows(3))
    path = folder / part
    path.write_text(path.read_text() + "\n")
    served_model.load(folder / "data/served")  # nothing here tells it
    with pytest.raises(UserError, match="were changed after it was registered; it is not loaded"):
        download.load(uri)
    for address in (str(folder), uri):
        with pytest.raises(mlflow.MlflowException, match="were changed after it was registered; it is not loaded"):
            mlflow.pyfunc.load_model(address)


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("code-was-run").resolve(),))


def test_a_pickle_that_mlmodel_was_made_to_name_is_refused_and_not_run(project, monkeypatch, capsys):
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    folder = registered.stored(uri)
    (folder / "evil.pkl").write_bytes(pickle.dumps(Bomb()))
    described = yaml.safe_load((folder / "MLmodel").read_text())
    described["flavors"]["python_function"] |= {"loader_module": "mlflow.sklearn", "data": "evil.pkl"}
    (folder / "MLmodel").write_text(yaml.safe_dump(described))
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("the server was started"))
    assert main(["serve", NAME]) == 1
    assert "were changed after it was registered; it is not loaded" in capsys.readouterr().err
    with pytest.raises(UserError, match="were changed after it was registered; it is not loaded"):
        download.load(uri)
    # Nor would the server run it, if it came later.
    monkeypatch.setattr(os, "environ", serve.environment(project))
    with pytest.raises(mlflow.MlflowException, match="is disallowed"):
        mlflow.pyfunc.load_model(uri)
    assert not Path("code-was-run").exists()


@pytest.mark.parametrize("part", ["new.txt", "requirements.txt"])
def test_a_further_file_and_a_changed_one_are_refused(project, part):
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    with (registered.stored(uri) / part).open("a") as file:
        file.write("x")
    with pytest.raises(UserError, match="were changed after it was registered; it is not loaded"):
        download.load(uri)


def test_a_link_is_refused(project, tmp_path):
    """To a package that would be imported in the place of the real one."""
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    folder = registered.stored(uri)
    (tmp_path / "evil").mkdir()
    (folder / "code/yaml").symlink_to(tmp_path / "evil")
    with pytest.raises(mlflow.MlflowException, match="were changed after it was registered; it is not loaded"):
        mlflow.pyfunc.load_model(str(folder))
    with pytest.raises(UserError, match="outside the artifact directory"):
        download.load(uri)


def test_a_download_that_fails_is_said_while_other_files_still_come(project, tmp_path, monkeypatch):
    """MLflow takes the files in several threads, and ends with the first error, not with the last thread."""
    removed = threading.Event()

    def failing(uri: str, dst_path: str) -> str:
        def write_on() -> None:
            number = 0
            while not removed.is_set():
                folder = Path(dst_path, "code")
                folder.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileNotFoundError):  # the folder has just been removed
                    Path(folder, str(number)).touch()
                number += 1

        threading.Thread(target=write_on, daemon=True).start()
        time.sleep(0.1)
        raise mlflow.MlflowException("the disk of the server is gone")

    monkeypatch.setattr(mlflow.artifacts, "download_artifacts", failing)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    try:
        with pytest.raises(UserError, match=r"there is no model .*the disk of the server is gone"):
            download.load(f"models:/{MODEL}@champion")
    finally:
        removed.set()


def test_bytecode_beside_the_code_is_neither_sealed_nor_read_by_the_server(project):
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    code = registered.stored(uri) / "code"
    source = code / "pipeline/serving/trusted_types.py"
    evil = project / "evil.py"
    evil.write_text("raise SystemExit('the bytecode was run')")
    # Python takes such a file without a look at the source.
    py_compile.compile(
        str(evil),
        importlib.util.cache_from_source(str(source)),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    download.load(uri)
    load = [sys.executable, "-c", "import pipeline.serving.trusted_types as it; print(it.__file__)"]
    taken = {"PYTHONPATH": str(code)}
    harmed = subprocess.run(load, env={**os.environ, **taken}, capture_output=True, text=True, check=False)
    assert harmed.stderr == "the bytecode was run\n"
    safe = subprocess.run(load, env={**serve.environment(), **taken}, capture_output=True, text=True, check=False)
    assert safe.stdout == f"{source}\n", safe.stderr


def test_by_a_server_a_model_passes_a_changed_one_does_not_and_no_download_is_left(project, tmp_path, monkeypatch):
    values = registered.with_candidates("ldep")
    values = values.model_copy(update={"tracking": params.Tracking(experiment="by-a-server")})
    port, uri = server.free_port(), f"models:/{MODEL}@champion"
    command = ["server", "--backend-store-uri", f"sqlite:///{project}/mlflow.db", "--artifacts-destination", "held"]
    with server.started(project, port, dict(os.environ), *command, "--workers", "1", "--port", str(port)) as (url, _):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
        (tmp_path / "scratch").mkdir()
        register.run(NAME, values)
        assert download.load(uri).predict(registered.rows(3))
        (held,) = (project / "held").rglob("MLmodel")
        held.write_text(held.read_text() + "\n")
        with pytest.raises(UserError, match="were changed after it was registered; it is not loaded"):
            download.load(uri)
        assert not list((tmp_path / "scratch").iterdir())


def test_a_copy_of_a_model_loads_where_its_store_is_not(project, tmp_path, caplog):
    register.run(NAME, registered.with_candidates("ldep"))
    shutil.copytree(registered.stored(f"models:/{MODEL}@champion"), tmp_path / "copy")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/none.db")
    assert mlflow.pyfunc.load_model(str(tmp_path / "copy")).predict(registered.rows(3))
    assert not (tmp_path / "none.db").exists()
    mlflow.set_tracking_uri("http://127.0.0.1:9")
    assert mlflow.pyfunc.load_model(str(tmp_path / "copy")).predict(registered.rows(3))
    assert "cannot be told" in caplog.text


def test_a_type_that_is_not_on_the_list_is_neither_stored_nor_loaded(project, tmp_path):
    model = tiny.FailsOnFold().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ValueError, match=r"tests\.pipeline\.tiny\.FailsOnFold, not on the list"):
        model.save(tmp_path, model, None)
    content = skops.io.dumps(model)
    (tmp_path / model.PIPELINE).write_bytes(content)
    facts = {"sha256": hashlib.sha256(content).hexdigest(), "sigmoid": None}
    (tmp_path / model.FACTS).write_text(json.dumps(facts))
    with pytest.raises(mlflow.MlflowException, match="FailsOnFold"):
        model.load(tmp_path)


def test_without_results_or_with_no_candidate_the_reason_is_said(project):
    with pytest.raises(UserError, match=r"none of the candidates \(none\) has a accuracy"):
        register.run(NAME, registered.with_candidates("ldep").model_copy(update={"models": ["linear"]}))
    shutil.rmtree("results")
    with pytest.raises(UserError, match=f"run `ldep train {NAME}` first"):
        register.run(NAME, registered.with_candidates("ldep"))


def test_without_tracking_the_winner_is_told_and_nothing_registered(project):
    values = registered.with_candidates("ldep").model_copy(update={"tracking": params.Tracking(enabled=False)})
    record = register.run(NAME, values)
    assert (record["model"], record["registered"]) == ("ldep", None)
    assert not mlflow.MlflowClient().search_registered_models()


def test_a_tuned_winner_and_a_committee_take_the_settings_of_a_study_of_all_rows(project):
    tuned = tiny.values()["classifiers"]
    entries = {"linear": registered.CLASSIFIERS["linear"], "ldep": {**tuned["ldep"], "trials": 2}}
    values = {"datasets": [NAME], "own_data": {NAME: {"path": "x.csv", "target": "sold"}}}
    values |= {"models": ["committee"], "classifiers": {**entries, "committee": tuned["committee"]}}
    checked = params.check({**values, "execution": {"n_jobs": 1}})
    work = final_model.plan(NAME, "committee", checked, Path())
    chosen = json.loads(Path(f"tuned/{NAME}.ldep.json").read_text())["chosen"]
    assert chosen.items() <= work.settings["estimator"]["params"].items()


def test_params_name_what_is_wrong():
    with pytest.raises(UserError, match=r"register\.candidates: 'ldpe' is not one of classifiers; did you mean 'ldep'"):
        tiny.checked(register={"candidates": ["ldpe"]})
    with pytest.raises(UserError, match=r"unknown key 'register\.metrc'; did you mean 'metric'"):
        tiny.checked(register={"metrc": "accuracy"})
    with pytest.raises(UserError, match=r"'register\.margin'"):
        tiny.checked(register={"margin": -1.0})


@pytest.mark.parametrize(
    ("new", "old", "promoted", "why"),
    [
        (0.9, None, True, "there was no champion"),
        (0.9, Measured("1", 0.8, "d"), True, "better by 0.1000, more than the margin 0.05"),
        (0.84, Measured("1", 0.8, "d"), False, "not more than the margin 0.05"),
        (0.7, Measured("1", 0.8, "d"), False, "-0.1000"),
        (0.9, Measured("1", 0.8, "other"), False, "measured on other data or folds"),
        (0.9, Measured("1", None, "d"), False, "has no accuracy to compare with"),
    ],
)
def test_the_rule(new, old, promoted, why):
    decision = champion.decide(Measured("2", new, "d"), old, params.Register(margin=0.05))
    assert decision.promoted is promoted
    assert why in decision.why


def test_a_probability_is_what_happens():
    rng = np.random.default_rng(0)
    decision = rng.normal(size=20_000) * 7
    truth = rng.random(20_000) < 1 / (1 + np.exp(-(0.4 * decision - 1)))
    fitted = calibration.fit(decision, truth)
    # Standard errors at 20,000 rows: 0.007 and 0.025; three of them.
    assert fitted.slope == pytest.approx(0.4, abs=0.02)
    assert fitted.offset == pytest.approx(-1, abs=0.08)


def test_a_probability_stays_finite_when_the_classes_are_apart():
    fitted = calibration.fit(np.array([-1.0, -1.0, 1.0, 1.0]), np.array([False, False, True, True]))
    assert np.isfinite([*fitted]).all()
    assert 0 < fitted(np.array([-1.0]))[0] < 0.5


def test_missing_folds_of_a_metric_disqualify(project):
    table = results.read(NAME)
    table.loc[(table["model"] == "ldep") & (table["fold"] == 1), "value"] = np.nan
    assert final_model.winner(NAME, table, registered.with_candidates()).model == "linear"


@pytest.mark.parametrize("model", params.load(ROOT / "params.yaml").models)
def test_every_model_of_the_default_suite_can_be_stored_and_answers_the_same(model, tmp_path):
    values = params.load(ROOT / "params.yaml")
    frame = registered.rows(60).astype({"grade": "category", "colour": "category"})
    numbers, encoder = impute.impute(frame)
    chosen = {name: 2 for name in ("r1", "r2") if model.startswith("ldep")}
    settings = models.settings_for(model, values.classifiers, chosen, 60, 4)
    pipe = models.pipeline(values.classifiers[model], settings, values.impute, 0)
    pipe.fit(numbers.iloc[:, :-1].to_numpy(), frame["sold"].to_numpy(dtype=str))
    whole = Pipeline([("encode", encoder), *pipe.steps])
    model.save(tmp_path, whole, calibration.Sigmoid(1.0, 0.0))
    loaded = model.load(tmp_path)
    made = model.ServedModel(whole, calibration.Sigmoid(1.0, 0.0))
    assert loaded.predict(frame, {"output": "full"}) == made.predict(frame, {"output": "full"})
