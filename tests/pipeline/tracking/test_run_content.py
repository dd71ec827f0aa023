"""What a run contains: description, metrics, parameters, its data set, pictures and the fitted pipeline."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import mlflow
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import results
from ldep_pipeline.stages import train
from ldep_pipeline.tracking import artifacts, run_content
from tests.support import tiny, tracked


def test_one_run_per_model_with_a_name_and_tags(client):
    by_model = tracked.runs(client)
    assert set(by_model) == {"svc", "ldep", "ldep_cv", "bad"}
    run = by_model["ldep"]
    assert run.info.run_name == "tiny · ldep"
    assert run.info.status == "FINISHED"
    for tag, value in {"dataset": "tiny", "model": "ldep", "source": "file", "dvc.stage": "train@tiny"}.items():
        assert run.data.tags[tag] == value
    assert run.data.tags["commit"]
    assert run.data.tags["dvc.md5.folds"] == hashlib.md5(Path("data/folds/tiny.csv").read_bytes()).hexdigest()
    assert len(run.data.tags["ldep.key"]) == 64
    assert run.data.tags["mlflow.source.name"] == "ldep train tiny"


def test_the_text_of_a_run_says_what_was_measured_and_what_the_folds_chose(client):
    text = tracked.runs(client)["ldep"].data.tags["mlflow.note.content"]
    assert "91 rows, 2 features" in text
    table = results.read("tiny").query("model == 'ldep' and metric == 'accuracy'")
    assert f"`accuracy` **{100 * table['value'].mean():.1f} ± {100 * table['value'].std(ddof=1):.1f} %**" in text
    for _, row in table.iterrows():
        line = next(line for line in text.splitlines() if line.startswith(f"| {row['fold']} |"))
        assert f"{row['value']:.4f}" in line
        assert f"{json.loads(row['settings'])['alpha']:.4g}" in line


def test_the_duration_of_a_run_is_that_of_tuning_fitting_and_predicting(client):
    table = results.read("tiny").query("model == 'ldep' and metric == 'accuracy'")
    info = tracked.runs(client)["ldep"].info
    work = table[["tune_seconds", "fit_seconds", "predict_seconds"]].to_numpy().sum()
    writing = 30  # seconds, at most
    assert work <= (info.end_time - info.start_time) / 1000 + 0.01 < work + writing


def test_the_numbers_are_those_of_the_table(client):
    table = results.read("tiny").query("model == 'ldep'")
    run = tracked.runs(client)["ldep"]
    for metric, values in table.dropna(subset="value").groupby("metric")["value"]:
        assert run.data.metrics[metric] == round(values.mean(), 4)
        assert run.data.metrics[f"{metric}_std"] == pytest.approx(values.std(ddof=1), abs=1e-4)
        steps = client.get_metric_history(run.info.run_id, f"fold/{metric}")
        assert [(step.step, step.value) for step in sorted(steps, key=lambda s: s.step)] == list(enumerate(values))
    assert run.data.metrics["f1_micro"] == run.data.metrics["accuracy"]
    for name in ("fit_seconds", "fit_cpu_seconds", "predict_seconds", "objective", "iterations", "tune_seconds"):
        assert run.data.metrics[name] > 0
    curve = client.get_metric_history(run.info.run_id, "curve/objective")
    assert 1 < len(curve) <= 40


def chosen_by_fold(name: str) -> list:
    table = results.read("tiny").query("model == 'ldep' and metric == 'accuracy'").sort_values("fold")
    return [json.loads(settings)[name] for settings in table["settings"]]


def test_a_setting_is_one_parameter_and_a_number_is_the_median_of_the_folds(client):
    parameters = tracked.runs(client)["ldep"].data.params
    assert parameters["n_init"] == "1"
    for name in ("r1", "r2", "alpha"):
        assert float(parameters[name]) == np.median(chosen_by_fold(name))  # of three folds


def test_the_settings_of_all_folds_are_a_table(client):
    run = tracked.runs(client)["ldep"]
    table = client.load_table(run.info.experiment_id, "settings.json", run_ids=[run.info.run_id])
    assert table["fold"].tolist() == [0, 1, 2]
    for name in ("r1", "r2", "alpha"):
        np.testing.assert_allclose(table[name], chosen_by_fold(name), rtol=1e-6)  # MLflow's table has ten decimals
    expected = results.read("tiny").query("model == 'ldep' and metric == 'accuracy'").sort_values("fold")["value"]
    np.testing.assert_allclose(table["accuracy"], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("values", "typical"),
    [
        ([3, 1, 2], 2),
        ([4, 1, 2, 3], 2),  # the lower of two: a value that a fold chose
        ([0.1, 100.0], 0.1),
        (["norm", "variance", "norm"], "norm"),
        (["b", "a"], "b"),  # equally frequent: the first
        ([None, "balanced", None], None),
        ([True, False, True], True),
        (["sqrt", 0.3, 0.3], 0.3),
        ([[50], [100], [100]], [100]),
    ],
)
def test_the_typical_value_of_a_setting(values, typical):
    assert run_content.typical(values) == typical


def test_data_set_and_model_are_parameters_for_the_compare_page(client):
    for model, run in tracked.runs(client).items():
        assert (run.data.params["classifier"], run.data.params["dataset"]) == (model, "tiny")


def test_the_data_set_is_an_input_with_its_digest(client):
    inputs = tracked.runs(client)["svc"].inputs.dataset_inputs
    assert [entry.dataset.name for entry in inputs] == ["tiny"]
    assert len(inputs[0].dataset.digest) == 8
    assert json.loads(inputs[0].dataset.profile) == {"num_rows": 91, "num_elements": 182}


def test_pictures_and_journals_are_artifacts(client):
    runs = tracked.runs(client)
    names = {item.path for item in client.list_artifacts(runs["svc"].info.run_id)}
    assert {"confusion.png", "boundary.png"} <= names
    study = {Path(item.path).name for item in client.list_artifacts(runs["ldep"].info.run_id, "optuna")}
    assert study >= {"history.png", "fold0.journal", "fold1.journal", "fold2.journal"}
    assert "optuna" not in {Path(item.path).name for item in client.list_artifacts(runs["ldep_cv"].info.run_id)}


def test_a_model_that_failed_on_a_fold_is_a_failed_run_with_its_message(client):
    run = tracked.runs(client)["bad"]
    assert run.info.status == "FAILED"
    assert run.data.metrics["failed_folds"] == 1
    assert "60 rows are too many" in run.data.tags["mlflow.note.content"]


@pytest.mark.parametrize("model", ["svc", "ldep", "ldep_cv"])
def test_the_fitted_pipeline_loads_and_predicts_by_column_name(client, root, model):
    output = tracked.runs(client)[model].outputs.model_outputs[0]
    logged = client.get_logged_model(output.model_id)
    assert logged.name == f"tiny-{model}"
    loaded = mlflow.pyfunc.load_model(f"models:/{logged.model_id}")
    assert [column.name for column in loaded.metadata.get_input_schema()] == tiny.COLUMNS
    assert loaded.input_example is not None
    frame = pd.read_parquet("data/imputed/tiny.parquet")
    fold = pd.read_csv("data/folds/tiny.csv")["fold"] == 0
    predicted = loaded.predict(frame.loc[fold, tiny.COLUMNS[::-1]])
    accuracy = results.read("tiny").query(f"model == '{model}' and fold == 0 and metric == 'accuracy'")["value"].item()
    assert np.mean(predicted == frame.loc[fold, "label"].astype(str)) == accuracy


def test_a_model_that_skops_cannot_store_is_a_warning_and_others_of_its_class_are_logged(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    tiny.prepare(tmp_path)
    mlp = {"class": "sklearn.neural_network.MLPClassifier", "params": {"hidden_layer_sizes": [2], "max_iter": 5}}
    classifiers = {
        "first": {**mlp, "params": {**mlp["params"], "solver": "lbfgs"}},
        "second": {**mlp, "params": {**mlp["params"], "solver": "adam"}},  # holds its optimizer
        "odd": {"class": "tests.support.tiny.Unstorable"},
    }
    values = tiny.checked(models=list(classifiers), classifiers=classifiers, tracking={"experiment": "suite"})
    train.run("tiny", values, tmp_path)
    table = results.read("tiny", tmp_path / "results").query("model == 'odd' and fold == 0")
    assert set(table["message"]) == {"no model kept: TypeError: it holds a generator"}
    runs = tracked.runs(mlflow.MlflowClient())
    assert {model: len(run.outputs.model_outputs) for model, run in runs.items()} == {"first": 1, "second": 1, "odd": 0}
    assert {run.info.status for run in runs.values()} == {"FINISHED"}


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("code-was-run").resolve(),))


def test_a_pipeline_that_holds_functions_is_not_run_to_be_logged(client, root, caplog):
    """numpy.load unpickles: as a step of a pipeline in the store it would run any code."""
    rows = load_training_data("tiny", root / "data")
    scaled = StandardScaler().fit(rows.X)
    as_text = FunctionTransformer(np.array2string, kw_args={"threshold": 0, "edgeitems": 1})
    name = as_text.transform(scaled.transform(rows.X[: artifacts.EXAMPLE_ROWS]))
    (root / name).write_bytes(pickle.dumps(Bomb()))
    read = FunctionTransformer(np.load, kw_args={"allow_pickle": True})
    pipe = Pipeline([("scale", scaled), ("text", as_text), ("read", read), ("svc", SVC())])
    mark = root / "code-was-run"
    pipe[:-1].transform(rows.X[: artifacts.EXAMPLE_ROWS])
    mark.unlink()  # so it does run code
    run = tracked.runs(client)["svc"]
    fit = SimpleNamespace(dataset="tiny", model="svc")
    assert artifacts.log_model(client, run, fit, skops.io.dumps(pipe), rows) is None
    assert not mark.exists()
    assert "svc is not logged as a model: it holds numpy.array2string, numpy.load" in caplog.text


def test_a_pickle_in_the_place_of_a_stored_pipeline_is_not_logged(client, root, caplog):
    rows = load_training_data("tiny", root / "data")
    run, fit = tracked.runs(client)["svc"], SimpleNamespace(dataset="tiny", model="svc")
    assert artifacts.log_model(client, run, fit, pickle.dumps(Bomb()), rows) is None
    assert "svc is not logged as a model: its file in the store cannot be read" in caplog.text


def test_a_logged_model_names_the_versions_it_was_made_with(client):
    [logged] = client.search_logged_models(["1"], filter_string="name = 'tiny-svc'")
    needed = mlflow.artifacts.load_text(f"{logged.artifact_location}/requirements.txt").split()
    assert {f"{name}=={metadata.version(name)}" for name in ("mlflow", "scikit-learn", "skops")} <= set(needed)


def test_a_logged_model_carries_its_code(client, root, tmp_path):
    """Loaded where ldep cannot be imported otherwise."""
    output = tracked.runs(client)["ldep"].outputs.model_outputs[0]
    source = client.get_logged_model(output.model_id).artifact_location.removeprefix("file://")
    shutil.copytree(source, tmp_path / "model")
    code = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
sys.path = [path for path in sys.path if "editable" not in path.lower()]
import mlflow, pandas as pd
model = mlflow.pyfunc.load_model("model")
import ldep
assert "/model/code/" in ldep.__file__, ldep.__file__
print(model.predict(pd.DataFrame({"left": [0.0], "right": [1.0]}))[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("yes", "no")
