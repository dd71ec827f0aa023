"""Data flow from raw rows to tracked models, as DVC and MLflow run it."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import mlflow
import pandas as pd
import pytest
import yaml

from ldep_pipeline.commands.main import build_parser
from ldep_pipeline.execution import results
from ldep_pipeline.metrics.metric import METRICS
from tests.support import copies, killing, tiny

ROOT = Path(__file__).parents[3]
CHROMIUM = shutil.which("chromium")
COUNT_IMAGES = """<script>
  window.addEventListener("load", () => {
    const drawn = [...document.images].filter((image) => image.naturalWidth > 100).length;
    document.body.insertAdjacentHTML("beforeend", `<p id="drawn">${drawn}</p>`);
  });
</script>"""
COPIED = (
    "pipeline",
    "ldep",
    "own_models",
    "data/own",
    ".dvc/config",
    ".dvc/.gitignore",
    ".dvcignore",
    "dvc.yaml",
    "MLproject",
    "conda.yaml",
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with the pipeline and two small sets, after its first `dvc repro train`."""
    folder = tmp_path_factory.mktemp("copy")
    copies.copy(COPIED, folder)
    tiny.prepare(folder)
    frame = pd.read_parquet(folder / "data/imputed/tiny.parquet")
    shutil.rmtree(folder / "data/imputed")
    shutil.rmtree(folder / "data/folds")
    for name, rows in (("one", frame), ("two", frame[::-1])):
        rows.to_csv(folder / f"data/own/{name}.csv", index=False)
    values = tiny.values(
        datasets=["one", "two"],
        own_data={name: {"path": f"data/own/{name}.csv", "target": "label"} for name in ("one", "two")},
        data={"source": "offline"},
        impute={"strategy": "mean", "scope": "dataset"},
        split={"folds": 3, "seed": 1},
        tuning={"folds": 3},
        execution={"seed": 0, "n_jobs": 1},  # starting a pool would take longer than the work
        tracking={"enabled": True, "experiment": "suite"},
        metric="accuracy",
        costs=None,
        register={"margin": 0.0},
    )
    (folder / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    (folder / ".gitignore").write_text(".ldep/\nmlflow.db\nmlartifacts/\n__pycache__/\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")
    output = killing.finish(folder, "dvc", "repro", "train")
    assert "Running stage 'train@one'" in output
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True)


def ran(output: str) -> list[str]:
    """The stages that `dvc repro` has run."""
    return re.findall(r"Running stage '(.+)'", output)


def change(folder: Path, edit) -> None:
    path = folder / "params.yaml"
    values = yaml.safe_load(path.read_text())
    edit(values)
    path.write_text(yaml.safe_dump(values, sort_keys=False))


def test_the_first_run_has_tracked_each_set_and_model_once(copy):
    assert killing.check_runs(copy, "suite") == 2 * 3
    assert len(killing.table(copy)) == 2 * 3 * 3 * len(METRICS)


def test_a_second_run_does_nothing(copy):
    assert ran(killing.finish(copy, "dvc", "repro", "train")) == ["check"]


def test_a_change_of_code_runs_the_stages_that_it_decides_and_a_comment_runs_none(copy):
    """The last bit of no number depends on the name that is added."""
    module = copy / "pipeline/ldep_pipeline/execution/results.py"
    text = module.read_text()
    module.write_text(f"{text}\n# A comment.\n")
    assert ran(killing.finish(copy, "dvc", "repro", "train")) == ["check"]
    module.write_text(f"{text}\n_ADDED = 1\n")
    output = killing.finish(copy, "dvc", "repro", "train")
    assert ran(output) == ["check", "train@one", "train@two"]
    assert "(3 of 3 folds reused)" in output
    assert ran(killing.finish(copy, "dvc", "repro", "train")) == ["check"]


def test_the_winners_are_registered_and_then_nothing_is_left_to_do(copy):
    output = killing.finish(copy, "dvc", "repro", "register")
    for name in ("one", "two"):
        record = json.loads((copy / f"registry/{name}.json").read_text())
        assert (record["registered"], record["version"], record["decision"]) == (f"ldep-{name}", 1, "champion")
        assert f"ldep-{name} version 1" in output
    assert "Downloading" not in output  # a bar, in a log
    assert killing.check_runs(copy, "suite") == 2 * 3  # a final model is no run
    assert ran(killing.finish(copy, "dvc", "repro", "register")) == ["check"]


def test_the_report_is_the_last_stage_and_stands_in_mlflow_once(copy):
    assert "Running stage 'report'" in killing.finish(copy, "dvc", "repro", "report")
    page = (copy / "report/report.html").read_text()
    assert "ldep-one 1" in page  # what register decided
    assert "stage report" in page
    assert ran(killing.finish(copy, "dvc", "repro")) == ["check"]
    killing.finish(copy, "mlflow", "run", ".", "--env-manager", "local", "-e", "report")
    assert killing.check_runs(copy, "suite") == 2 * 3  # the report is not among the models
    assert killing.check_runs(copy, "suite-reports") == 1
    client = mlflow.MlflowClient()
    reports = client.get_experiment_by_name("suite-reports").experiment_id
    [run] = client.search_runs([reports])
    assert run.info.run_name == "report"
    assert f"runs/{run.info.run_id}/artifacts/report.html" in run.data.tags["mlflow.note.content"]
    files = {item.path for item in client.list_artifacts(run.info.run_id)}
    assert {"report.html", "one.html", "two.card.md", "results.csv"} <= files
    for name in ("one", "two"):
        version = client.get_model_version(f"ldep-{name}", "1")
        assert f"runs/{run.info.run_id}/artifacts/{name}.html" in version.description
        assert version.tags["model_card"].endswith(f"runs/{run.info.run_id}/artifacts/{name}.card.md")
        assert version.description.count("**[Report](") == 1
        assert "Decision: " in version.description  # what register wrote


def drawn_images(page: Path) -> int:
    """How many images of a page a browser without a network draws."""
    counted = page.with_name("counted.html")
    counted.write_text(page.read_text().replace("</body>", f"{COUNT_IMAGES}</body>"))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={page.parent / 'profile'}", "--dump-dom"]
    command = [str(CHROMIUM), *options, f"file://{counted}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return int(re.findall(r'<p id="drawn">(\d+)</p>', done.stdout)[-1])


def test_dvc_shows_metrics_plots_and_the_story(copy):
    shown = json.loads(killing.finish(copy, "dvc", "metrics", "show", "--json"))
    files = shown[""]["data"]
    assert set(files["metrics/sets/one.json"]["data"]) == {"svc", "ldep", "ldep_cv"}
    accuracies = [files[f"metrics/sets/{name}.json"]["data"]["ldep"] for name in ("one", "two")]
    assert 0.5 < min(accuracies) <= 1
    assert files["metrics/mean.json"]["data"]["ldep"] == pytest.approx(sum(accuracies) / 2, abs=1e-6)
    killing.finish(copy, "dvc", "plots", "show", "-o", "shown")
    page = (copy / "shown/index.html").read_text()
    assert re.search(r'<img src="static/workspace_plots_one-folds\.png"', page)
    assert not re.search(r"https?://", page)  # it opens offline
    if CHROMIUM is not None:
        assert drawn_images(copy / "shown/index.html") == page.count("<img")
    dag = killing.finish(copy, "dvc", "dag", "--dot")
    for edge in ('"impute" -> "train@one"', '"split" -> "train@one"'):
        assert edge in dag


def test_a_fresh_clone_pulls_all_results_and_computes_nothing(copy, tmp_path):
    killing.finish(copy, "dvc", "remote", "add", "--default", "shared", str(tmp_path / "remote"))
    killing.finish(copy, "dvc", "push")
    git(copy, "add", "-A")
    git(copy, "commit", "-qm", "results")
    git(tmp_path, "clone", "-q", str(copy), "clone")
    clone = tmp_path / "clone"
    assert not (clone / "results/one").exists()
    killing.finish(clone, "dvc", "pull")
    assert ran(killing.finish(clone, "dvc", "repro")) == ["check"]
    assert not (clone / ".ldep/fits").exists()
    # The report's page was made again since, by `mlflow run`; it tells when.
    assert (clone / "report/results.csv").read_bytes() == (copy / "report/results.csv").read_bytes()
    for folder in ("results", "registry", "plots", "data/imputed", "metrics"):
        outputs = {path.relative_to(copy): path.read_bytes() for path in (copy / folder).rglob("*") if path.is_file()}
        assert outputs
        for path, content in outputs.items():
            assert (clone / path).read_bytes() == content


def test_another_parameter_of_one_model_refits_that_model_alone(copy):
    before = {path.name for path in (copy / ".ldep/fits").rglob("*.json")}
    change(copy, lambda values: values["classifiers"]["svc"].update(params={"C": 3.0}))
    output = killing.finish(copy, "dvc", "repro", "train@one")
    assert "fetch@" not in "".join(line for line in output.splitlines(keepends=True) if "Running stage" in line)
    assert "one, ldep:" in output
    assert "(3 of 3 folds reused)" in output
    after = {path.name for path in (copy / ".ldep/fits").rglob("*.json")}
    assert len(after - before) == 3
    # One more, of the new setting; that of the old one is history.
    assert killing.check_runs(copy, "suite") == 2 * 3 + 1


def test_an_experiment_may_choose_data_sets_models_and_parameters(copy):
    git(copy, "add", "-A")
    git(copy, "commit", "-qm", "results")
    chosen = {"datasets": "[one]", "models": "[svc]", "classifiers.svc.params.C": "0.5"}
    settings = [word for key, value in chosen.items() for word in ("-S", f"{key}={value}")]
    output = killing.finish(copy, "dvc", "exp", "run", *settings)
    assert "train@one" in output
    assert "train@two" not in output
    assert [path.name for path in (copy / "data/folds").iterdir()] == ["one.csv"]
    assert set(results.read("one", copy / "results")["model"]) == {"svc"}
    table = killing.finish(copy, "dvc", "exp", "show", "--csv", "--only-changed", "--drop", "metrics/sets")
    shown = pd.read_csv(io.StringIO(table))
    assert "metrics/mean.json:svc" in shown
    assert shown["metrics/mean.json:svc"].between(0.5, 1).all()  # of the commit, too
    assert shown["classifiers.svc.params.C"].tolist() == [0.5, 3.0, 0.5]
    assert not [column for column in shown if column.startswith("metrics/sets")]
    git(copy, "checkout", "-q", ".")
    killing.finish(copy, "dvc", "checkout", "--force")  # `mlflow run -e report` has made the report again


def test_mlflow_run_takes_the_entry_points(copy):
    output = killing.finish(
        copy, "mlflow", "run", ".", "--env-manager", "local", "-e", "tune", "-P", "dataset=one", "-P", "trials=2"
    )
    assert "succeeded" in output
    assert json.loads((copy / "tuned/one.ldep.json").read_text())["trials"] == 2


def test_the_metric_of_one_data_set_and_a_further_data_set_retune_no_other(copy):
    killing.finish(copy, "dvc", "repro", "report")
    change(copy, lambda values: values["own_data"]["two"].update(metric="roc_auc"))
    assert ran(killing.finish(copy, "dvc", "repro")) == ["check", "train@two", "register@two", "report"]
    metrics = {name: json.loads((copy / f"registry/{name}.json").read_text())["metric"] for name in ("one", "two")}
    assert metrics == {"one": "accuracy", "two": "roc_auc"}
    assert set(json.loads((copy / "metrics/mean.json").read_text())) == {"accuracy", "roc_auc"}
    shutil.copy(copy / "data/own/one.csv", copy / "data/own/three.csv")
    own = {"path": "data/own/three.csv", "target": "label", "models": ["svc"], "metric": "f1"}
    change(copy, lambda values: values["own_data"].update(three=own))
    change(copy, lambda values: values["datasets"].append("three"))
    output = killing.finish(copy, "dvc", "repro", "register")
    assert ran(output) == ["check", "fetch@three", "impute", "split", "train@three", "register@three"]
    assert set(results.read("three", copy / "results")["model"]) == {"svc"}


def test_the_entry_points_of_the_project_file_are_commands_and_stages():
    project = yaml.safe_load((ROOT / "MLproject").read_text())
    assert set(project["entry_points"]) == {"main", "train", "tune", "register", "report"}
    for entry in project["entry_points"].values():
        defaults = {name: parameter["default"] for name, parameter in entry.get("parameters", {}).items()}
        program, *arguments = entry["command"].format(**defaults).split()
        if program == "ldep":
            build_parser().parse_args(arguments)  # exits if it cannot be parsed
        else:
            assert (program, arguments) == ("dvc", ["repro"])
    assert (ROOT / project["conda_env"]).is_file()
