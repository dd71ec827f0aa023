"""The stages of dvc.yaml as commands, and `ldep tune`, which is not part of `dvc repro`.

The stages are imported by the functions that run them: `ldep split` needs neither MLflow nor the report.
"""

from __future__ import annotations

import importlib
import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ldep_pipeline.commands import CommandLine, add_params
from ldep_pipeline.common import progress
from ldep_pipeline.common.errors import UserError, nearest
from ldep_pipeline.common.files import write_json
from ldep_pipeline.config import params, paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.data import catalogue

log = logging.getLogger(__name__)


def add_stage(parser: ArgumentParser) -> None:
    parser.add_argument("datasets", nargs="*", metavar="DATASET", help="data sets (default: those of params.yaml)")
    add_params(parser)


def load(args: Namespace) -> tuple[Params, list[str]]:
    """Return the parameters, and the data sets that the command was given or those of params.yaml."""
    values = params.load(args.params)
    known = [*catalogue.load(), *values.own_data]
    for name in args.datasets:
        if name not in known:
            raise UserError(f"'{name}' is neither in the catalogue nor in own_data; {nearest(name, known)}")
    return values, args.datasets or values.datasets_to_run()


def each_dataset(args: Namespace) -> Iterator[tuple[str, Params]]:
    """Yield the data sets one by one, each with its parameters, and show the progress."""
    values, datasets = load(args)
    for name in progress.over(datasets, args.command):
        yield name, values.of(name)


def check(args: Namespace) -> None:
    from ldep_pipeline.stages import check

    check.run(args.params)


RUN_ON: dict[str, Callable[[Any, str, Params, Namespace], Any]] = {
    "fetch": lambda stage, name, values, args: stage.run(name, values.data, values.own_data),
    "impute": lambda stage, name, values, args: stage.run(name, values.impute),
    "split": lambda stage, name, values, args: stage.run(name, values.split),
    "register": lambda stage, name, values, args: stage.run(name, values, promote=args.promote),
}


def run_on_each(args: Namespace) -> None:
    stage = importlib.import_module(f"ldep_pipeline.stages.{args.command}")
    for name, values in each_dataset(args):
        RUN_ON[args.command](stage, name, values, args)


def train(args: Namespace) -> None:
    from ldep_pipeline.stages import train

    failures = []
    for name, values in each_dataset(args):
        try:
            train.run(name, values)
        except train.ModelsFailed as error:  # the other data sets go on
            failures.append(str(error))
    if failures:
        raise UserError("\n".join(failures))


def add_register(parser: ArgumentParser) -> None:
    add_stage(parser)
    parser.add_argument("--promote", action="store_true", help="make the new version the champion, whatever the rule")


def report(args: Namespace) -> None:
    from ldep_pipeline.stages import report

    values, datasets = load(args)
    report.run(datasets, values, metric=args.metric)


def add_report(parser: ArgumentParser) -> None:
    add_stage(parser)
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="by what the paper's page compares the models: a metric of docs/params.md, fit_time, tuning_time or "
        "predict_time; nothing is fitted again (default: that of params.yaml)",
    )


def add_tune(parser: ArgumentParser) -> None:
    add_stage(parser)
    parser.add_argument("--model", default="ldep", help="a classifier of params.yaml with a search (default: ldep)")
    parser.add_argument("--trials", type=int, help="number of trials (default: that of params.yaml)")


def tune(args: Namespace) -> None:
    for name, values in each_dataset(args):
        tune_model(name, args.model, values, args.trials)


def tune_model(name: str, model: str, values: Params, trials: int | None = None, root: Path = Path()) -> dict[str, Any]:
    """Write tuned/NAME.MODEL.json (chosen settings, inner score, trials), and return it."""
    from ldep_pipeline.execution.scheduler import tune_on_all_rows

    outcome = tune_on_all_rows(name, model, with_trials(values, model, trials), root)
    record = {"dataset": name, "model": model, **outcome}
    write_json(root / paths.TUNED / f"{name}.{model}.json", record, infinite=True)
    log.info("%s, %s: %s %.4f with %s.", name, model, values.metric, outcome["value"], outcome["chosen"])
    return record


def with_trials(values: Params, model: str, trials: int | None) -> Params:
    """The same parameters, with another number of trials for one model."""
    if trials is None or model not in values.classifiers:
        return values
    if trials < 1:
        raise UserError(f"--trials is {trials}; it must be at least 1.")
    entry = values.classifiers[model].model_copy(update={"trials": trials})
    return values.model_copy(update={"classifiers": {**values.classifiers, model: entry}})


COMMANDS = {
    "check": CommandLine(add_params, check, "ldep check"),
    "fetch": CommandLine(add_stage, run_on_each, "ldep fetch banana"),
    "impute": CommandLine(add_stage, run_on_each, "ldep impute banana"),
    "split": CommandLine(add_stage, run_on_each, "ldep split banana"),
    "train": CommandLine(add_stage, train, "ldep train banana"),
    "register": CommandLine(add_register, run_on_each, "ldep register banana"),
    "report": CommandLine(add_report, report, "ldep report --metric log_loss"),
    "tune": CommandLine(add_tune, tune, "ldep tune banana --model ldep"),
}
