"""The stage train on a small set: what it computes, what it reuses, and what it says when something is wrong."""

from __future__ import annotations

import datetime
import importlib
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
from scipy.special import logit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tqdm import tqdm

from ldep_pipeline.commands import stages as commands
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import Split, check
from ldep_pipeline.data import folds
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.data.stage_files import Provenance, SplitColumn
from ldep_pipeline.execution import plan, results, training_progress
from ldep_pipeline.execution.model_check import check_models
from ldep_pipeline.fitting.training_data import Partition
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.stages import split, train
from tests.support import tiny

TIMES = [column for column in results.COLUMNS if column.endswith("seconds")]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LDEP_N_JOBS", raising=False)
    return tmp_path


def numbers(root: Path) -> pd.DataFrame:
    return results.read("tiny", root / "results").drop(columns=TIMES)


def stored(root: Path) -> dict[str, float]:
    return {path.name: path.stat().st_mtime_ns for path in (root / ".ldep/fits").rglob("*.json")}


def test_the_table_has_a_row_for_each_model_fold_and_metric(root):
    train.run("tiny", tiny.checked())
    table = results.read("tiny")
    assert list(table.columns) == results.COLUMNS
    assert len(table) == 3 * 3 * len(METRICS)
    assert set(table["metric"]) == set(METRICS)
    assert table.loc[table["metric"] == "accuracy", "value"].between(0, 1).all()
    assert (table["status"] == "ok").all()
    assert (table[["fit_seconds", "fit_cpu_seconds", "predict_seconds"]] > 0).all(axis=None)
    assert set(table.loc[table["model"] == "ldep", "trials"]) == {3}


def test_a_models_scores_are_those_of_scikit_learn(root):
    train.run("tiny", tiny.checked(models=["svc"]))
    frame = pd.read_parquet("data/imputed/tiny.parquet")
    fold = pd.read_csv("data/folds/tiny.csv")["fold"].to_numpy()
    X, y = frame[tiny.COLUMNS], frame["label"].astype(str)
    table = results.read("tiny")
    for number in range(3):
        pipe = make_pipeline(StandardScaler(), SVC()).fit(X[fold != number], y[fold != number])
        mine = table.query(f"fold == {number} and metric == 'accuracy'")["value"].item()
        assert mine == pipe.score(X[fold == number], y[fold == number])


def test_the_decision_values_of_rows_that_a_fit_had_not_seen_are_kept(root):
    classifiers = {
        "svc": {"class": "sklearn.svm.SVC"},
        "bayes": {"class": "sklearn.naive_bayes.GaussianNB"},
        "constant": {"class": "tests.support.tiny.FailsOnFold"},  # has neither a decision function nor probabilities
    }
    train.run("tiny", tiny.checked(models=list(classifiers), classifiers=classifiers))
    written = (root / "results/tiny/decisions.parquet").read_bytes()
    values = results.read_decisions("tiny")
    assert list(values.columns) == ["svc", "bayes"]
    data = load_training_data("tiny")
    for number in range(3):
        train_rows, test_rows = data.train_rows(number), data.test_rows(number)
        pipe = make_pipeline(StandardScaler(), SVC()).fit(data.X[train_rows], data.y[train_rows])
        np.testing.assert_array_equal(values["svc"][test_rows], pipe.decision_function(data.X[test_rows]))
        pipe = make_pipeline(StandardScaler(), GaussianNB()).fit(data.X[train_rows], data.y[train_rows])
        expected = logit(pipe.predict_proba(data.X[test_rows])[:, 1])
        np.testing.assert_allclose(values["bayes"][test_rows], expected, rtol=1e-9)
    (root / "results/tiny/decisions.parquet").unlink()
    train.run("tiny", tiny.checked(models=list(classifiers), classifiers=classifiers))  # all from the store
    assert (root / "results/tiny/decisions.parquet").read_bytes() == written


def test_a_model_that_failed_on_a_fold_has_no_decision_values(root):
    tiny.prepare(root, rows=91)  # folds of 31, 30 and 30 rows: training parts of 60, 61 and 61
    classifiers = {"bad": {"class": "tests.support.tiny.FailsOnFold", "params": {"rows": 60}}}
    with pytest.raises(train.ModelsFailed):
        train.run("tiny", tiny.checked(models=["bad"], classifiers=classifiers))
    assert list(results.read_decisions("tiny").columns) == []


@pytest.mark.parametrize("damage", ["missing", "empty", "cut"])
def test_lost_decision_values_of_a_stored_fit_are_computed_again(root, damage):
    train.run("tiny", tiny.checked(models=["svc"]))
    written = (root / "results/tiny/decisions.parquet").read_bytes()
    path = next((root / ".ldep/fits").rglob("*.npy"))
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"" if damage == "empty" else content[: len(content) // 2])
    train.run("tiny", tiny.checked(models=["svc"]))
    assert path.read_bytes() == content
    assert (root / "results/tiny/decisions.parquet").read_bytes() == written


def test_a_fit_gets_its_rows_in_the_layout_of_the_array(root):
    """In the other one a linear SVC on kr-vs-kp has 96.9 %, not the paper's 96.8: sums differ in the last bit."""
    rows = load_training_data("tiny")
    frame = rows.frame(rows.train_rows(0))
    assert list(frame.columns) == tiny.COLUMNS
    np.testing.assert_array_equal(frame.to_numpy(), rows.X[rows.train_rows(0)])
    assert frame.to_numpy().flags.c_contiguous


def test_the_numbers_do_not_depend_on_the_number_of_processes(root, monkeypatch):
    train.run("tiny", tiny.checked())
    alone, boundaries = numbers(root), (root / "results/tiny/boundaries.json").read_bytes()
    (root / ".ldep").rename(root / "aside")
    monkeypatch.setenv("LDEP_N_JOBS", "2")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    train.run("tiny", tiny.checked())
    pd.testing.assert_frame_equal(numbers(root), alone)
    assert (root / "results/tiny/boundaries.json").read_bytes() == boundaries
    assert "OMP_NUM_THREADS" not in os.environ


def test_boundaries_are_in_the_order_of_the_models(root):
    made = plan.make("tiny", tiny.checked(models=["svc", "ldep"]), Partition(np.zeros((90, 1), dtype=int)))
    record = {"settings": {}, "solver": None, "status": "ok", "message": "", "tuning": {}, "metrics": {"accuracy": 1.0}}
    records = {(model, 0): {**record, "boundary": {"x": [], "y": [], "value": []}} for model in ("ldep", "svc")}
    results.write(made, records, results.tidy(made, records, "file"), pd.DataFrame(index=range(90)))
    assert list(json.loads((root / "results/tiny/boundaries.json").read_text())) == ["svc", "ldep"]


def test_the_bars_of_the_models_are_below_the_bar_of_the_data_sets(root):
    made = plan.make("tiny", tiny.checked(), folds.read("tiny"))
    with tqdm(total=2) as outer:
        shown = training_progress.TerminalProgress(made, training_progress.RemainingWork(made, 2, 1))
        places = [abs(bar.pos) for bar in (outer, *shown.bars.values(), shown.total)]
        shown.close()
    assert places == [0, 1, 2, 3, 4]


def test_repeats_add_folds_and_leave_the_first_ones(root):
    train.run("tiny", tiny.checked(models=["svc"]))
    once, decisions, before = results.read("tiny"), results.read_decisions("tiny"), stored(root)
    tiny.prepare(root, repeats=3)
    train.run("tiny", tiny.checked(models=["svc"]))
    table = results.read("tiny")
    assert sorted(table["fold"].unique()) == list(range(9))
    pd.testing.assert_frame_equal(table[table["fold"] < 3].reset_index(drop=True), once)  # the stored fits
    assert {name: stored(root)[name] for name in before} == before
    pd.testing.assert_frame_equal(results.read_decisions("tiny"), decisions)  # of the first repeat
    means = json.loads((root / "metrics/sets/tiny.json").read_text())
    assert means["svc"] == round(table.query("metric == 'accuracy'")["value"].mean(), 6)


@pytest.mark.parametrize("kind", ["group", "time"])
def test_training_by_groups_or_by_time(root, kind):
    """The tuned model and the one that tunes itself get inner folds of the same kind."""
    target = pd.read_parquet("data/imputed/tiny.parquet")["label"]
    column = SplitColumn(kind, "column", np.random.default_rng(0).permutation(np.arange(90) // 3))
    folds.write("tiny", split.assign(target, Split(folds=3), column))
    classifiers = {**tiny.values()["classifiers"], "ensembled": {"ensemble": "ldep"}}
    train.run("tiny", tiny.checked(models=list(classifiers), classifiers=classifiers))
    assert (results.read("tiny")["status"] == "ok").all()
    decisions, partition = results.read_decisions("tiny"), load_training_data("tiny").partition
    assert (decisions.notna().all(axis=1) == (partition.test_fold[:, 0] >= 0)).all()
    assert commands.tune_model("tiny", "ldep", tiny.checked())


def test_a_second_run_fits_nothing_and_writes_the_same_bytes(root):
    train.run("tiny", tiny.checked())
    before, table = stored(root), (root / "results/tiny/results.csv").read_bytes()
    train.run("tiny", tiny.checked())
    assert stored(root) == before
    assert (root / "results/tiny/results.csv").read_bytes() == table


def test_changing_one_model_fits_no_other(root):
    train.run("tiny", tiny.checked())
    before, first = stored(root), numbers(root)
    values = tiny.values()
    values["classifiers"]["svc"]["params"] = {"C": 10.0}
    train.run("tiny", check(values))
    assert len(set(stored(root)) - set(before)) == 3  # the folds of svc
    assert {name: stored(root)[name] for name in before} == before
    unchanged = first["model"] != "svc"
    pd.testing.assert_frame_equal(numbers(root)[unchanged], first[unchanged])


def test_with_more_trials_a_study_continues(root):
    train.run("tiny", tiny.checked(models=["ldep"]))
    journals = {path: path.read_bytes() for path in (root / ".ldep/studies").iterdir()}
    values = tiny.values(models=["ldep"])
    values["classifiers"]["ldep"]["trials"] = 5
    train.run("tiny", check(values))
    for path, content in journals.items():
        assert path.read_bytes().startswith(content)
    assert set(results.read("tiny")["trials"]) == {5}


def test_a_self_tuning_model_uses_one_process_and_the_same_numbers_whatever_its_n_jobs(root):
    entry = tiny.values()["classifiers"]["ldep_cv"]
    parallel = {**entry, "params": {**entry["params"], "n_jobs": 2, "random_state": 0}}
    alone = {**entry, "params": {**entry["params"], "random_state": 0}}
    before = set(psutil.Process().children(recursive=True))
    train.run("tiny", tiny.checked(models=["a", "b"], classifiers={"a": parallel, "b": alone}))
    assert set(psutil.Process().children(recursive=True)) <= before
    values = results.read("tiny").dropna(subset="value").groupby("model", sort=False)["value"].apply(list)
    assert values["a"] == values["b"]


def test_exact_ccp_within_the_budget_and_the_other_solver_beyond(root):
    entry = {
        "class": "ldep.LDEPClassifier",
        "params": {"r1": 2, "r2": 2, "loss": "hinge", "alpha": 0.0, "solver": "ccp", "solver_options": {"n_kicks": 0}},
        "budget": {"seconds": 10.0, "instead": {"solver": "anneal", "solver_options": None}},
    }
    train.run("tiny", tiny.checked(models=["paper"], classifiers={"paper": entry}))
    assert set(results.read("tiny")["solver"]) == {"ccp"}
    entry["budget"]["seconds"] = 1e-6
    train.run("tiny", tiny.checked(models=["paper"], classifiers={"paper": entry}))
    assert set(results.read("tiny")["solver"]) == {"anneal"}


def test_any_scikit_learn_classifier_is_an_entry(root):
    classifiers = {
        "bayes": {"class": "sklearn.naive_bayes.GaussianNB"},
        "bag": {
            "class": "sklearn.ensemble.BaggingClassifier",
            "params": {"estimator": {"class": "sklearn.tree.DecisionTreeClassifier", "params": {"max_depth": 2}}},
            "search": {"n_estimators": {"low": 2, "high": 6}, "bootstrap": {"choices": [True, False]}},
            "trials": 3,
        },
    }
    train.run("tiny", tiny.checked(models=["bayes", "bag"], classifiers=classifiers))
    table = results.read("tiny")
    assert (table["status"] == "ok").all()
    settings = json.loads(table.query("model == 'bag'")["settings"].iloc[0])
    assert 2 <= settings["n_estimators"] <= 6
    assert isinstance(settings["bootstrap"], bool)


def test_with_scope_fold_each_training_fold_fits_its_imputer(root):
    tiny.prepare(root, missing=True)
    train.run("tiny", tiny.checked(impute={"scope": "fold"}))
    assert (results.read("tiny")["status"] == "ok").all()


def test_a_model_that_fails_on_a_fold_is_recorded_and_the_others_go_on(root, capsys):
    tiny.prepare(root, rows=91)  # folds of 31, 30 and 30 rows: training parts of 60, 61 and 61
    classifiers = {
        "bad": {"class": "tests.support.tiny.FailsOnFold", "params": {"rows": 60}},
        "svc": {"class": "sklearn.svm.SVC"},
    }
    params = tiny.checked(models=["bad", "svc"], classifiers=classifiers)
    with pytest.raises(train.ModelsFailed, match=r"1 of 6 fits failed.*\n.*RuntimeError: 60 rows are too many"):
        train.run("tiny", params)
    table = results.read("tiny").query("metric == 'accuracy'")
    assert table["status"].tolist().count("failed") == 1
    assert table.query("status == 'failed'")["message"].item() == "RuntimeError: 60 rows are too many"
    assert len(table.query("status == 'ok'")) == 5
    # A mean over the other two would look like any other.
    assert set(json.loads((root / "metrics/sets/tiny.json").read_text())) == {"svc"}
    before = stored(root)
    with pytest.raises(train.ModelsFailed):
        train.run("tiny", params)  # tried again, and only that
    assert stored(root) == before


def test_what_a_model_cannot_do_besides_predicting_is_reported_and_loses_no_fit(root, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    classifiers = {"unkept": {"class": "tests.support.tiny.Unkept"}, "svc": {"class": "sklearn.svm.SVC"}}
    train.run("tiny", tiny.checked(models=["unkept", "svc"], classifiers=classifiers, tracking={}))
    table = results.read("tiny").query("model == 'unkept'")
    assert (table["status"] == "ok").all()
    assert table.query("metric != 'cost'")["value"].notna().all()
    message = table.query("fold == 0")["message"].iloc[0]
    assert "no boundary: MemoryError: too many rows" in message
    assert "no model kept: " in message
    assert list(json.loads((root / "results/tiny/boundaries.json").read_text())) == ["svc"]


def test_attributes_that_are_no_numbers_are_left_out(root):
    train.run("tiny", tiny.checked(models=["odd"], classifiers={"odd": {"class": "tests.support.tiny.Odd"}}))
    table = results.read("tiny")
    assert (table["status"] == "ok").all()
    assert table[["objective", "iterations"]].isna().all(axis=None)
    assert pd.read_csv("results/tiny/curves.csv").empty


def test_a_member_needs_no_parameters(root):
    entry = {"class": "sklearn.ensemble.BaggingClassifier", "params": {"estimator": {"class": "sklearn.svm.SVC"}}}
    train.run("tiny", tiny.checked(models=["bag"], classifiers={"bag": entry}))
    assert (results.read("tiny")["status"] == "ok").all()


def test_a_setting_may_be_infinite(root, monkeypatch):
    """No penalty, in scikit-learn's words: C = inf."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    logistic = {"class": "sklearn.linear_model.LogisticRegression"}
    classifiers = {
        "fixed": {**logistic, "params": {"C": float("inf")}},
        "searched": {**logistic, "search": {"C": {"choices": [float("inf")]}}, "trials": 2},
    }
    params = tiny.checked(models=["fixed", "searched"], classifiers=classifiers, tracking={})
    for _ in range(2):  # fitted, and from the store
        train.run("tiny", params)
        table = results.read("tiny")
        assert (table["status"] == "ok").all()
        assert {json.loads(text)["C"] for text in table["settings"]} == {float("inf")}
    assert len(table) == len(results.read("tiny"))
    assert commands.tune_model("tiny", "searched", params)["chosen"] == {"C": float("inf")}
    assert json.loads((root / "tuned/tiny.searched.json").read_text())["chosen"] == {"C": float("inf")}


def test_a_search_that_never_succeeds_says_why(root):
    classifiers = {
        "bad": {
            "class": "tests.support.tiny.FailsOnFold",
            "params": {"rows": 40},
            "search": {"rows": {"choices": [40]}},
            "trials": 2,
        },
    }
    with pytest.raises(train.ModelsFailed, match="no trial of 2 succeeded; the last: RuntimeError: 40 rows"):
        train.run("tiny", tiny.checked(models=["bad"], classifiers=classifiers))


def test_a_killed_worker_is_reported_and_finished_work_is_kept(root, monkeypatch):
    monkeypatch.setenv("LDEP_N_JOBS", "2")
    classifiers = {"svc": {"class": "sklearn.svm.SVC"}, "killed": {"class": "tests.support.tiny.Killed"}}
    with pytest.raises(UserError, match=r"a worker process was killed.*smaller execution\.n_jobs"):
        train.run("tiny", tiny.checked(models=["svc", "killed"], classifiers=classifiers))
    assert stored(root)


def svc(**fields):
    return {"models": ["svc"], "classifiers": {"svc": {"class": "sklearn.svm.SVC", **fields}}}


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"models": ["svv"]}, "'svv' is not one of classifiers; did you mean 'svc'?"),
        ({"models": ["svc", "svc"]}, "'svc' is listed twice"),
        ({"metric": "acuracy"}, "'metric': it is one of accuracy, balanced_accuracy"),
        ({"tuning": {"trails": 3}}, "unknown key 'tuning.trails'; did you mean 'trials'?"),
        ({"tuning": {"trials": 0}}, "'tuning.trials'"),
        ({"tuning": {"folds": 2.5}}, "'tuning.folds'"),
        ({"execution": {"n_jobs": 0}}, "'execution.n_jobs'"),
        ({"tracking": {"experiment": ""}}, "'tracking.experiment'"),
        (svc(parms={}), "unknown key 'classifiers.svc.parms'; did you mean 'params'?"),
        (svc(search={"C": {"lo": 1}}), "unknown key 'classifiers.svc.search.C.lo'; did you mean 'low'?"),
        (svc(search={"C": {"low": 1}}), "give either choices, or low and high"),
        (svc(search={"C": {"low": 2, "high": 1}}), "low must be below high"),
        (svc(search={"C": {"low": 0, "high": 1, "log": True}}), "on a log scale low must be above 0"),
        (svc(search={"C": {"low": "1e-3", "high": 1}}), "YAML takes 1e-8 for text"),
        (
            svc(params={"C": datetime.date(2026, 1, 1)}),
            "params.C': datetime.date(2026, 1, 1) is neither",
        ),
        (svc(params={"class_weight": {1: 2.0}}), "'classifiers.svc.params.class_weight': the key 1 is not text"),
        (svc(trials=3), "first, while_tuning and trials need a search"),
        (svc(budget={"secnds": 3, "instead": {}}), "did you mean 'seconds'?"),
        (
            svc(budget={"seconds": 3.0, "instead": {}}),
            "'classifiers.svc': budget: there is no estimate of the time of sklearn.svm.SVC, only of LDEPClassifier",
        ),
        (
            svc(search={"C": {"low": 1, "high": 2}}, first=[{"gamma": 1}]),
            "'classifiers.svc': first.0 has no value for 'C'.",
        ),
    ],
)
def test_a_wrong_key_or_value_is_named(sections, message):
    with pytest.raises(UserError) as caught:
        tiny.checked(**sections)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"class": "sklearn.svm.OneClasSVM"}, "'sklearn.svm' has no 'OneClasSVM'; did you mean 'OneClassSVM'?"),
        ({"class": "sklaern.svm.SVC"}, "No module named 'sklaern'"),
        ({"class": "sklearn.svm.SVR"}, "sklearn.svm.SVR is not a classifier"),
        ({"class": "os.path.join"}, "'os.path.join' is not a scikit-learn estimator"),
        ({"params": {"kernal": "rbf"}}, "sklearn.svm.SVC has no parameter 'kernal'; did you mean 'kernel'?"),
        ({"params": {"C": -1.0}}, "The 'C' parameter of SVC must be"),
        ({"search": {"C": {"choices": ["small", 1.0]}}}, "classifiers.svc.search.C: The 'C' parameter of SVC must be"),
        ({"search": {"degree": {"low": 0.5, "high": 2.5}}}, "classifiers.svc.search.degree"),
        ({"search": {"D": {"low": 1, "high": 2}}}, "has no parameter 'D'"),
        ({"class": "ldep.LDEPClassifier", "params": {"solver_options": {"bogus": 1}}}, "has no option 'bogus'"),
        (
            {
                "class": "sklearn.ensemble.BaggingClassifier",
                "params": {"estimator": {"class": "ldep.LDEPClassifier", "params": {"solver_options": {"bogus": 1}}}},
            },
            "has no option 'bogus'",
        ),
        ({"class": "ldep.LDEPClassifier", "params": {"solver": "ccp"}}, "The solver 'ccp' needs loss='hinge'"),
        (
            {
                "class": "ldep.DEPClassifier",
                "search": {"loss": {"choices": ["hinge", "logistic"]}},
                "params": {"solver": "ccp"},
            },
            "classifiers.svc.search.loss: The solver 'ccp' needs loss='hinge'",
        ),
        ({"class": "ldep.LDEPClassifierCV", "params": {"losses": ["hinge", "log"]}}, "losses: 'log' is not one of"),
        ({"class": "ldep.LDEPClassifierCV", "params": {"pieces": [[2, 2], 3]}}, "pieces: 3 is not a pair (r1, r2)"),
        (
            {
                "class": "sklearn.ensemble.BaggingClassifier",
                "params": {"estimator": {"class": "sklearn.svm.SVC", "params": {"C": -1.0}}},
            },
            "The 'C' parameter of SVC must be",
        ),
        ({"search": {"C": {"low": 1, "high": 2}}, "first": [{"C": 3}]}, "first.0: C = 3 is not in its search space"),
    ],
)
def test_a_parameter_that_does_not_fit_the_class_is_named_before_any_fit(root, fields, message):
    params = tiny.checked(**svc(**fields))
    with pytest.raises(UserError) as caught:
        train.run("tiny", params)
    assert message in str(caught.value)
    assert not (root / ".ldep").exists()


def test_a_class_in_own_models_is_found(root, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    code = "from sklearn.naive_bayes import GaussianNB\n\nclass Model(GaussianNB): ...\n"
    (root / "own_models").mkdir()
    (root / "own_models/my_module.py").write_text(code)
    importlib.invalidate_caches()
    train.run("tiny", tiny.checked(models=["mine"], classifiers={"mine": {"class": "my_module.Model"}}))
    assert (results.read("tiny")["status"] == "ok").all()


@pytest.mark.parametrize("code", ["1 / 0", "raise RuntimeError('no licence')", "def"])
def test_a_module_that_cannot_be_imported_is_named_with_its_key(root, monkeypatch, code):
    (root / "broken.py").write_text(code)
    monkeypatch.syspath_prepend(root)
    importlib.invalidate_caches()
    params = tiny.checked(**svc(**{"class": "broken.Model"}))
    with pytest.raises(UserError, match=r"classifiers\.svc: 'broken\.Model' cannot be imported: \w+Error: "):
        train.run("tiny", params)


def test_the_number_of_processes_must_be_one(root, monkeypatch):
    monkeypatch.setenv("LDEP_N_JOBS", "two")
    with pytest.raises(UserError, match="LDEP_N_JOBS is 'two'"):
        train.run("tiny", tiny.checked())


def test_without_the_earlier_stages_it_says_which_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="run `ldep impute tiny` first"):
        train.run("tiny", tiny.checked())


def test_a_folder_that_cannot_be_written_is_named(root, ldep):
    tiny.write(root)
    (root / "results").write_text("a file where a folder should be")
    code, _, text = ldep("train", "tiny")
    assert code == 1
    assert "results" in text
    assert "Finished work is kept" in text
    (root / "results").unlink()
    before = {path: path.stat().st_mtime_ns for path in (root / ".ldep/fits").rglob("*") if path.is_file()}
    assert before, "no fit was stored"
    assert ldep("train", "tiny")[0] == 0
    after = {path: path.stat().st_mtime_ns for path in (root / ".ldep/fits").rglob("*") if path.is_file()}
    assert after == before, "a finished fit was done again"


def test_the_command_fails_when_a_model_did_and_other_sets_go_on(root, ldep):
    classifiers = {"bad": {"class": "tests.support.tiny.FailsOnFold", "params": {"rows": 60}}}
    tiny.write(root, models=["bad"], classifiers=classifiers)
    code, _, text = ldep("train", "tiny")
    assert code == 1
    assert "60 rows are too many" in text
    assert (root / "results/tiny/results.csv").is_file()


def test_tune_chooses_on_all_rows_and_writes_it_down(root, ldep):
    tiny.write(root)
    code, _, text = ldep("tune", "tiny", "--model", "ldep", "--trials", "4")
    assert code == 0, text
    written = json.loads((root / "tuned/tiny.ldep.json").read_text())
    assert written["trials"] == 4
    assert "tiny, ldep: trial 1 of 4, best 0." in text
    assert set(written["chosen"]) == {"r1", "r2", "alpha"}
    code, _, text = ldep("tune", "tiny", "--model", "svc")
    assert code == 1
    assert "'svc' is not one of classifiers with a search; valid: ldep" in text


def test_tune_that_goes_on_counts_the_trials_before(root, ldep, monkeypatch):
    tiny.write(root)
    code, _, text = ldep("tune", "tiny", "--trials", "2")
    assert code == 0, text
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    code, _, text = ldep("tune", "tiny", "--trials", "4")
    assert code == 0, text
    assert "tiny, ldep: 100%" in text
    assert "4/4" in text


def test_tune_says_why_no_trial_succeeded(root, ldep):
    entry = {"class": "sklearn.svm.NuSVC", "search": {"nu": {"choices": [1.0]}}, "trials": 1}
    tiny.prepare(root, rows=85)  # nu = 1 is infeasible unless the classes are equal
    tiny.write(root, models=["nu"], classifiers={"nu": entry})
    code, _, text = ldep("tune", "tiny", "--model", "nu")
    assert code == 1
    assert "ldep tune: tiny: tuning nu: no trial of 1 succeeded; the last: " in text
    assert "see classifiers.nu in params.yaml." in text


@pytest.mark.parametrize("content", ["{", "[]", "{}", "\xff"])
def test_a_damaged_provenance_is_named_with_the_stage_that_makes_it(tmp_path, content):
    (tmp_path / "provenance").mkdir()
    (tmp_path / "provenance/tiny.json").write_text(content, encoding="latin-1")
    with pytest.raises(UserError, match=r"provenance/tiny\.json cannot be read \(.+\); run `ldep fetch tiny` again"):
        Provenance.read("tiny", tmp_path)


def test_every_model_of_the_project_can_be_built():
    from ldep_pipeline.config import params

    values = params.load(ROOT / "params.yaml")
    installed = [name for name, entry in values.classifiers.items() if find_spec(entry.class_.split(".")[0])]
    assert set(values.models) <= set(installed)
    check_models(values.model_copy(update={"models": installed}))
    assert set(values.models) <= set(values.classifiers)
    paper = values.classifiers["ldep_paper"].params
    assert (paper["r1"], paper["r2"], paper["alpha"], paper["init"]) == (10, 10, 0, "random_features")
    assert paper["loss"] == "hinge"
    assert np.isclose(values.tuning.behind, 0.01)
