"""The arguments of the subcommands of `ldep`: each function adds some to a parser."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path


def params(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--params", type=Path, default=Path("params.yaml"), metavar="FILE", help="parameters (default: params.yaml)"
    )


def datasets(parser: ArgumentParser) -> None:
    parser.add_argument("datasets", nargs="*", metavar="DATASET", help="data sets (default: those of params.yaml)")


def register(parser: ArgumentParser) -> None:
    parser.add_argument("--promote", action="store_true", help="make the new version the champion, whatever the rule")


def report(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="by what the paper's page compares the models: a metric of docs/params.md, fit_time, tuning_time or "
        "predict_time; nothing is fitted again (default: that of params.yaml)",
    )


def catalogue(parser: ArgumentParser) -> None:
    parser.add_argument("--names", action="store_true", help="print the names only, separated by commas")


def tune(parser: ArgumentParser) -> None:
    parser.add_argument("--model", default="ldep", help="a classifier of params.yaml with a search (default: ldep)")
    parser.add_argument("--trials", type=int, help="number of trials (default: that of params.yaml)")


def score(parser: ArgumentParser) -> None:
    _model_address(parser)
    parser.add_argument("source", metavar="IN", type=Path, help="raw rows: a .csv, .arff or .parquet file of any size")
    parser.add_argument(
        "target", metavar="OUT", type=Path, nargs="?", help="the .csv or .parquet file to write; optional with --check"
    )
    parser.add_argument("--explain", action="store_true", help="add the contribution of each feature")
    parser.add_argument(
        "--strict", action="store_true", help="stop at the first value that the model would take as missing"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare the rows with those of training, and print which columns moved; exit code 3 if any did. IN may "
        "also be a log of `ldep serve --log-requests`",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="with --check: also write the comparison to this file"
    )
    parser.add_argument("--delimiter", default=",", help=r"between the cells of a .csv file; \t is a tab (default: ,)")
    parser.add_argument("--decimal", default=".", help="decimal sign of the numbers in a .csv file (default: .)")
    parser.add_argument("--encoding", default="utf-8", help="encoding of a .csv or .arff file (default: utf-8)")


def inspect(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="FILE", type=Path, help="a .csv, .arff or .parquet file")
    parser.add_argument("--target", metavar="COLUMN", help="the column with the classes (default: the last column)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the profile to this file")


def new(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a name for the data set")
    parser.add_argument("source", metavar="FILE", type=Path, help="a .csv, .arff or .parquet file")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column with the classes")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="COLUMN", help="a further column to leave out; repeatable"
    )
    parser.add_argument(
        "--suite", choices=["quick", "standard", "full"], default="standard", help="models to run (default: standard)"
    )
    parser.add_argument("--metric", help="what to tune for (default: by the balance of the classes)")
    split = parser.add_mutually_exclusive_group()
    split.add_argument("--time", metavar="COLUMN", help="test models on later rows than they are trained on")
    split.add_argument("--group", metavar="COLUMN", help="keep the rows with the same cell here in one fold")


def guessed_layout(parser: ArgumentParser) -> None:
    parser.add_argument("--delimiter", help=r"between the cells of a .csv file; \t is a tab (default: guessed)")
    parser.add_argument("--decimal", help="decimal sign of the numbers in a .csv file (default: guessed)")
    parser.add_argument("--encoding", help="encoding of a .csv or .arff file (default: guessed)")


def ui(parser: ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=5000, help="port on localhost (default: 5000)")


def serve(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="DATASET", help="the data set whose model is served, or a folder of `ldep stream`"
    )
    parser.add_argument("--alias", default="champion", help="alias of the version to serve (default: champion)")
    parser.add_argument("--port", type=int, default=5001, help="port on localhost (default: 5001)")
    parser.add_argument("--workers", type=_positive_integer, default=2, help="processes that answer (default: 2)")
    parser.add_argument(
        "--strict", action="store_true", help="refuse requests with values that the model would take as missing"
    )
    parser.add_argument(
        "--log-requests",
        type=Path,
        metavar="FILE",
        help="append the raw rows of answered requests to this file, one JSON object per line (default: no log)",
    )
    parser.add_argument(
        "--log-megabytes",
        type=_positive_integer,
        default=100,
        help="size at which the log is renamed to FILE.1, replacing the previous one, and begun again (default: 100)",
    )


def stream(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", type=Path, help="a .parquet file of any size")
    parser.add_argument("folder", metavar="MODEL", type=Path, help="a new folder, for `ldep score` and `mlflow models`")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column with the classes")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="COLUMN", help="a column to leave out; repeatable"
    )
    parser.add_argument("--pieces", type=_positive_integer, default=10, help="r1 and r2 (default: 10)")
    parser.add_argument("--alpha", type=_positive_number, default=1.0, help="weight of the penalty (default: 1)")
    parser.add_argument("--penalty", choices=["norm", "variance"], default="norm", help="of the slopes (default: norm)")
    parser.add_argument("--sample", type=_positive_integer, default=100_000, help="rows in memory (default: 100000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample, the starts and the held-out rows")


def assignments(parser: ArgumentParser) -> None:
    parser.add_argument("assignments", nargs="+", metavar="KEY=VALUE", help="a dotted key, and its value in YAML")


def export(parser: ArgumentParser) -> None:
    _model_address(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--format", choices=["onnx", "c"], help="(default: onnx for a file named .onnx, c for one named .h)"
    )
    parser.add_argument(
        "--no-contributions",
        action="store_true",
        help="leave the explanation out of an ONNX file, which is then faster",
    )


def explore(parser: ArgumentParser) -> None:
    _model_address(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the .html file to write")


def publish(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="FOLDER", type=Path, help="the folder to write; older pictures are removed")


def protocol(parser: ArgumentParser) -> None:
    parser.add_argument("datasets", nargs="*", metavar="DATASET", help="data sets (default: all 30 of the paper)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="the folder to write (default: reports/protocol)")


def _model_address(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL_URI", help="models:/NAME@ALIAS, models:/NAME/VERSION, or a folder")


def _positive_integer(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return value


def _positive_number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"'{text}' is not a number above 0")
    return value
