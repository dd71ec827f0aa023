"""The stage report on own data sets: real results, real records, real pages in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ldep_pipeline.config import params
from ldep_pipeline.stages import report
from tests.support import registered

CHROMIUM = shutil.which("chromium")
OVERFLOW = """<script>
  const root = document.documentElement;
  const fits = root.scrollWidth <= root.clientWidth ? "fits" : `${root.scrollWidth} in ${root.clientWidth}`;
  document.body.insertAdjacentHTML("beforeend", `<p id="seen">${fits}</p>`);
</script>"""


@pytest.fixture(scope="module")
def project(registered_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with its report; nothing is tracked."""
    folder = tmp_path_factory.mktemp("own") / "project"
    shutil.copytree(registered_project, folder, ignore=shutil.ignore_patterns("mlartifacts", "mlflow.db", ".ldep"))
    write(folder)
    return folder


def write(folder: Path, *names: str) -> None:
    values = params.load(folder / "params.yaml")
    untracked = values.model_copy(update={"tracking": values.tracking.model_copy(update={"enabled": False})})
    report.run(list(names) or values.datasets, untracked, folder)


def test_each_data_set_has_a_page_a_card_and_figures_and_several_share_an_overview(project):
    written = {str(path.relative_to(project / "report")) for path in (project / "report").rglob("*") if path.is_file()}
    for name in (registered.NAME, registered.BASELINE):
        assert {f"{name}.html", f"{name}.card.md", f"figures/{name}-roc.svg"} <= written
        assert (project / f"plots/{name}-roc.png").is_file()
    assert not any(name.startswith("table.") for name in written)  # Table 1 is the paper's
    overview = (project / "report/report.html").read_text()
    assert f'href="{registered.NAME}.html"' in overview
    assert "ldep-shop 1" in overview


def test_a_page_explains_rows_by_their_raw_cells(project):
    text = (project / f"report/{registered.NAME}.html").read_text()
    for expected in ("Typical rows", "größe (cm)", "Columns by importance", "ldep serve shop", "Would more rows help?"):
        assert expected in text
    for unwanted in ("the paper", "Table 1", "Friedman", "± 0.0", "p = "):
        assert unwanted not in text
    assert not re.search(r"<link|<img|src=|@import|url\(\s*['\"]?http", text)
    baseline = (project / f"report/{registered.BASELINE}.html").read_text()
    assert "are shuffled" in baseline
    assert "The parts are exact" not in baseline


def test_a_single_data_set_is_one_click_away_and_needs_no_registration(project, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(project, copy)
    shutil.rmtree(copy / "registry")
    write(copy, registered.NAME)
    assert f"url={registered.NAME}.html" in (copy / "report/report.html").read_text()
    text = (copy / f"report/{registered.NAME}.html").read_text()
    assert "ldep register shop" in text
    assert "ROC curve" in text
    assert "Columns by importance" not in text


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing; .ci/run and make ui-test install it if they may")
@pytest.mark.parametrize("name", ["shop", "report"])
def test_a_phone_does_not_scroll_sideways(project, tmp_path, name):
    text = (project / f"report/{name}.html").read_text()
    (tmp_path / "page.html").write_text(text.replace("</body>", OVERFLOW + "</body>"))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    options += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=500,900", "--dump-dom"]
    command = [str(CHROMIUM), *options, f"file://{tmp_path / 'page.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert re.findall(r'<p id="seen">(.*?)</p>', done.stdout)[-1] == "fits"
