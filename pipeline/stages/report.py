"""Stage report: the paper's table with our results, statistical tests, figures, and one page that shows all of it."""

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
from pipeline.common.errors import UserError, first_line
from pipeline.common.files import write_json, write_text
from pipeline.config import paths
from pipeline.config.params import Params
from pipeline.data.provenance import Provenance
from pipeline.data.stage_files import read_imputed
from pipeline.execution import results
from pipeline.reporting import drawing, page, summary, table1
from pipeline.reporting.figure import Picture
from pipeline.reporting.figures import all_figures
from pipeline.reporting.report_data import DatasetInfo, PlanarData, ReportData
from pipeline.tracking.report_run import ReportRuns

log = logging.getLogger(__name__)
PAGE, PROVENANCE, FIGURES = "report.html", "provenance.json", "figures"


def run(datasets: Sequence[str], params: Params, root: Path = Path()) -> Path:
    """Write report/ and metrics/mean.json from the results of the data sets, log them in MLflow, return the folder."""
    start = time.monotonic()
    # Before any work: a tracking store that does not answer is an error.
    runs = ReportRuns(params.tracking, root) if params.tracking.enabled else None
    data = read(datasets, root, params.metric)
    with _replaced(root / paths.REPORT) as folder:
        table = table1.build(data.accuracies, {name: info.origin for name, info in data.datasets.items()})
        write_tables(data, table, folder)
        pictures = write_figures(data, folder)
        key = _digest(folder)  # before the provenance, which differs between two reports of the same results
        commits = runs.training_commits(datasets) if runs is not None else []
        provenance = describe(data, commits, time.monotonic() - start)
        write_json(folder / PROVENANCE, provenance)
        write_text(folder / PAGE, page.render(data, table, pictures, provenance))
    folder = root / paths.REPORT
    write_json(root / paths.MEANS, means(data))
    if runs is not None:
        runs.log(folder, PAGE, key, summary.findings(data.accuracies, data.claims, data.ranks))
    log.info("report: %d data sets, %d models, in %s.", len(datasets), len(data.accuracies.models), folder / PAGE)
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
        metric=metric,
        planar={name: rows for name, rows in planar.items() if rows is not None},
        decisions={name: decision for name, decision in decisions.items() if decision is not None},
    )


def write_tables(data: ReportData, table: table1.Table1, folder: Path) -> None:
    """Write all results, and Table 1 in four formats."""
    results.write_table(data.results, folder / results.TABLE)
    write_text(folder / "table.md", table.markdown())
    write_text(folder / "table.csv", table.csv())
    write_text(folder / "table.tex", table.latex())
    write_text(folder / "table.html", page.render_table1(table))


def write_figures(data: ReportData, folder: Path) -> list[tuple[Picture, str]]:
    """Write each figure as SVG and PNG; return it with its SVG."""
    pictures = [picture for figure in all_figures() for picture in figure.pictures(data)]
    return [(picture, drawing.save(picture.drawing, folder / FIGURES, picture.name)) for picture in pictures]


def means(data: ReportData) -> dict[str, float]:
    """For `dvc metrics`: the mean over the data sets of the metric that decides, of each model that has it on all."""
    values = data.results[data.results["metric"] == data.metric].pivot_table(
        index="dataset", columns="model", values="value", aggfunc=_mean_of_all, dropna=False, sort=False
    )
    return {str(model): round(float(mean), 6) for model, mean in values.mean(skipna=False).dropna().items()}


def _mean_of_all(values: pd.Series) -> float:
    """NaN if a fold has no value: the mean of fewer folds could not be compared."""
    return float(values.mean(skipna=False))


def describe(data: ReportData, training_commits: Sequence[str], seconds: float) -> dict[str, str]:
    """How the report and its numbers were made."""
    command, stage = shlex.join(["ldep", "report", *data.accuracies.datasets]), os.environ.get("DVC_STAGE")
    return {
        "Time": datetime.now(UTC).isoformat(timespec="seconds"),
        "Command": f"{command} (dvc repro, stage {stage})" if stage else command,
        "Software and machine": machine.describe(),
        "Trained at commit": ", ".join(training_commits) or "unknown: these data sets have no tracked run",
        "CPU time of the training": f"{data.costs['total'].sum():.0f} s",
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
    )


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
