"""What the report shows, read from the files of the stages: the only module of this room that knows how it was made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldep.model import folded
from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.data import folds, own_file
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.data.profile import read_profile
from ldep_pipeline.data.stage_files import Provenance, read_imputed, read_raw
from ldep_pipeline.execution import results
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics.evaluation import classes_of, score_of_classes
from ldep_pipeline.metrics.metric import METRICS, Metric
from ldep_pipeline.report import groups
from ldep_pipeline.report.groups import GroupedColumn, Unseen
from ldep_pipeline.report.report_data import SET_COVERAGES, DatasetInfo, DatasetReport, PlanarData, ReportData
from ldep_pipeline.serving import calibration
from ldep_pipeline.serving.prediction_sets import ServedSets


def of_catalogue(table: pd.DataFrame, root: Path, metric: Metric, own: Sequence[DatasetReport] = ()) -> ReportData:
    """Everything for the page of the catalogue's data sets. table: their results."""
    sources = table.drop_duplicates("dataset").set_index("dataset")["source"]
    datasets = [str(name) for name in sources.index]
    curves = [results.read_curves(name, root / paths.RESULTS).assign(dataset=name) for name in datasets]
    planar = {name: _planar(name, root) for name in datasets}
    decisions = {name: _decision(name, root) for name in datasets}
    return ReportData(
        results=table,
        curves=pd.concat(curves, ignore_index=True),
        datasets={name: _info(name, sources[name], root) for name in datasets},
        metric=metric,
        planar={name: rows for name, rows in planar.items() if rows is not None},
        decisions={name: decision for name, decision in decisions.items() if decision is not None},
        own=own,
    )


def of_dataset(table: pd.DataFrame, params: Params, root: Path) -> DatasetReport:
    """Everything for the page of one own data set. table: its results."""
    name, folder = str(table["dataset"].iloc[0]), root / paths.DATA
    record = _decision(name, root)
    data = load_training_data(name, folder)
    raw = read_raw(name, folder)
    labels, counts = np.unique(data.y, return_counts=True)
    decisions = results.read_decisions(name, root / paths.RESULTS)
    found = {model: results.decisions_of(model, decisions) for model in table["model"].unique()}
    scores = {model: values for model, values in found.items() if values is not None}
    probabilities = {model: _probabilities(values, data) for model, values in scores.items()}
    report = DatasetReport(
        name=name,
        origin=Provenance.read(name, folder).in_words(),
        target=data.target,
        metric=METRICS[record["metric"] if record is not None else params.metric],
        results=table,
        split=data.partition.in_words(),
        test_share=_test_share(data),
        n_features=data.X.shape[1],
        classes={str(label): int(count) for label, count in zip(labels, counts)},
        y=data.y,
        scores=scores,
        probabilities={model: values for model, values in probabilities.items() if values is not None},
        thresholds={model: _thresholds(table[table["model"] == model], data) for model in scores},
        record=record,
        profile=read_profile(name, folder),
        example=_example(raw, record),
        sets={model: _sets(values, data) for model, values in scores.items()},
    )
    return replace(report, grouped=_grouped(report, params, raw))


def _sets(scores: np.ndarray, data: TrainingData) -> dict[float, np.ndarray]:
    """Prediction sets of each row at some coverages, calibrated without the rows of its fold.

    Empty if the other folds lack a class, as those of the first block by time may.
    """
    labels, decisions = np.unique(data.y), folded(scores)
    tested = np.isfinite(scores).all(axis=1)
    found = {coverage: np.zeros(scores.shape, dtype=bool) for coverage in SET_COVERAGES}
    for fold in range(data.partition.folds_per_repeat):
        inside = tested & data.test_rows(fold)
        outside = tested & ~inside
        if len(np.unique(data.y[outside])) < len(labels):
            return {}
        sets = ServedSets.fit(scores[outside], data.y[outside], labels)
        for coverage, contains in found.items():
            contains[inside] = sets.contains(decisions[inside], coverage)
    return found


def _grouped(report: DatasetReport, params: Params, raw: pd.DataFrame) -> list[GroupedColumn]:
    """What the winner does to the groups that the parameters ask about; nothing if it has no scores."""
    columns = _grouped_columns(report.name, params, raw)
    if report.winner not in report.scores:
        return []
    metric, classes = report.metric, classes_of(report.y, params.costs)
    kinds = {"scores": report.scores, "probabilities": report.probabilities}
    values = kinds.get(metric.needs, {}).get(str(report.winner))

    def value(rows: np.ndarray) -> float | None:
        y = report.y[rows]
        if metric.needs == "classes":
            return score_of_classes(metric.name, y, report.predicted[rows], classes)
        if values is None or (metric.needs == "scores" and len(np.unique(y)) < 2):
            return None
        return metric.value(classes.encode(y), classes.of_positive(values[rows]))

    unseen = Unseen(report.y, report.predicted, report.tested, value, report.positive)
    recourse = report.examination.get("recourse")
    return [groups.measure(column, groups.labels_of(raw[column]), unseen, recourse) for column in columns]


def _grouped_columns(name: str, params: Params, raw: pd.DataFrame) -> list[str]:
    """The columns that own_data.NAME.groups names."""
    own = params.own_data.get(name)
    if own is None:
        return []
    own_file.check_groups(own, [str(column) for column in raw.columns], name)
    return own.grouped


def _probabilities(scores: np.ndarray, data: TrainingData) -> np.ndarray | None:
    """The probability of each class, by a sigmoid or softmax that was fitted without the rows of the fold."""
    labels, decisions = np.unique(data.y), folded(scores)
    tested = np.isfinite(scores).all(axis=1)
    probabilities = np.full(scores.shape, np.nan)
    for fold in range(data.partition.folds_per_repeat):
        inside = tested & data.test_rows(fold)
        outside = tested & ~inside
        if len(np.unique(data.y[outside])) < 2:
            return None
        probabilities[inside] = calibration.fit(decisions[outside], data.y[outside], labels)(decisions[inside])
    return probabilities


def _thresholds(rows: pd.DataFrame, data: TrainingData) -> np.ndarray:
    """The threshold of each row by the results of one model, in the first repeat; 0 where no fold tests it."""
    of_fold = rows.drop_duplicates("fold").set_index("fold")["threshold"]
    thresholds = np.zeros(len(data.y))
    for fold in range(data.partition.folds_per_repeat):
        thresholds[data.test_rows(fold)] = of_fold[fold]
    return thresholds


def _test_share(data: TrainingData) -> float:
    """Rows of a test part divided by rows of a training part, the mean over the folds."""
    shares = [data.test_rows(fold).sum() / data.train_rows(fold).sum() for fold in range(data.n_folds)]
    return float(np.mean(shares))


def _example(raw: pd.DataFrame, record: Mapping[str, Any] | None) -> dict[str, Any]:
    """A typical row as plain values, without the target."""
    typical = (((record or {}).get("examination") or {}).get("rows") or {}).get("typical") or []
    row = raw.iloc[typical[0]["row"] if typical else 0, :-1]
    return {str(column): _plain(value) for column, value in row.items()}


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    if isinstance(value, (float, np.floating)):
        return int(value) if float(value).is_integer() else float(value)
    return str(value)


def _info(name: str, source: str, root: Path) -> DatasetInfo:
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


def _planar(name: str, root: Path) -> PlanarData | None:
    """The rows and decision values of a data set with two features; None for the others."""
    grids = results.read_boundaries(name, root / paths.RESULTS)
    if not grids:
        return None
    frame = read_imputed(name, root / paths.DATA)
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    first, second = map(str, X.columns)
    return PlanarData(X.to_numpy(dtype=np.float64), np.asarray(y, dtype=str), (first, second), grids)


def _decision(name: str, root: Path) -> dict[str, Any] | None:
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
