"""Commands that write params.yaml: `ldep new` adds a file as a data set, `ldep set` changes values."""

from __future__ import annotations

import filecmp
import inspect
import shlex
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from ldep.table import columns
from ldep_pipeline.commands import CommandLine, add_layout, add_params, run
from ldep_pipeline.commands.datasets import guessed_layout, text_table
from ldep_pipeline.common.errors import UserError, listed, nearest
from ldep_pipeline.common.files import replacing, safe_name
from ldep_pipeline.common.progress import duration, of_one_step
from ldep_pipeline.config import params, paths
from ldep_pipeline.config.params import OwnData, Params, load
from ldep_pipeline.data import catalogue, own_file
from ldep_pipeline.data.own_file import OwnTable, suggest
from ldep_pipeline.data.profile import Profile
from ldep_pipeline.data.tables import Layout
from ldep_pipeline.execution import pilot, pools, suites
from ldep_pipeline.execution.suites import ChosenModels, Timing
from ldep_pipeline.fitting.models import resolve
from ldep_pipeline.fitting.training_data import Partition, TrainingData
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.stages.impute import impute

CLASS_WEIGHT = "class_weight"
START = 5.0  # seconds until training has started its processes and loaded its modules


def add_new(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a name for the data set")
    parser.add_argument("source", metavar="FILE", type=Path, help="a .csv, .arff or .parquet file")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column with the classes")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="COLUMN", help="a further column to leave out; repeatable"
    )
    parser.add_argument(
        "--merge",
        action="append",
        default=[],
        metavar="COLUMN",
        help="take spellings that differ in case, spaces or Unicode form for one category, or one class; repeatable",
    )
    parser.add_argument(
        "--suite", choices=list(suites.SUITES), default="standard", help="models to run (default: standard)"
    )
    parser.add_argument("--metric", help="what to tune for (default: by the balance of the classes)")
    split = parser.add_mutually_exclusive_group()
    split.add_argument("--time", metavar="COLUMN", help="test models on later rows than they are trained on")
    split.add_argument("--group", metavar="COLUMN", help="keep the rows with the same cell here in one fold")
    add_layout(parser)
    add_params(parser)


def new(args: Namespace) -> None:
    """Look at a file, copy it to data/own/, and write the data set and what suits it to params.yaml."""
    name, file, layout = args.name, args.source, guessed_layout(args)
    _check_name(name, args.params)
    if not file.is_file():
        raise UserError(f"{file}: there is no such file." if not file.is_dir() else f"{file} is a folder; name a file.")
    if args.metric is not None and args.metric not in METRICS:
        raise UserError(f"there is no metric '{args.metric}'; {nearest(args.metric, METRICS)}")
    own = _entry(args, layout)
    with of_one_step(f"reading {file}"):
        fetched = own_file.fetch(name, own)  # it can be used
    found = fetched.profile
    print(f"{text_table(found)}\n")
    for warning in found.warnings():
        print(f"- {warning}")
    for suggestion in suggest(fetched.frame, found):
        option = suggestion.command(name)
        followed = own.split and option.startswith(("--group", "--time"))
        if not followed and option not in [f"--merge {shlex.quote(column)}" for column in own.merge]:
            print(f"- {suggestion.text}: {option}")
    path = _place(name, file)
    own = own.model_copy(update={"path": str(path)})
    metric = args.metric or suitable_metric(found)
    known = load(args.params)
    timings = _timings(args.suite, known, fetched)
    choice = suites.choose(args.suite, known, found.rows, _width(found), timings)
    entry = {**own.model_dump(exclude_defaults=True), "metric": metric, "models": choice.models}
    weights = class_weights(choice.models, known) if found.is_unbalanced else {}
    if weights:
        entry["classifiers"] = weights
    if path != file:
        with replacing(path) as part:
            shutil.copyfile(file, part)
    is_tracked = Path(".dvc").is_dir()
    if is_tracked:
        with of_one_step(f"dvc add {path}"):
            run(["dvc", "add", "--quiet", str(path)])
    params.set_values({("own_data", name): entry, ("datasets",): [*known.datasets, name]}, args.params)
    _report(name, path, found, choice, metric, args.suite)
    if is_tracked:
        print(f"DVC tracks {path}, and git only {path}.dvc: `dvc push` copies the rows to a remote, if there is one.")


def suitable_metric(found: Profile) -> str:
    """Accuracy, unless a class is rare: a model that never predicts it would then look good."""
    return "balanced_accuracy" if found.is_unbalanced else "accuracy"


def class_weights(models: Sequence[str], params: Params) -> dict[str, Any]:
    """Changes of `classifiers` that let tuning choose class weights, for the models that have them."""
    changes: dict[str, Any] = {}
    for model in models:
        name = params.classifiers[model].ensemble or model  # an ensemble is one of the trials of another model
        entry = params.classifiers[name]
        if not entry.search or CLASS_WEIGHT in {*entry.search, *entry.params}:
            continue
        if CLASS_WEIGHT not in inspect.signature(resolve(entry.class_)).parameters:
            continue
        changes[name] = {"search": {CLASS_WEIGHT: {"choices": [None, "balanced"]}}}
        if entry.first:
            weights = ["balanced" if number % 2 == 0 else None for number in range(len(entry.first))]
            first = [{**settings, CLASS_WEIGHT: weight} for settings, weight in zip(entry.first, weights)]
            changes[name]["first"] = first
    return changes


def _timings(suite: str, params: Params, fetched: OwnTable) -> dict[str, Timing]:
    """How long the models of a suite take, timed on samples of the rows in as many processes as training will have."""
    rows = suites.training_rows(len(fetched.frame), params)
    y = fetched.frame.iloc[:, -1].astype(str).to_numpy()
    sample = pilot.sample_rows(y, 2 * max(pilot.sample_sizes(rows)))
    numbers, _ = impute(fetched.frame.iloc[sample], columns=_recipes(fetched.profile))
    X = numbers.iloc[:, :-1]
    folds = Partition(np.zeros((len(sample), 1), dtype=int))
    data = TrainingData(X.to_numpy(float), y[sample], folds, list(X.columns), str(numbers.columns[-1]))
    tasks = []
    for model in suites.candidates(suite, params):
        entry = params.classifiers[model]
        tasks.append(pilot.PilotTask(model, entry, params.impute, rows, params.tuning.folds if entry.is_tuned else 0))
    with pools.open_pool(params.execution.model_copy(update={"backend": "local"}), data) as pool:
        return pilot.measure(tasks, pool)


def _recipes(found: Profile) -> list[dict[str, Any]]:
    return [column.recipe for column in found.columns if column.recipe is not None]


def _width(found: Profile) -> int:
    """The number of features after encoding."""
    return len(columns.labels([columns.from_json(recipe) for recipe in _recipes(found)]))


def _check_name(name: str, params: Path) -> None:
    try:
        safe_name(name)
    except ValueError as error:
        raise UserError(f"'{name}' cannot be the name of a data set: {error}.") from None
    if name in catalogue.load():
        raise UserError(f"the catalogue has a data set '{name}'; choose another name.")
    if name in load(params).own_data:
        raise UserError(f"{params} has a data set '{name}' already; choose another name, or remove own_data.{name}.")


def _entry(args: Namespace, layout: Layout) -> OwnData:
    split = {"time": args.time, "group": args.group} if args.time or args.group else None
    values = {"path": str(args.source), "target": args.target, "ignore": list(dict.fromkeys(args.ignore))}
    values |= {"merge": list(dict.fromkeys(args.merge))}
    try:
        return OwnData.model_validate({**values, "split": split, **asdict(layout)})
    except ValidationError as error:
        raise UserError(f"{error.errors()[0]['msg'].removeprefix('Value error, ')}.") from None


def _place(name: str, file: Path) -> Path:
    """Where the file is in the folder that DVC watches: its own place, or that of a copy."""
    if paths.OWN.resolve() in file.resolve().parents:
        return file
    copy = paths.OWN / f"{name}{file.suffix.lower()}"
    if copy.exists() and not filecmp.cmp(copy, file, shallow=False):
        raise UserError(f"{copy} exists and differs from {file}; remove it, or choose another name.")
    return copy


def _report(name: str, path: Path, found: Profile, choice: ChosenModels, metric: str, suite: str) -> None:
    print(f"\nThe file is {path}. params.yaml now has the data set '{name}':")
    if found.dropped:
        print(f"  left out: {listed(found.dropped)} (to keep one, name its kind in own_data.{name}.encode)")
    print(f"  models: {', '.join(choice.models)} (suite {suite}; --suite chooses {', '.join(suites.SUITES)})")
    for model, seconds in choice.left_out.items():
        print(f"  {model} is skipped: with {found.rows} rows it would take about {duration(seconds)}")
    print(f"  training takes about {duration(START + choice.seconds)}, estimated from a pilot fit of each model")
    print(f"  metric: {metric}, to tune and to choose the winner")
    print(f"Next: dvc repro, then open report/{name}.html.")


def add_set(parser: ArgumentParser) -> None:
    parser.add_argument("assignments", nargs="+", metavar="KEY=VALUE", help="a dotted key, and its value in YAML")
    add_params(parser)


def set_values(args: Namespace) -> None:
    params.set_values(params.assignments(args.assignments), args.params)


COMMANDS = {
    "new": CommandLine(add_new, new, "ldep new customers customers.csv --target churned && dvc repro"),
    "set": CommandLine(add_set, set_values, "ldep set 'models=[ldep,rbf_svc]' tuning.trials=50"),
}
