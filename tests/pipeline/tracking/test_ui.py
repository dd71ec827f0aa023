"""The MLflow UI in Chromium, on the runs of `make repro`: `make ui-test`.

Each test opens a page, waits for what a person would look for there, and fails if it does not appear. Every page is
photographed. `make ui-test IMAGES=1` writes the screenshots into docs/images/, otherwise they are thrown away.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import mlflow
import pytest
import requests
from mlflow.entities import Run
from PIL import Image

from ldep_pipeline.compat import mlflow_ui
from ldep_pipeline.config import params
from ldep_pipeline.tracking import experiment_page
from tests.support.servers import free_port

pytest.importorskip("playwright", reason="only make ui-test installs Playwright")
from playwright.sync_api import Locator, Page, TimeoutError, expect, sync_playwright

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
IMAGES = Path(__file__).parents[3] / "docs/images"
SET, OURS, OTHER = "banana", "ldep", "rbf_svc"
PATIENCE = 60  # seconds that something on a page may take to come, on a machine with other work
START = 400  # and the server
COLOURS = 96  # of a screenshot: a third of the bytes
TRAINING = "workflowType=machine_learning"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The real `mlflow ui` on the mlflow.db of this folder."""
    store = Path("mlflow.db").resolve()
    if not store.is_file():
        pytest.exit(f"there are no runs to look at: {store} does not exist; run `make repro` first.", returncode=1)
    port = free_port()
    log = tmp_path_factory.mktemp("ui") / "server.log"
    command = ["ui", "--no-serve-artifacts", "--workers", "1", "--backend-store-uri", f"sqlite:///{store}"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *command, "--port", str(port)],
            env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + START
        while not _answers(url):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, f"no answer from the UI in {START} s:\n{log.read_text()}"
            time.sleep(0.5)
        yield url
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def _answers(url: str) -> bool:
    with contextlib.suppress(requests.RequestException):
        return requests.get(f"{url}/health", timeout=5).ok
    return False


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    browser_path = shutil.which("chromium")
    if browser_path is None:
        pytest.exit("Chromium is not installed: apt-get install chromium.", returncode=1)
    with sync_playwright() as driver:
        # Without a sandbox, which root cannot have. It only sees our own server.
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": 1360, "height": 850})
        opened.set_default_timeout(1000 * PATIENCE)
        expect.set_options(timeout=1000 * PATIENCE)
        # MLflow's news, laid over a page at the first visit.
        news = opened.get_by_role("dialog").get_by_role("button", name="Try it now")
        opened.add_locator_handler(news, lambda button: button.click())
        yield opened
        browser.close()


@pytest.fixture(scope="module")
def client(address: str) -> mlflow.MlflowClient:
    return mlflow.MlflowClient(address)


@pytest.fixture(scope="module")
def experiment(client: mlflow.MlflowClient) -> str:
    found = client.get_experiment_by_name(params.load().tracking.experiment)
    assert found is not None, "the experiment of params.yaml is not in mlflow.db; run `make repro`"
    return found.experiment_id


@pytest.fixture(scope="module")
def runs(client: mlflow.MlflowClient, experiment: str) -> dict[str, Run]:
    found = client.search_runs([experiment], f"tags.dataset = '{SET}' and tags.model LIKE '%'")
    return {run.data.tags["model"]: run for run in found}


def open_page(page: Page, url: str) -> None:
    """As a person at a first visit: choose the mode, and close what MLflow lays over the page."""
    page.goto("about:blank")  # a change behind the # alone would not load the page again
    page.goto(url)
    page.get_by_text("Model training").click()  # kept by the browser from then on
    assistant = page.get_by_placeholder("Ask a question")
    with contextlib.suppress(TimeoutError):  # it opens once, some moments after the page
        assistant.wait_for(state="visible", timeout=5000)
        page.get_by_role("button", name="Close").last.click()
        assistant.wait_for(state="hidden")


@pytest.fixture(scope="module")
def take_screenshot(
    page: Page, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], None]:
    """Photograph the page as it is: into docs/images/ if --write-images is given."""
    folder = IMAGES if request.config.getoption("--write-images") else tmp_path_factory.mktemp("images")

    def take(name: str) -> None:
        path = folder / f"ui-{name}.png"
        page.mouse.move(0, 0)
        page.screenshot(path=path, animations="disabled")
        with Image.open(path) as image:
            small = image.convert("RGB").quantize(COLOURS)
        small.save(path, optimize=True)
        assert path.stat().st_size < 150_000, "the screenshot is too large for the repository"

    return take


@contextlib.contextmanager
def tall(page: Page) -> Iterator[None]:
    """A window in which two rows of charts can be seen."""
    size = page.viewport_size
    page.set_viewport_size({"width": 1360, "height": 1230})
    page.wait_for_timeout(3000)  # until the charts are drawn in their new places
    yield
    page.set_viewport_size(size)


def row_of(page: Page, run_name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=run_name, exact=True))


def test_the_runs_page_explains_itself_and_groups_the_models_of_each_set(page, address, experiment, take_screenshot):
    open_page(page, f"{address}/{mlflow_ui.link(experiment, experiment_page.BY_DATASET)}")
    expect(page.get_by_text("one model on one data set")).to_be_visible()
    expect(page.get_by_role("button", name="Models of each data set")).to_be_visible()
    expect(page.get_by_text("Group by: dataset")).to_be_visible()
    groups = "|".join(map(re.escape, params.load().datasets))
    expect(page.get_by_role("gridcell").filter(has_text=re.compile(f"Group: ({groups})")).first).to_be_visible()
    for column in ("score", "accuracy"):  # the grid draws only what is in view
        expect(page.get_by_role("columnheader", name=column, exact=True).first).to_be_visible()
    take_screenshot("groups")


def test_two_ticked_runs_are_compared(page, address, experiment, runs, take_screenshot):
    where = quote(f"tags.dataset = '{SET}' and tags.model LIKE '%'")
    query = f"searchFilter={where}&orderByKey=metrics.%60accuracy%60&orderByAsc=false"
    open_page(page, f"{address}/#/experiments/{experiment}/runs?{query}&{TRAINING}")
    for model in (OURS, OTHER):
        row_of(page, f"{SET} · {model}").get_by_role("checkbox").first.click()
    take_screenshot("runs")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("Comparing 2 Runs from 1 Experiment")).to_be_visible()
    plot = page.locator(".js-plotly-plot").first
    for text in ("classifier", "accuracy", OURS, OTHER):  # axes and their ends
        expect(plot.locator("text").filter(has_text=re.compile(rf"^{text}$")).first).to_be_visible()
    for model in (OURS, OTHER):
        expect(page.get_by_role("cell", name=f"{SET} · {model}", exact=True)).to_be_attached()
        expect(page.get_by_text(f"{runs[model].data.metrics['accuracy']:.3f}"[:5]).first).to_be_attached()
    for name in ("r1", "r2"):  # numbers, side by side
        row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True))
        expect(row.get_by_text(runs[OURS].data.params[name], exact=True).first).to_be_attached()
        row.scroll_into_view_if_needed()
    take_screenshot("compare")
    page.get_by_role("tab", name="Scatter Plot").click()
    expect(page.locator(".js-plotly-plot >> visible=true").first).to_be_visible()
    page.get_by_role("tab", name="Box Plot").click()
    expect(page.get_by_role("combobox", name="X-axis:")).to_be_visible()


def test_a_run_tells_what_was_measured_and_chosen(page, address, experiment, runs, take_screenshot):
    run = runs[OURS]
    open_page(page, f"{address}/#/experiments/{experiment}/runs/{run.info.run_id}?{TRAINING}")
    expect(page.get_by_role("heading", name=f"{SET} · {OURS}")).to_be_visible()
    accuracy = run.data.metrics["accuracy"]
    expect(page.get_by_text(f"{100 * accuracy:.1f} ±")).to_be_visible()
    expect(page.get_by_text(f"ldep train {SET}").first).to_be_visible()
    expect(page.get_by_role("cell", name=f"{SET}-{OURS}").or_(page.get_by_text(f"{SET}-{OURS}")).first).to_be_attached()
    page.get_by_text(f"{100 * accuracy:.1f} ±").scroll_into_view_if_needed()
    take_screenshot("run")


def test_the_trials_of_a_tuned_model_show_which_settings_are_good(
    page, address, client, experiment, runs, take_screenshot
):
    """From the page of the run: its charts need no arranging."""
    run = runs[OURS]
    where = f"tags.`mlflow.parentRunId` = '{run.info.run_id}' and tags.`ldep.kind` = 'trial'"
    trials = client.search_runs([experiment], where)
    open_page(page, f"{address}/#/experiments/{experiment}/runs/{run.info.run_id}?{TRAINING}")
    link = page.get_by_role("link", name="The trials that tuned this model")
    open_page(page, f"{address}/{link.get_attribute('href')}")  # a click would open another tab
    expect(page.get_by_text(f"{len(trials)} matching runs")).to_be_visible()
    expect(page.get_by_text("Parallel Coordinates").first).to_be_visible()
    for axis in ("r1", "r2", "log10_alpha", "inner_score"):
        expect(page.locator(".parcoords .label").filter(has_text=re.compile(rf"^{axis}$"))).to_be_visible()
    assert page.locator(".parcoords canvas").count() > 0
    expect(page.get_by_text("r1 vs. r2 vs. inner_score")).to_be_visible()
    expect(page.locator(".js-plotly-plot .contour").first).to_be_visible()
    with tall(page):
        take_screenshot("trials")


def test_the_models_of_one_data_set_are_compared_by_its_metric(page, address, experiment, runs, take_screenshot):
    view = mlflow_ui.link(experiment, experiment_page.view_of_models(SET), charts=True)
    open_page(page, f"{address}/{view}")
    metric = runs[OURS].data.tags["metric"]
    expect(page.get_by_text(f"fit_cpu_seconds vs. {metric}")).to_be_visible()
    expect(page.get_by_text("Side by side")).to_be_visible()
    expect(page.get_by_text("Show differences only")).to_be_visible()
    best = max(runs.values(), key=lambda run: run.data.metrics["score"])
    expect(page.get_by_role("gridcell").get_by_role("link").first).to_have_text(best.info.run_name)
    with tall(page):
        take_screenshot("dataset")


def test_the_scores_of_the_folds_are_drawn_as_boxes(page, address, experiment, runs, take_screenshot):
    open_page(page, f"{address}/{mlflow_ui.link(experiment, experiment_page.view_of_folds(SET))}")
    expect(page.get_by_role("columnheader", name="classifier", exact=True).first).to_be_visible()
    page.get_by_role("checkbox").first.click()  # all of them
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("tab", name="Box Plot").click()
    for axis, name in (("X-axis:", "classifier"), ("Y-axis:", "accuracy")):
        page.get_by_role("combobox", name=axis).click()
        page.get_by_role("option", name=name, exact=True).click()
    plot = page.locator(".js-plotly-plot >> visible=true").first
    for model in runs:
        expect(plot.locator(".xtick text").filter(has_text=re.compile(rf"^{model}$"))).to_be_visible()
    expect(plot.locator("path.box")).to_have_count(len(runs))
    take_screenshot("boxes")


def test_the_convergence_curve_is_drawn(page, address, experiment, runs, take_screenshot):
    open_page(page, f"{address}/#/experiments/{experiment}/runs/{runs[OURS].info.run_id}/model-metrics?{TRAINING}")
    expect(page.get_by_role("heading", name="objective").first).to_be_visible()
    expect(page.locator(".js-plotly-plot .js-line").first).to_be_attached()
    take_screenshot("curve")


def test_the_pictures_are_shown(page, address, experiment, runs):
    open_page(page, f"{address}/#/experiments/{experiment}/runs/{runs[OURS].info.run_id}/artifacts?{TRAINING}")
    for name in ("confusion.png", "boundary.png"):
        page.get_by_text(name, exact=True).first.click()
        picture = page.get_by_role("img", name=name)
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100


def test_the_registered_models_are_listed(page, address, client, take_screenshot):
    """Data sets on which no model beats guessing have none."""
    open_page(page, f"{address}/#/models")
    registered = [model.name for model in client.search_registered_models()]
    assert f"ldep-{SET}" in registered
    for name in registered:
        expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()
    take_screenshot("models")


def test_a_registered_model_shows_its_champion_and_what_it_is_for(page, address, client, take_screenshot):
    name = f"ldep-{SET}"
    open_page(page, f"{address}/#/models/{name}?{TRAINING}")
    expect(page.get_by_text("The best model of the cross-validation on")).to_be_visible()
    expect(page.get_by_text("champion").last).to_be_visible()
    version = client.get_model_version_by_alias(name, "champion")
    open_page(page, f"{address}/#/models/{name}/versions/{version.version}?{TRAINING}")
    expect(page.get_by_text("fitted on all rows")).to_be_visible()
    expect(page.get_by_role("link", name=f"{SET} · {version.tags['model']}")).to_be_visible()
    expect(page.get_by_text("Decision:")).to_be_visible()
    expect(page.get_by_text("champion").first).to_be_visible()
    take_screenshot("version")
