"""The command `ldep evaluate`: what a registered model is worth on what really happened, against what was promised."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ldep_pipeline.commands import (
    AS_TRAINED,
    CommandLine,
    add_layout,
    add_model_address,
    chosen_layout,
    measured,
    outcomes,
)
from ldep_pipeline.commands.measured import Measurement, Value, Verdict
from ldep_pipeline.commands.outcomes import Known
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.common.files import write_json
from ldep_pipeline.metrics.evaluation import classes_of
from ldep_pipeline.metrics.metric import METRICS, Metric
from ldep_pipeline.registry import download, notifications
from ldep_pipeline.registry.download import Opened
from ldep_pipeline.registry.origin import Promise
from ldep_pipeline.report import renderers

MISSED = 3  # the exit code if the promise is missed
FEW_ROWS = 30
ASSUMPTION = (
    "This is an estimate without outcomes. It assumes that the model's probabilities are right for these rows: that "
    "rows of the same kind have the same classes as in training, whatever the mix of the rows. If the classes have "
    "changed, no estimate can know it. `ldep score --check` says whether the columns have moved. On twelve real data "
    "sets, nine of ten such intervals held the metric, not 95 %."
)


def add_evaluate(parser: ArgumentParser) -> None:
    add_model_address(parser)
    parser.add_argument(
        "source",
        metavar="FILE",
        type=Path,
        help="rows with a column of what really happened (.csv, .arff or .parquet); with --log, ids and outcomes",
    )
    parser.add_argument("--target", metavar="COLUMN", help="the column of what really happened (default: the model's)")
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="a log of `ldep serve` with an id of each row, to be joined with FILE"
    )
    parser.add_argument("--id", metavar="COLUMN", help="with --log: the column of FILE with the ids")
    parser.add_argument(
        "--estimate", action="store_true", help="estimate the metrics of rows without outcomes; FILE may be a log"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    add_layout(parser, AS_TRAINED)


def evaluate(args: Namespace) -> int:
    if (args.log is None) != (args.id is None):
        raise UserError("--log and --id belong together: the log, and the column of FILE that has the log's ids.")
    if args.estimate and (args.log is not None or args.target is not None):
        raise UserError("--estimate needs no outcomes; leave --log, --id and --target out, or leave --estimate out.")
    result = run(
        args.model,
        args.source,
        target=args.target,
        log=args.log,
        id_=args.id,
        is_estimate=args.estimate,
        layout=vars(args),
    )
    print(result.text())
    if args.json is not None:
        write_json(args.json, result.to_json())
    if result.verdict is None or not result.verdict.is_missed:
        return 0
    found = result.to_json()
    facts = {name: found[name] for name in ("model", "version", "rows", "is_estimate", "verdict")}
    facts |= found["metrics"][result.verdict.metric] | {"file": str(args.source)}
    notifications.of_project("missed_promise", facts)
    return MISSED


class Result:
    """The measurement of a model on some rows, and the verdict about its promise, if there is one."""

    def __init__(self, uri: str, opened: Opened, known: Known, measurement: Measurement, is_estimate: bool) -> None:
        self.uri, self.version, self.origin = uri, opened.version, opened.origin
        self.known, self.measurement, self.is_estimate = known, measurement, is_estimate

    @property
    def verdict(self) -> Verdict | None:
        """The verdict about the metric that decided at registration."""
        if self.origin is None or self.origin.metric not in self.measurement.metrics:
            return None
        promise = self.origin.promised.get(self.origin.metric)
        found = self.measurement.metrics[self.origin.metric]
        return None if promise is None else measured.verdict(self.origin.metric, found, promise, self.origin.folds)

    def text(self) -> str:
        rows = len(self.known.answers)
        what = "estimated for" if self.is_estimate else "measured on"
        parts = [
            "\n".join(self.known.remarks),
            f"{self.uri}{self._version_text()}, {what} {rows} rows:",
            self._metric_table(),
            self._class_table(),
            f"Intervals of {100 * measured.LEVEL:.0f} %: {self.measurement.method}.",
        ]
        if self.is_estimate:
            parts.append(ASSUMPTION)
        if rows < FEW_ROWS:
            parts.append(f"With fewer than {FEW_ROWS} rows, only a large difference can be told from chance.")
        return "\n\n".join([*parts, self._verdict_text()])

    def _version_text(self) -> str:
        return "" if self.version is None else f" (version {self.version})"

    def _metric_table(self) -> str:
        found, promised = self.measurement.metrics, {} if self.origin is None else self.origin.promised
        columns = [renderers.Column("metric", "left"), renderers.Column("now"), renderers.Column("interval")]
        columns += [renderers.Column("promised"), renderers.Column("± standard error")]
        cells = []
        for name, value in found.items():
            metric, promise = METRICS[name], promised.get(name)
            cells.append([metric.title, *_shown(metric, value), *_promised(metric, promise)])
        return renderers.text(renderers.Table(columns, [[renderers.Cell(text) for text in row] for row in cells]))

    def _class_table(self) -> str:
        titles = ("class", "rows", "answered", "recall", "interval", "precision", "interval")
        columns = [renderers.Column(title, "left" if title == "class" else "right") for title in titles]
        share, cells = METRICS["accuracy"], []
        for label, rows in self.measurement.actual.items():
            recall, precision = self.measurement.recall.get(label), self.measurement.precision.get(label)
            shown = f"{rows:.1f}" if self.is_estimate else f"{rows:.0f}"
            answered = str(self.measurement.answered[label])
            cells.append([label, shown, answered, *_shown(share, recall), *_shown(share, precision)])
        return renderers.text(renderers.Table(columns, [[renderers.Cell(text) for text in row] for row in cells]))

    def _verdict_text(self) -> str:
        verdict, origin = self.verdict, self.origin
        if origin is None:
            return "The folder of this model has no promise to compare with: another tool has written it."
        metric = METRICS[origin.metric]
        if verdict is None:
            return f"There is no {metric.noun} to compare with the promise."
        value = self.measurement.metrics[origin.metric].value
        subject = f"The estimated {metric.noun}" if self.is_estimate else f"{metric.title}"
        start = (
            f"{subject} is {_with_unit(metric, value)}, and {_with_unit(metric, verdict.promised.mean)} was promised"
        )
        if verdict.most is None:
            return f"{start}. There is no interval to tell whether the difference is chance."
        if verdict.is_missed:
            return f"{start}: the promise is missed. Chance explains the shortfall in at most 2.5 % of the cases."
        return f"{start}: the promise is kept" + (", or chance explains the difference." if verdict.gain < 0 else ".")

    def to_json(self) -> dict[str, Any]:
        verdict, origin = self.verdict, self.origin
        return {
            "model": self.uri,
            "version": self.version,
            "rows": len(self.known.answers),
            "is_estimate": self.is_estimate,
            "independent": self.known.by,
            "remarks": self.known.remarks,
            **measured.to_json(self.measurement),
            "promised": None if origin is None else {name: asdict(value) for name, value in origin.promised.items()},
            "folds": None if origin is None else origin.folds,
            "verdict": None if verdict is None else asdict(verdict) | {"is_missed": verdict.is_missed},
        }


def run(
    uri: str,
    source: Path,
    *,
    target: str | None = None,
    log: Path | None = None,
    id_: str | None = None,
    is_estimate: bool = False,
    layout: Mapping[str, Any] | None = None,
    root: Path = Path(),
) -> Result:
    """Measure a model on rows with outcomes, or estimate its metrics on rows without."""
    opened = download.open_model(uri, root)
    model, origin = opened.model, opened.origin
    if target is None and not is_estimate:
        if origin is None:
            raise UserError(f"{uri} does not say what its target is called; name the column with --target.")
        target = origin.target
    is_log = is_estimate and source.suffix == outcomes.request_log.SUFFIX
    written = chosen_layout(source, layout or {}, origin) if not is_log else None
    if is_log:
        known = outcomes.from_log(opened, source, None)
    elif log is not None and id_ is not None and target is not None and written is not None:
        known = outcomes.from_log(opened, log, outcomes.OutcomeFile(source, id_, target, written))
    else:
        assert written is not None
        known = outcomes.from_file(model, origin, source, target, written)
    answers = known.answers
    if not is_estimate:
        assert answers.truth is not None
        classes = origin.classes(model.classes) if origin else classes_of(answers.labels[answers.truth])
        return Result(uri, opened, known, measured.measure(answers, classes, known.by), is_estimate)
    if answers.probabilities is None or origin is None:
        raise UserError(f"{uri} has no probabilities, from which the metrics could be estimated.")
    classes = origin.classes(model.classes)
    return Result(uri, opened, known, measured.estimate(answers, classes, origin.rows), is_estimate)


def _shown(metric: Metric, value: Value | None) -> tuple[str, str]:
    if value is None:
        return renderers.MISSING, ""
    interval = "" if value.interval is None else f"{metric.text(value.interval[0])} to {metric.text(value.interval[1])}"
    return _with_unit(metric, value.value), interval


def _promised(metric: Metric, promise: Promise | None) -> tuple[str, str]:
    if promise is None:
        return "", ""
    error = promise.standard_error
    return _with_unit(metric, promise.mean), "" if error is None else metric.text(error)


def _with_unit(metric: Metric, value: float) -> str:
    return f"{metric.text(value)}{metric.unit}"


COMMANDS = {
    "evaluate": CommandLine(add_evaluate, evaluate, "ldep evaluate models:/ldep-banana@champion last-month.csv")
}
