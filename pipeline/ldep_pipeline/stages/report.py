"""Stage report: the paper's table with our results, tests and figures on one page, and a page per own data set."""

from __future__ import annotations

import logging
import os
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ldep_pipeline.common import machine
from ldep_pipeline.common.digests import digest, file_digest
from ldep_pipeline.common.errors import UserError, nearest
from ldep_pipeline.common.files import replacing_folder, write_json, write_text
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.execution import results
from ldep_pipeline.report import collector, drawing, sections
from ldep_pipeline.report.figures import Picture
from ldep_pipeline.report.report_data import COMPARED, DatasetReport, ReportData
from ldep_pipeline.report.scores import total_cost
from ldep_pipeline.report.sections import summary, table1, winner
from ldep_pipeline.tracking import connection
from ldep_pipeline.tracking.runs import ReportRuns

log = logging.getLogger(__name__)
PAGE, PROVENANCE, FIGURES = "report.html", "provenance.json", "figures"


def run(datasets: Sequence[str], params: Params, root: Path = Path(), metric: str | None = None) -> Path:
    """Write report/, plots/ and metrics/mean.json from the results, log the report in MLflow, return its folder.

    Data sets of the catalogue share the paper's page; each own data set has a page of its own. metric: by which the
    paper's page compares the models, one of COMPARED; None for that of the parameters.
    """
    start = time.monotonic()
    own = [name for name in datasets if name in params.own_data]
    of_catalogue = [name for name in datasets if name not in own]
    if metric is not None:
        if metric not in COMPARED:
            raise UserError(f"'{metric}' is not a metric of the report; {nearest(metric, COMPARED)}")
        if not of_catalogue:
            raise UserError(
                "--metric is about the page of the catalogue's data sets, and all of these are your own. Their pages "
                "follow `metric` in params.yaml, and show every other metric beside it."
            )
    # Before any work: a tracking store that does not answer is an error.
    tracking = params.tracking
    runs = ReportRuns(connection.connect(tracking.experiment, root)) if tracking.enabled else None
    tables = {name: results.read(name, root / paths.RESULTS) for name in datasets}
    table = pd.concat(tables.values(), ignore_index=True)
    reports = [collector.of_dataset(tables[name], params.of(name), root) for name in own]
    data = None
    if of_catalogue:
        shared = pd.concat([tables[name] for name in of_catalogue], ignore_index=True)
        data = collector.of_catalogue(shared, root, COMPARED[metric or params.metric], reports)
    pages = {report.file_name: sections.dataset_page(report) for report in reports}
    pages[PAGE] = sections.entry_page(reports) if data is None else sections.catalogue_page(data)
    with replacing_folder(root / paths.REPORT) as folder, replacing_folder(root / paths.PLOTS) as plots:
        results.write_table(table, folder / results.TABLE)
        if data is not None:
            write_table1(table1.of_data(data), folder)
        for report in reports:
            write_text(folder / _card_name(report), winner.markdown(report))
        svgs = {name: write_pictures(page.pictures, folder, plots) for name, page in pages.items()}
        key = _digest(folder)  # before the provenance, which differs between two reports of the same results
        commits = runs.training_commits(datasets) if runs is not None else []
        provenance = describe(table, commits, time.monotonic() - start, metric)
        write_json(folder / PROVENANCE, provenance)
        for name, page in pages.items():
            write_text(folder / name, page.html(svgs[name], provenance))
    folder = root / paths.REPORT
    write_json(root / paths.MEANS, means(table, {name: params.of(name).metric for name in datasets}))
    if runs is not None:
        run_id = runs.log(folder, PAGE, key, _summary(data, reports))
        for report in reports:
            record = report.record or {}
            if record.get("registered"):
                card = _card_name(report)
                runs.link(run_id, record["registered"], record["version"], report.file_name, card)
    for report in reports:
        if not report.has_skill:
            log.warning("%s: no model beats guessing; %s says what to try.", report.name, folder / report.file_name)
    first = folder / (reports[0].file_name if len(datasets) == len(own) == 1 else PAGE)
    log.info("report: %d data sets, %d models, in %s.", len(datasets), table["model"].nunique(), first)
    return folder


def _card_name(report: DatasetReport) -> str:
    return f"{report.name}.card.md"


def write_table1(table: table1.Table1, folder: Path) -> None:
    """Write Table 1 in four formats."""
    write_text(folder / "table.md", table.markdown())
    write_text(folder / "table.csv", table.csv())
    write_text(folder / "table.tex", table.latex())
    write_text(folder / "table.html", table.html())


def write_pictures(pictures: Iterable[Picture], folder: Path, plots: Path) -> dict[str, str]:
    """Write SVG files for the report, and PNG files for `dvc plots`; return {name: SVG}."""
    return {
        picture.name: drawing.save(
            picture.drawing, picture.name, folder / FIGURES, plots if picture.has_bitmap else None
        )
        for picture in pictures
    }


def means(table: pd.DataFrame, metrics: Mapping[str, str]) -> dict[str, Any]:
    """For `dvc metrics`: the mean over the data sets of the metric that decides, of each model that has it on all.

    metrics: that of each data set. If they differ, the means stand under the name of the metric, over its data sets.
    """
    found = {
        metric: _means(table[table["dataset"].isin([name for name in metrics if metrics[name] == metric])], metric)
        for metric in dict.fromkeys(metrics.values())
    }
    return found if len(found) > 1 else next(iter(found.values()))


def _means(table: pd.DataFrame, metric: str) -> dict[str, float]:
    values = table[table["metric"] == metric].pivot_table(
        index="dataset", columns="model", values="value", aggfunc=_mean_of_all, dropna=False, sort=False
    )
    return {str(model): round(float(mean), 6) for model, mean in values.mean(skipna=False).dropna().items()}


def _mean_of_all(values: pd.Series) -> float:
    """NaN if a fold has no value: the mean of fewer folds could not be compared."""
    return float(values.mean(skipna=False))


def describe(
    table: pd.DataFrame, training_commits: Sequence[str], seconds: float, metric: str | None = None
) -> dict[str, str]:
    """How the report and its numbers were made."""
    options = ["--metric", metric] if metric is not None else []
    command = shlex.join(["ldep", "report", *table["dataset"].unique(), *options])
    stage = os.environ.get("DVC_STAGE")
    return {
        "Time": datetime.now(UTC).isoformat(timespec="seconds"),
        "Command": f"{command} (dvc repro, stage {stage})" if stage else command,
        "Software and machine": machine.describe(),
        "Trained at commit": ", ".join(training_commits) or "unknown: these data sets have no tracked run",
        "CPU time of the training": f"{total_cost(table):.0f} s",
        "Time to make the report": f"{seconds:.1f} s",
    }


def _summary(data: ReportData | None, reports: Sequence[DatasetReport]) -> list[str]:
    """The first lines of the run in MLflow."""
    sentences = summary.findings(data) if data is not None else []
    return [*sentences, *(f"{report.name}: {summary.dataset_findings(report)[0]}" for report in reports)]


def _digest(folder: Path) -> str:
    """The same for two reports with the same files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest("report", [(str(path.relative_to(folder)), file_digest(path)) for path in files])
