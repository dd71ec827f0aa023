"""The command `ldep`: one subcommand a stage, and a few to look around."""

from __future__ import annotations

import argparse
import atexit
import gc
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.common.errors import UserError, first_line

if TYPE_CHECKING:
    from pipeline.config.params import Params

# MLflow and scikit-learn are half a million objects that stay. By default Python looks for rubbish after each 700 new
# ones, and several times at its end: a second of CPU a command.
gc.set_threshold(20_000, 10, 10)
atexit.register(gc.freeze)

# Heavy imports (pandas, scikit-learn) stand inside the subcommands, so that --help is quick.


def main(argv: Sequence[str] | None = None) -> int:
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    logging.getLogger("pipeline").setLevel(logging.INFO)
    if not sys.stderr.isatty():
        os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")  # a log has no use for bars
    args = _parser().parse_args(argv)
    try:
        args.run(args)
        sys.stdout.flush()
    except UserError as error:
        print(f"ldep {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"ldep {args.command}: interrupted; files that were written are whole.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `ldep datasets | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk and an unwritable folder are for the user to mend
        said = f"{first_line(error)}. What was finished is kept: mend this, and run it again."
        print(f"ldep {args.command}: {said}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ldep", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, run: object, text: str, example: str) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=run)
        command.add_argument(
            "--params", type=Path, default=Path("params.yaml"), help="the parameters (default: params.yaml)"
        )
        return command

    catalogue = add("datasets", _datasets, "list the catalogue and what is at hand", "ldep datasets")
    catalogue.add_argument("--names", action="store_true", help="print the names alone, with commas")
    add("check", _check, "check params.yaml, before any stage runs", "ldep check")
    stages = [
        ("fetch", _fetch, "fetch data sets, from OpenML or where else they can be had", "ldep fetch banana"),
        ("impute", _impute, "encode nominal features and fill missing cells", "ldep impute banana"),
        ("split", _split, "give each row its fold", "ldep split banana"),
        ("train", _train, "train, tune and track the models", "ldep train banana"),
    ]
    for stage, run, text, example in stages:
        _with_names(add(stage, run, text, example), "the sets (default: those of params.yaml)")
    tune = add("tune", _tune, "choose a model's settings on all rows of a set", "ldep tune banana --model ldep")
    _with_names(tune, "the sets (default: those of params.yaml)")
    tune.add_argument("--model", default="ldep", help="one of classifiers that has a search (default: ldep)")
    tune.add_argument("--trials", type=int, default=None, help="trials of the study (default: those of params.yaml)")
    register = add(
        "register", _register, "fit the winner of each set on all its rows and register it", "ldep register banana"
    )
    _with_names(register, "the sets (default: those of params.yaml)")
    register.add_argument("--promote", action="store_true", help="make it the champion, whatever the rule says")
    report = add("report", _report, "write the table, the tests and the pictures of the results", "ldep report")
    _with_names(report, "the sets (default: those of params.yaml)")
    publish = add(
        "publish", _publish, "copy the report that is there to where it can be committed", "ldep publish reports/paper"
    )
    publish.add_argument("target", metavar="FOLDER", type=Path, help="is made, or filled again")
    score = add(
        "score",
        _score,
        "score a file of raw rows by a registered model",
        "ldep score models:/ldep-banana@champion rows.csv scored.parquet --explain",
    )
    score.add_argument("model", metavar="MODEL_URI", help="models:/NAME@ALIAS, models:/NAME/VERSION, or a folder")
    score.add_argument("source", metavar="IN", type=Path, help="a .csv or .parquet file of any size")
    score.add_argument("target", metavar="OUT", type=Path, help="a .csv or .parquet file; it appears when all is done")
    score.add_argument("--explain", action="store_true", help="add the contribution of each feature")
    stream = add(
        "stream",
        _stream,
        "fit an ℓ-DEP to a Parquet file of any size, in bounded memory",
        "ldep stream rows.parquet models/rows --target label && ldep score models/rows rows.parquet scored.parquet",
    )
    stream.add_argument("source", metavar="IN", type=Path, help="a .parquet file of any size")
    stream.add_argument("folder", metavar="MODEL", type=Path, help="a new folder, for `ldep score` and `mlflow models`")
    stream.add_argument("--target", required=True, help="the column of the class, with two values")
    stream.add_argument("--ignore", action="append", default=[], metavar="COLUMN", help="leave out; may be repeated")
    stream.add_argument("--pieces", type=_positive(int), default=10, help="r1 and r2 (default: 10)")
    stream.add_argument("--alpha", type=_positive(float), default=1.0, help="weight of the penalty (default: 1)")
    stream.add_argument("--penalty", choices=["norm", "variance"], default="norm", help="of the slopes (default: norm)")
    stream.add_argument("--sample", type=_positive(int), default=100_000, help="rows held in memory (default: 100000)")
    stream.add_argument("--seed", type=int, default=0, help="of the sample, the starts and what is held out")
    serve = add("serve", _serve, "serve the champion of a set by `mlflow models serve`", "ldep serve banana")
    serve.add_argument("name", metavar="NAME", help="the set")
    serve.add_argument("--alias", default="champion", help="of the version to serve (default: champion)")
    serve.add_argument("--port", type=int, default=5001, help="on localhost (default: 5001)")
    check = add(
        "protocol",
        _protocol,
        "run the two SVC columns of the paper's table on its data and folds, beside the printed ones",
        "ldep protocol banana wdbc --out two-sets",
    )
    _with_names(check, "the sets (default: all 30 of the paper)")
    check.add_argument("--out", type=Path, default=None, help="where to write (default: reports/protocol)")
    return parser


def _with_names(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("names", nargs="*", metavar="NAME", help=text)


def _load(args: argparse.Namespace) -> tuple[Params, list[str]]:
    from pipeline.common.errors import nearest
    from pipeline.config import catalogue, params

    values = params.load(args.params)
    known = [*catalogue.load(), *values.own_data]
    for name in args.names:
        if name not in known:
            raise UserError(f"'{name}' is neither in the catalogue nor in own_data; {nearest(name, known)}")
    return values, args.names or values.datasets


def _datasets(args: argparse.Namespace) -> None:
    from pipeline.commands import datasets
    from pipeline.config import catalogue, params

    if args.names:
        print(",".join(catalogue.load()))
        return
    own = params.load(args.params).own_data if args.params.is_file() else {}
    print(datasets.table(own))


def _check(args: argparse.Namespace) -> None:
    from pipeline.stages import check

    check.run(args.params)


def _fetch(args: argparse.Namespace) -> None:
    from pipeline.common import progress
    from pipeline.stages import fetch

    values, names = _load(args)
    for name in progress.over(names, "fetch"):
        fetch.run(name, values.data, values.own_data)


def _impute(args: argparse.Namespace) -> None:
    from pipeline.common import progress
    from pipeline.stages import impute

    values, names = _load(args)
    for name in progress.over(names, "impute"):
        impute.run(name, values.impute)


def _split(args: argparse.Namespace) -> None:
    from pipeline.common import progress
    from pipeline.stages import split

    values, names = _load(args)
    for name in progress.over(names, "split"):
        split.run(name, values.split)


def _train(args: argparse.Namespace) -> None:
    from pipeline.common import progress
    from pipeline.stages import train

    values, names = _load(args)
    failures = []
    for name in progress.over(names, "train"):
        try:
            train.run(name, values)
        except train.ModelsFailed as error:  # the other sets go on
            failures.append(str(error))
    if failures:
        raise UserError("\n".join(failures))


def _tune(args: argparse.Namespace) -> None:
    from pipeline.commands import tune
    from pipeline.common import progress
    from pipeline.execution.full_study import tune_on_all_rows

    values, names = _load(args)
    for name in progress.over(names, "tune"):
        tune_on_all_rows(name, args.model, tune.with_trials(values, args.model, args.trials))


def _register(args: argparse.Namespace) -> None:
    from pipeline.common import progress
    from pipeline.stages import register

    values, names = _load(args)
    for name in progress.over(names, "register"):
        register.run(name, values, promote=args.promote)


def _report(args: argparse.Namespace) -> None:
    from pipeline.stages import report

    values, names = _load(args)
    report.run(names, values)


def _publish(args: argparse.Namespace) -> None:
    from pipeline.commands import publish

    publish.run(args.target, args.params)


def _score(args: argparse.Namespace) -> None:
    from pipeline.commands import score

    score.run(args.model, args.source, args.target, args.explain)


def _positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return value

    parse.__name__ = "number"
    return parse


def _stream(args: argparse.Namespace) -> None:
    from pipeline.commands import stream

    settings = {
        "r1": args.pieces,
        "r2": args.pieces,
        "alpha": args.alpha,
        "penalty": args.penalty,
        "sample_size": args.sample,
    }
    stream.run(args.source, args.folder, args.target, ignore=args.ignore, settings=settings, seed=args.seed)


def _serve(args: argparse.Namespace) -> None:
    from pipeline.commands import serve

    serve.run(args.name, args.alias, args.port)


def _protocol(args: argparse.Namespace) -> None:
    from pipeline.commands import protocol
    from pipeline.config import catalogue, params, paths

    data = params.load(args.params).data if args.params.is_file() else params.Data()
    names = [catalogue.entry(name).name for name in args.names] or list(catalogue.load())
    protocol.run(names, data, args.out or paths.REPORTS / "protocol")


if __name__ == "__main__":
    sys.exit(main())
