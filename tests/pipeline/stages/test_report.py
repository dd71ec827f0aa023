"""The stage report: the files that it writes, the page in a browser, and what it refuses."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data import folds
from ldep_pipeline.fitting.training_data import Partition
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.report.report_data import ReportData
from ldep_pipeline.report.sections import SECTIONS
from ldep_pipeline.stages import report
from tests.support import reported

CHROMIUM = shutil.which("chromium")
TIME_DEPENDENT = {"report.html", "provenance.json"}  # they contain the time at which they were made
SORT_THE_TABLE = """<script>
  const names = () => [...document.querySelectorAll("#table1-cells tbody th")].map((cell) => cell.textContent).join();
  const buttons = document.querySelectorAll("#table1-cells thead button");
  const seen = [names()];
  for (const column of [1, 1, 4, 0]) {
    buttons[column].click();
    seen.push(names());
  }
  const root = document.documentElement;
  seen.push(root.scrollWidth <= root.clientWidth ? "fits" : `${root.scrollWidth} in ${root.clientWidth}`);
  document.body.insertAdjacentHTML("beforeend", `<p id="seen">${seen.join("|")}</p>`);
</script>"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, with its report."""
    root = tmp_path_factory.mktemp("reported")
    params = reported.project(root)
    report.run(params.datasets, params, root)
    return root


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_report_has_the_results_the_table_in_four_formats_and_the_figures(project):
    written = files(project / "report")
    assert {"results.csv", "table.md", "table.csv", "table.tex", "table.html", "report.html"} <= set(written)
    assert written["results.csv"].count(b"\n") == 1 + len(METRICS) * 22  # of 22 fits
    assert b"&lt;odd&gt; &amp; own" in written["table.html"]
    for name in ("scores", "times", "ranks", "score_and_time", "wins", "chosen", "convergence", "costs"):
        assert re.search(rb"var\(--(ink|muted)\)", written[f"figures/{name}.svg"])
        assert (project / f"plots/{name}.png").stat().st_size > 1000


def test_dvc_compares_the_means_of_models_that_have_a_result_on_every_data_set(project):
    means = json.loads((project / "metrics/mean.json").read_text())
    assert means == {"ldep": pytest.approx(2.44 / 3, abs=1e-6), "ldep_cv": 0.82, "rbf_svc": 0.768333}


def test_the_same_results_give_the_same_bytes(project):
    before = files(project / "report")
    params = reported.project_params(list(reported.CATALOGUE_EXAMPLE))
    report.run(params.datasets, params, project)
    after = files(project / "report")
    assert set(before) == set(after)
    assert {name for name in before if before[name] != after[name]} <= TIME_DEPENDENT
    assert before["report.html"].partition(b"<footer>")[0] == after["report.html"].partition(b"<footer>")[0]
    assert not list(project.glob(".report*"))


def test_the_page_loads_nothing_and_escapes_names(project):
    text = (project / "report/report.html").read_text()
    assert not re.search(r"<link|<img|src=|@import|url\(\s*['\"]?http", text)
    assert "<odd>" not in text
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))


def test_the_page_shows_failures_decisions_sources_and_tests(project):
    text = (project / "report/report.html").read_text()
    for expected in (
        "no luck",
        "not better",
        "ldep-banana 3",
        "file my.csv",
        "Not registered yet",
        "Friedman",
        "Commit ",
    ):
        assert expected in text
    assert "prefers-color-scheme:dark" in text
    for anchor in {section.anchor for section in SECTIONS if section.shows is ReportData} - {"own"}:
        assert f'href="#{anchor}"' in text
        assert f'id="{anchor}"' in text


def test_every_other_metric_has_its_leaderboard_and_figures_on_the_page(project):
    text = (project / "report/report.html").read_text()
    for metric in ("balanced_accuracy", "roc_auc", "log_loss", "fit_time", "predict_time"):
        assert f'<details class="panel" id="by-{metric}">' in text
        assert f'id="table-models-{metric}"' in text
        assert f'<figure class="broad" id="ranks_{metric}">' in text
        assert (project / f"report/figures/posterior_{metric}.svg").is_file()
    assert 'id="by-accuracy"' not in text  # the page itself is by accuracy
    assert 'id="by-tuning_time"' not in text  # one model is tuned
    assert 'id="score_and_time_fit_time"' not in text  # time against time


def test_the_whole_page_can_be_about_another_metric(tmp_path):
    params = reported.project(tmp_path)
    report.run(params.datasets, params, tmp_path, metric="log_loss")
    text = (tmp_path / "report/report.html").read_text()
    assert "This page compares the models by log-loss." in text
    assert 'id="by-accuracy"' in text
    assert "Log-loss: mean ± sample deviation" in (tmp_path / "report/table.md").read_text()
    assert "--metric log_loss" in json.loads((tmp_path / "report/provenance.json").read_text())["Command"]
    means = json.loads((tmp_path / "metrics/mean.json").read_text())
    assert means["ldep_cv"] == 0.82  # DVC still compares by the metric of params.yaml


@pytest.mark.parametrize(
    ("datasets", "metric", "message"),
    [(["haberman"], "logloss", "did you mean 'log_loss'"), (["mine"], "log_loss", "all of these are your own")],
)
def test_a_metric_that_the_page_cannot_show_is_refused(tmp_path, datasets, metric, message):
    with pytest.raises(UserError, match=message):
        report.run(datasets, reported.project_params(datasets), tmp_path, metric=metric)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing; .ci/run and make ui-test install it if they may")
def test_a_browser_sorts_the_table_and_a_phone_does_not_scroll_sideways(project, tmp_path):
    text = (project / "report/report.html").read_text()
    (tmp_path / "page.html").write_text(text.replace("</body>", SORT_THE_TABLE + "</body>"))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    options += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=500,900", "--dump-dom"]
    command = [str(CHROMIUM), *options, f"file://{tmp_path / 'page.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    seen = re.findall(r'<p id="seen">(.*?)</p>', done.stdout)[-1].split("|")  # the first is in the script
    haberman, wdbc, banana = "Haberman", "Breast Cancer Wisconsin", "Banana"
    assert seen[0] == f"{haberman},{wdbc},{banana}"
    assert seen[1] == f"{wdbc},{haberman},{banana}"  # by the first model, falling: 98, 76, 70
    assert seen[2] == f"{banana},{haberman},{wdbc}"  # and rising
    assert seen[3].startswith(f"{banana},")  # the others have no number in this column: they come last
    assert seen[4] == f"{banana},{wdbc},{haberman}"  # by name
    assert seen[5] == "fits"


def test_one_data_set_and_one_model_are_enough(tmp_path):
    reported.write(tmp_path, "haberman", {"svc": [0.5, 0.75]})
    folder = report.run(["haberman"], reported.project_params(["haberman"]), tmp_path)
    text = (folder / "report.html").read_text()
    assert "1 data set, 1 model, 2-fold cross-validation" in text
    assert "62.5" in text
    assert "The ranks are not tested" in text


def test_repeats_of_the_cross_validation_are_told_apart_from_folds(tmp_path):
    folds.write("haberman", Partition(np.array([[0, 1], [1, 0]])), tmp_path / "data")
    reported.write(tmp_path, "haberman", {"svc": [0.5, 0.75, 0.5, 0.75]})
    folder = report.run(["haberman"], reported.project_params(["haberman"]), tmp_path)
    assert "1 data set, 1 model, 2-fold cross-validation, 2 times." in (folder / "report.html").read_text()


def test_results_that_are_refused_leave_the_old_report(tmp_path):
    reported.write(tmp_path, "mine", {"a": [0.75, 0.5], "b": [0.75, 0.5]})
    path = tmp_path / "results/mine/results.csv"
    path.write_text(path.read_text()[:-1])
    (tmp_path / "report").mkdir()
    (tmp_path / "report/report.html").write_text("old")
    with pytest.raises(UserError, match=r"results/mine/results\.csv is not as `ldep train mine` wrote it"):
        report.run(["mine"], reported.project_params(["mine"]), tmp_path)
    assert (tmp_path / "report/report.html").read_text() == "old"


@pytest.mark.parametrize("content", ["{", "[[]]", '{"model": "ldep"}', '"model"'])
@pytest.mark.parametrize("file", ["registry/banana.json", "data/provenance/banana.json"])
def test_a_damaged_record_of_another_stage_is_named(tmp_path, file, content):
    params = reported.project(tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(UserError, match=f"{file} cannot be read"):
        report.run(params.datasets, params, tmp_path)
    assert not (tmp_path / "report").exists()


def test_means_of_data_sets_with_one_metric_are_flat_and_of_several_stand_under_their_metric():
    rows = [("a", "accuracy", 0.8), ("a", "f1", 0.5), ("b", "accuracy", 0.6), ("b", "f1", 0.7), ("c", "f1", 0.9)]
    table = pd.DataFrame([(name, "svc", metric, value) for name, metric, value in rows])
    table.columns = ["dataset", "model", "metric", "value"]
    assert report.means(table, {"a": "accuracy", "b": "accuracy"}) == {"svc": 0.7}
    assert report.means(table, {"a": "accuracy", "b": "f1", "c": "f1"}) == {
        "accuracy": {"svc": 0.8},
        "f1": {"svc": 0.8},
    }
