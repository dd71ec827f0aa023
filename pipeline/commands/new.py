"""`ldep new`: a file becomes a data set of params.yaml, with the models and the metric that suit it."""

from __future__ import annotations

import filecmp
import inspect as inspection
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from pipeline.commands import inspect
from pipeline.common import identifiers
from pipeline.common.errors import UserError, listed
from pipeline.common.files import replacing
from pipeline.common.progress import duration
from pipeline.config import catalogue, edit, paths
from pipeline.config.params import OwnData, Params, load
from pipeline.data import own_file
from pipeline.data.profile import Profile
from pipeline.data.tables import Layout, read_frame
from pipeline.data.tables.guess import guess_layout
from pipeline.encoding import columns
from pipeline.encoding.choice import choose
from pipeline.execution import suites
from pipeline.execution.suites import Choice
from pipeline.fitting.models import resolve

CLASS_WEIGHT = "class_weight"


def run(
    name: str,
    file: Path,
    target: str,
    *,
    ignore: Sequence[str] = (),
    layout: Layout | None = None,
    suite: str = "standard",
    metric: str | None = None,
    split: Mapping[str, str | None] | None = None,
    params: Path = paths.PARAMS,
) -> OwnData:
    """Look at a file, copy it to data/own/, and write the data set and what suits it to params.yaml."""
    _check_name(name, params)
    layout = layout or guess_layout(file)
    own = _entry(file, target, ignore, layout, split)
    own_file.fetch_split_column(name, own)
    frame = read_frame(file, target, own_file.left_out(own), layout)
    found = inspect.profile_of(file, frame.dropna(subset=[target]))
    own_file.fetch(name, own)  # it can be used
    print(f"{inspect.text_table(found)}\n")
    for warning in found.warnings():
        print(f"- {warning}")
    path = _in_own_folder(name, file)
    own = own.model_copy(update={"path": str(path)})
    metric = metric or suitable_metric(found)
    known = load(params)
    choice = suites.choose(suite, known, found.rows, _width(frame))
    edit.set_values(
        {
            ("own_data", name): own.model_dump(exclude_defaults=True),
            ("datasets",): [name],
            ("models",): choice.models,
            ("metric",): metric,
            **(class_weights(choice.models, known) if found.is_unbalanced else {}),
        },
        params,
    )
    _report(name, path, found, choice, metric, suite)
    return own


def suitable_metric(found: Profile) -> str:
    """Accuracy, unless a class is rare: a model that never predicts it would then look good."""
    return "balanced_accuracy" if found.is_unbalanced else "accuracy"


def class_weights(models: Sequence[str], params: Params) -> dict[edit.Key, Any]:
    """Changes of params.yaml that let tuning choose class weights, for the models that have them."""
    changes: dict[edit.Key, Any] = {}
    for model in models:
        name = params.classifiers[model].ensemble or model  # an ensemble is one of the trials of another model
        entry = params.classifiers[name]
        if not entry.search or CLASS_WEIGHT in {*entry.search, *entry.params}:
            continue
        if CLASS_WEIGHT not in inspection.signature(resolve(entry.class_)).parameters:
            continue
        changes["classifiers", name, "search", CLASS_WEIGHT] = {"choices": [None, "balanced"]}
        if entry.first:
            weights = ["balanced" if number % 2 == 0 else None for number in range(len(entry.first))]
            first = [{**settings, CLASS_WEIGHT: weight} for settings, weight in zip(entry.first, weights)]
            changes["classifiers", name, "first"] = first
    return changes


def _width(frame: pd.DataFrame) -> int:
    """The number of features after encoding."""
    chosen = choose(frame.iloc[:, :-1])
    return len(columns.labels([choice.fitted for choice in chosen if choice.fitted is not None]))


def _check_name(name: str, params: Path) -> None:
    try:
        identifiers.safe(name)
    except ValueError as error:
        raise UserError(f"'{name}' cannot be the name of a data set: {error}.") from None
    if name in catalogue.load():
        raise UserError(f"the catalogue has a data set '{name}'; choose another name.")
    if name in load(params).own_data:
        raise UserError(f"{params} has a data set '{name}' already; choose another name, or remove own_data.{name}.")


def _entry(
    path: Path, target: str, ignore: Sequence[str], layout: Layout, split: Mapping[str, str | None] | None
) -> OwnData:
    values = {"path": str(path), "target": target, "ignore": list(dict.fromkeys(ignore)), "split": split}
    try:
        return OwnData.model_validate({**values, **asdict(layout)})
    except ValidationError as error:
        raise UserError(f"{error.errors()[0]['msg'].removeprefix('Value error, ')}.") from None


def _in_own_folder(name: str, file: Path) -> Path:
    """Copy the file to the folder that DVC watches, unless it is there already."""
    if paths.OWN.resolve() in file.resolve().parents:
        return file
    copy = paths.OWN / f"{name}{file.suffix.lower()}"
    if copy.exists() and not filecmp.cmp(copy, file, shallow=False):
        raise UserError(f"{copy} exists and differs from {file}; remove it, or choose another name.")
    with replacing(copy) as part:
        shutil.copyfile(file, part)
    return copy


def _report(name: str, path: Path, found: Profile, choice: Choice, metric: str, suite: str) -> None:
    print(f"\nThe file is {path}. params.yaml now has the data set '{name}' alone:")
    if found.dropped:
        print(f"  left out: {listed(found.dropped)} (to keep one, name its kind in own_data.{name}.encode)")
    print(f"  models: {', '.join(choice.models)} (suite {suite}; --suite chooses {', '.join(suites.SUITES)})")
    for model, seconds in choice.left_out.items():
        print(f"  {model} steps aside: with {found.rows} rows it would take about {duration(seconds)}")
    print(f"  training takes about {duration(choice.seconds)}, estimated from the size of the file")
    print(f"  metric: {metric}, to tune and to choose the winner")
    print(f"Next: dvc repro, then open report/{name}.html.")
