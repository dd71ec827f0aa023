"""The subcommands of `ldep`: a function for each that calls the implementation, and the table of them all.

Imports of the implementations stand inside the functions: pandas, scikit-learn and MLflow take seconds, and `--help`
needs none of them.
"""

from __future__ import annotations

import gc
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.commands import arguments
from pipeline.common.errors import UserError, nearest

if TYPE_CHECKING:
    from pipeline.config.params import Params
    from pipeline.data.tables import Layout


@dataclass(frozen=True)
class Command:
    """One subcommand. `summary` completes the sentence "this command will ...", without a full stop.

    `run` may return an exit code.
    """

    name: str
    run: Callable[[Namespace], int | None]
    arguments: tuple[Callable[[ArgumentParser], None], ...]
    summary: str
    example: str


def run_check(args: Namespace) -> None:
    from pipeline.stages import check

    check.run(args.params)


def run_fetch(args: Namespace) -> None:
    from pipeline.common import progress
    from pipeline.stages import fetch

    params, datasets = _load(args)
    for name in progress.over(datasets, "fetch"):
        fetch.run(name, params.data, params.own_data)


def run_impute(args: Namespace) -> None:
    from pipeline.common import progress
    from pipeline.stages import impute

    params, datasets = _load(args)
    for name in progress.over(datasets, "impute"):
        impute.run(name, params.impute, params.own_data)


def run_split(args: Namespace) -> None:
    from pipeline.common import progress
    from pipeline.stages import split

    params, datasets = _load(args)
    for name in progress.over(datasets, "split"):
        split.run(name, params.split)


def run_train(args: Namespace) -> None:
    from pipeline.common import progress
    from pipeline.stages import train

    params, datasets = _load(args)
    failures = []
    for name in progress.over(datasets, "train"):
        try:
            train.run(name, params)
        except train.ModelsFailed as error:  # the other data sets go on
            failures.append(str(error))
    if failures:
        raise UserError("\n".join(failures))


def run_register(args: Namespace) -> None:
    from pipeline.common import progress
    from pipeline.stages import register

    params, datasets = _load(args)
    for name in progress.over(datasets, "register"):
        register.run(name, params, promote=args.promote)


def run_report(args: Namespace) -> None:
    from pipeline.stages import report

    gc.freeze()  # statsmodels collects garbage with every correction: leave out what the libraries have made
    params, datasets = _load(args)
    report.run(datasets, params, metric=args.metric)


def run_datasets(args: Namespace) -> None:
    from pipeline.commands import datasets
    from pipeline.config import catalogue, params

    if args.names:
        print(",".join(catalogue.load()))
        return
    own_data = params.load(args.params).own_data if args.params.is_file() else {}
    print(datasets.table(own_data))


def run_inspect(args: Namespace) -> None:
    from pipeline.commands import inspect

    inspect.run(args.source, args.target, _guessed_layout(args), args.json)


def run_new(args: Namespace) -> None:
    from pipeline.commands import new

    new.run(
        args.name,
        args.source,
        args.target,
        ignore=args.ignore,
        layout=_guessed_layout(args),
        suite=args.suite,
        metric=args.metric,
        split={"time": args.time, "group": args.group} if args.time or args.group else None,
        params=args.params,
    )


def _guessed_layout(args: Namespace) -> Layout:
    """Return the layout of a file: what the user says of it, and guesses for the rest."""
    from pipeline.data.tables import Layout
    from pipeline.data.tables.guess import guess_layout

    guess = guess_layout(args.source)
    delimiter = "\t" if args.delimiter == r"\t" else args.delimiter
    return Layout(delimiter or guess.delimiter, args.decimal or guess.decimal, args.encoding or guess.encoding)


def run_set(args: Namespace) -> None:
    from pipeline.config import edit

    edit.set_values(edit.assignments(args.assignments), args.params)


def run_tune(args: Namespace) -> None:
    from pipeline.commands import tune
    from pipeline.common import progress

    params, datasets = _load(args)
    for name in progress.over(datasets, "tune"):
        tune.run(name, args.model, params, args.trials)


def run_score(args: Namespace) -> int:
    from pipeline.commands import check_drift, score
    from pipeline.data.tables import Layout

    if args.target is None and not args.check:
        raise UserError("name the file to write (OUT), or add --check to compare the rows with those of training.")
    if args.json is not None and not args.check:
        raise UserError("--json writes the comparison of --check; add --check.")
    delimiter = "\t" if args.delimiter == r"\t" else args.delimiter
    layout = Layout(delimiter, args.decimal, args.encoding)
    if args.target is not None:
        score.run(args.model, args.source, args.target, explain=args.explain, strict=args.strict, layout=layout)
    if args.check and check_drift.run(args.model, args.source, args.json, layout=layout):
        return check_drift.EXIT_CODE
    return 0


def run_serve(args: Namespace) -> None:
    from pipeline.commands import serve
    from pipeline.serving.request_log import RequestLog

    request_log = args.log_requests and RequestLog(args.log_requests.absolute(), args.log_megabytes * 2**20)
    options = serve.Options(args.port, args.workers, args.strict, request_log)
    serve.run(args.name, args.alias, options)


def run_ui(args: Namespace) -> None:
    from pipeline.commands import ui
    from pipeline.config import params

    ui.run(params.load(args.params).tracking.experiment, args.port)


def run_stream(args: Namespace) -> None:
    from pipeline.commands import stream

    settings = {
        "r1": args.pieces,
        "r2": args.pieces,
        "alpha": args.alpha,
        "penalty": args.penalty,
        "sample_size": args.sample,
    }
    stream.run(args.source, args.folder, args.target, ignore=args.ignore, settings=settings, seed=args.seed)


def run_export(args: Namespace) -> None:
    from pipeline.commands import export

    export.run(args.model, args.out, args.format, contributions=not args.no_contributions)


def run_explore(args: Namespace) -> None:
    from pipeline.commands import explore

    explore.run(args.model, args.out)


def run_publish(args: Namespace) -> None:
    from pipeline.commands import publish

    publish.run(args.target, args.params)


def run_protocol(args: Namespace) -> None:
    from pipeline.commands import protocol
    from pipeline.config import catalogue, params, paths

    data = params.load(args.params).data if args.params.is_file() else params.Data()
    names = [catalogue.entry(name).name for name in args.datasets] or list(catalogue.load())
    protocol.run(names, data, args.out or paths.REPORTS / "protocol")


def _load(args: Namespace) -> tuple[Params, list[str]]:
    """Return the parameters, and the data sets that the command was given or those of params.yaml."""
    from pipeline.config import catalogue, params

    values = params.load(args.params)
    known = [*catalogue.load(), *values.own_data]
    for name in args.datasets:
        if name not in known:
            raise UserError(f"'{name}' is neither in the catalogue nor in own_data; {nearest(name, known)}")
    return values, args.datasets or values.datasets


STAGE = (arguments.datasets, arguments.params)
STAGES = (
    Command("check", run_check, (arguments.params,), "check params.yaml before any stage runs", "ldep check"),
    Command("fetch", run_fetch, STAGE, "download the data sets from OpenML or a fallback source", "ldep fetch banana"),
    Command("impute", run_impute, STAGE, "encode nominal features and fill missing cells", "ldep impute banana"),
    Command("split", run_split, STAGE, "assign every row to a fold", "ldep split banana"),
    Command("train", run_train, STAGE, "train, tune and track the models on every fold", "ldep train banana"),
    Command(
        "register",
        run_register,
        (*STAGE, arguments.register),
        "fit the best model of each data set on all its rows and register it in MLflow",
        "ldep register banana",
    ),
    Command(
        "report",
        run_report,
        (*STAGE, arguments.report),
        "write the report: tables, statistical tests and figures",
        "ldep report --metric log_loss",
    ),
)
OTHER_COMMANDS = (
    Command(
        "datasets",
        run_datasets,
        (arguments.catalogue, arguments.params),
        "list the data sets and where each is available",
        "ldep datasets",
    ),
    Command(
        "inspect",
        run_inspect,
        (arguments.inspect, arguments.guessed_layout),
        "look at a file of rows: kinds of columns, gaps, classes, and what looks wrong",
        "ldep inspect customers.csv --target churned",
    ),
    Command(
        "new",
        run_new,
        (arguments.new, arguments.guessed_layout, arguments.params),
        "make a file a data set of params.yaml, with the models and the metric that suit it",
        "ldep new customers customers.csv --target churned && dvc repro",
    ),
    Command(
        "set",
        run_set,
        (arguments.assignments, arguments.params),
        "change values in params.yaml, checked, with its comments kept",
        "ldep set 'models=[ldep,rbf_svc]' tuning.trials=50",
    ),
    Command(
        "tune",
        run_tune,
        (*STAGE, arguments.tune),
        "choose the settings of one model on all rows of a data set",
        "ldep tune banana --model ldep",
    ),
    Command(
        "score",
        run_score,
        (arguments.score,),
        "score a file of raw rows with a registered model",
        "ldep score models:/ldep-banana@champion rows.csv scored.parquet --explain",
    ),
    Command(
        "serve",
        run_serve,
        (arguments.serve,),
        "serve the champion of a data set over HTTP, with a curl command to try it",
        "ldep serve banana",
    ),
    Command(
        "ui",
        run_ui,
        (arguments.ui, arguments.params),
        "open MLflow's UI on the runs, grouped by data set; print its address",
        "ldep ui",
    ),
    Command(
        "stream",
        run_stream,
        (arguments.stream,),
        "fit an ℓ-DEP to a Parquet file of any size, in bounded memory",
        "ldep stream rows.parquet models/rows --target label && ldep score models/rows rows.parquet scored.parquet",
    ),
    Command(
        "export",
        run_export,
        (arguments.export,),
        "write a registered ℓ-DEP as ONNX or as a C header",
        "ldep export models:/ldep-banana@champion --format onnx -o banana.onnx",
    ),
    Command(
        "explore",
        run_explore,
        (arguments.explore,),
        "write a registered ℓ-DEP as a page to play with in a browser",
        "ldep explore models:/ldep-banana@champion -o banana.html",
    ),
    Command(
        "publish",
        run_publish,
        (arguments.publish, arguments.params),
        "copy the report into a folder that can be committed",
        "ldep publish reports/paper",
    ),
    Command(
        "protocol",
        run_protocol,
        (arguments.protocol, arguments.params),
        "reproduce the two SVC columns of the paper's table on its data and folds",
        "ldep protocol banana wdbc --out two-sets",
    ),
)
