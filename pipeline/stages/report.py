"""Stage report: the paper's table with our results, tests and figures on one page, and a page per own data set."""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.common import machine
from pipeline.common.digests import digest, file_digest
from pipeline.common.errors import UserError, first_line, nearest
from pipeline.common.files import write_json, write_text
from pipeline.config import paths
from pipeline.config.params import Params
from pipeline.data import folds
from pipeline.data.provenance import Provenance
from pipeline.data.stage_files import read_imputed
from pipeline.execution import results
from pipeline.fitting.metrics import METRICS
from pipeline.registry import evidence
from pipeline.reporting import costs, drawing, measures, page, summary, table1
from pipeline.reporting.figure import Picture
from pipeline.reporting.figures import all_figures
from pipeline.reporting.own import figures as own_figures
from pipeline.reporting.own import findings, model_card
from pipeline.reporting.own import page as own_page
from pipeline.reporting.own.dataset_report import DatasetReport
from pipeline.reporting.report_data import DatasetInfo, PlanarData, ReportData
from pipeline.tracking.report_run import ReportRuns

log = logging.getLogger(__name__)
PAGE, PROVENANCE, FIGURES = "report.html", "provenance.json", "figures"
# By what the paper's page can compare the models: the metrics of the results, and times.
MEASURES = {
    name: measures.of_metric(name, metric.is_share, metric.higher_is_better, metric.needs)
    for name, metric in METRICS.items()
} | measures.TIMES


def run(datasets: Sequence[str], params: Params, root: Path = Path(), metric: str | None = None) -> Path:
    """Write report/, plots/ and metrics/mean.json from the results, log the report in MLflow, return its folder.

    Data sets of the catalogue share the paper's page; each own data set has a page of its own. metric: by which the
    paper's page compares the models, one of MEASURES; None for that of the parameters.
    """
    start = time.monotonic()
    own = [name for name in datasets if name in params.own_data]
    of_catalogue = [name for name in datasets if name not in own]
    if metric is not None:
        if metric not in MEASURES:
            raise UserError(f"'{metric}' is not a metric of the report; {nearest(metric, MEASURES)}")
        if not of_catalogue:
            raise UserError(
                "--metric is about the page of the catalogue's data sets, and all of these are your own. Their pages "
                "follow `metric` in params.yaml, and show every other metric beside it."
            )
    # Before any work: a tracking store that does not answer is an error.
    runs = ReportRuns(params.tracking, root) if params.tracking.enabled else None
    table = results.read_all(datasets, root / paths.RESULTS)
    data = read(of_catalogue, root, metric or params.metric) if of_catalogue else None
    reports = [evidence.gather(name, _read_decision(name, root), params, root) for name in own]
    with _replaced(root / paths.REPORT) as folder, _replaced(root / paths.PLOTS) as plots:
        results.write_table(table, folder / results.TABLE)
        table_1 = write_tables(data, folder) if data is not None else None
        pictures = write_figures(data, folder, plots) if data is not None else []
        own_pictures = [write_own_files(report, folder, plots) for report in reports]
        key = _digest(folder)  # before the provenance, which differs between two reports of the same results
        commits = runs.training_commits(datasets) if runs is not None else []
        provenance = describe(table, commits, time.monotonic() - start, metric)
        write_json(folder / PROVENANCE, provenance)
        for report, drawn in zip(reports, own_pictures):
            write_text(folder / own_page.file_name(report.name), own_page.render(report, drawn, provenance))
        if data is not None and table_1 is not None:
            write_text(folder / PAGE, page.render(data, table_1, pictures, provenance, reports))
        else:
            write_text(folder / PAGE, own_page.render_entry(reports, provenance))
    folder = root / paths.REPORT
    write_json(root / paths.MEANS, means(table, params.metric))
    if runs is not None:
        runs.log(folder, PAGE, key, _summary(data, reports))
    first = folder / (own_page.file_name(own[0]) if len(datasets) == len(own) == 1 else PAGE)
    log.info("report: %d data sets, %d models, in %s.", len(datasets), table["model"].nunique(), first)
    return folder


def read(datasets: Sequence[str], root: Path, metric: str = "accuracy") -> ReportData:
    """Everything that the report shows, from the files of the other stages."""
    table = results.read_all(datasets, root / paths.RESULTS)
    sources = table.drop_duplicates("dataset").set_index("dataset")["source"]
    curves = [results.read_curves(name, root / paths.RESULTS).assign(dataset=name) for name in datasets]
    planar = {name: _read_planar(name, root) for name in datasets}
    decisions = {name: _read_decision(name, root) for name in datasets}
    return ReportData(
        results=table,
        curves=pd.concat(curves, ignore_index=True),
        datasets={name: _read_info(name, sources[name], root) for name in datasets},
        measures=MEASURES,
        metric=metric,
        planar={name: rows for name, rows in planar.items() if rows is not None},
        decisions={name: decision for name, decision in decisions.items() if decision is not None},
    )


def write_tables(data: ReportData, folder: Path) -> table1.Table1:
    """Write Table 1 in four formats, and return it."""
    table = table1.build(data.scores, {name: info.origin for name, info in data.datasets.items()})
    write_text(folder / "table.md", table.markdown())
    write_text(folder / "table.csv", table.csv())
    write_text(folder / "table.tex", table.latex())
    write_text(folder / "table.html", page.render_table1(table))
    return table


def write_figures(data: ReportData, folder: Path, plots: Path) -> list[tuple[Picture, str]]:
    """Write each figure as SVG, and as PNG unless it is about another metric; return it with its SVG."""
    pictures = [picture for figure in all_figures() for picture in figure.pictures(data)]
    of_other_metrics = [picture for figure in all_figures() for picture in figure.of_other_metrics(data)]
    return [*_saved(pictures, folder, plots), *_saved(of_other_metrics, folder, None)]


def write_own_files(report: DatasetReport, folder: Path, plots: Path) -> list[tuple[Picture, str]]:
    """Write the model card of an own data set, and its figures; return each figure with its SVG."""
    write_text(folder / f"{report.name}.card.md", model_card.markdown(report))
    return _saved(own_figures.pictures(report), folder, plots)


def _saved(pictures: Sequence[Picture], folder: Path, plots: Path | None) -> list[tuple[Picture, str]]:
    """SVG files for the report, PNG files for `dvc plots`, which shows images without the network."""
    return [(picture, drawing.save(picture.drawing, picture.name, folder / FIGURES, plots)) for picture in pictures]


def means(table: pd.DataFrame, metric: str) -> dict[str, float]:
    """For `dvc metrics`: the mean over the data sets of the metric that decides, of each model that has it on all."""
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
        "CPU time of the training": f"{costs.total(table):.0f} s",
        "Time to make the report": f"{seconds:.1f} s",
    }


def _read_info(name: str, source: str, root: Path) -> DatasetInfo:
    """source: the one that the results name. A provenance from another source is not that of their data."""
    provenance = Provenance.read(name, root / paths.DATA)
    return DatasetInfo(
        origin=provenance.in_words() if provenance.source == source else source,
        rows=provenance.rows,
        features=provenance.features,
        nominal=provenance.nominal,
        missing=provenance.missing,
        classes=provenance.classes or {},
        md5=provenance.md5 or "",
        repeats=_repeats(name, root / paths.DATA),
    )


def _repeats(name: str, folder: Path) -> int:
    """The number of repeats; 1 without a file of folds, as for results from elsewhere."""
    return folds.read(name, folder).repeats if paths.folds(name, folder).is_file() else 1


def _read_planar(name: str, root: Path) -> PlanarData | None:
    """The rows and decision values of a data set with two features; None for the others."""
    grids = results.read_boundaries(name, root / paths.RESULTS)
    if not grids:
        return None
    frame = read_imputed(name, root / paths.DATA)
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    first, second = map(str, X.columns)
    return PlanarData(X.to_numpy(dtype=np.float64), np.asarray(y, dtype=str), (first, second), grids)


def _read_decision(name: str, root: Path) -> dict[str, Any] | None:
    """What the stage register decided about the data set's model; None if it has not run."""
    path = root / paths.REGISTRY / f"{name}.json"
    try:
        decision = json.loads(path.read_text(encoding="utf-8"))
        missing = {"model", "metric", "metrics", "registered", "why"} - set(decision)
        if missing or decision["metric"] not in decision["metrics"]:
            raise ValueError("it is not a record of a registration")
        return decision
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep register {name}` again.") from None


def _summary(data: ReportData | None, reports: Sequence[DatasetReport]) -> list[str]:
    """The first lines of the run in MLflow."""
    sentences = summary.findings(data) if data is not None else []
    return [*sentences, *(f"{report.name}: {findings.findings(report)[0]}" for report in reports)]


def _digest(folder: Path) -> str:
    """The same for two reports with the same files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest("report", [(str(path.relative_to(folder)), file_digest(path)) for path in files])


@contextmanager
def _replaced(target: Path) -> Iterator[Path]:
    """Give a new folder that replaces `target` when the block ends without an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        scratch.chmod(0o755)
        yield scratch
        shutil.rmtree(target, ignore_errors=True)
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
