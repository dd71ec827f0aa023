"""`ldep new`: a file becomes a data set of params.yaml, with the models and the metric that suit it."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Container, Sequence
from dataclasses import asdict
from pathlib import Path

from pipeline.commands import inspect
from pipeline.common import identifiers
from pipeline.common.errors import UserError, listed
from pipeline.common.files import replacing
from pipeline.config import catalogue, edit, paths
from pipeline.config.params import OwnData, load
from pipeline.data import own_file
from pipeline.data.profile import Profile
from pipeline.data.profile.profile import UNBALANCED
from pipeline.data.tables import Layout, read_frame
from pipeline.data.tables.guess import guess_layout

# From the quickest to the most thorough. A model is left out where the next number of rows is exceeded.
SUITES = {
    "quick": ("ldep_cv", "logistic", "extra_trees"),
    "standard": ("ldep_cv", "ldep", "logistic", "extra_trees", "hist_gradient_boosting", "rbf_svc", "mlp"),
    "full": (
        "ldep_cv",
        "ldep",
        "logistic",
        "extra_trees",
        "random_forest",
        "hist_gradient_boosting",
        "rbf_svc",
        "rbf_svc_tuned",
        "mlp",
        "mlp_tuned",
    ),
}
# The time of these grows with the square of the rows, or they are fitted dozens of times.
MOST_ROWS = {"rbf_svc": 20_000, "rbf_svc_tuned": 5_000, "mlp_tuned": 20_000, "ldep": 100_000, "mlp": 100_000}


def run(
    name: str,
    file: Path,
    target: str,
    *,
    ignore: Sequence[str] = (),
    layout: Layout | None = None,
    suite: str = "standard",
    metric: str | None = None,
    params: Path = paths.PARAMS,
) -> OwnData:
    """Look at a file, copy it to data/own/, and write the data set and what suits it to params.yaml."""
    _check_name(name, params)
    layout = layout or guess_layout(file)
    frame = read_frame(file, target, ignore, layout)
    found = inspect.profile_of(file, frame.dropna(subset=[target]))
    own_file.fetch(name, _entry(file, target, ignore, layout))  # it can be used
    print(f"{inspect.text_table(found)}\n")
    for warning in found.warnings():
        print(f"- {warning}")
    path = _in_own_folder(name, file)
    own = _entry(path, target, ignore, layout)
    metric = metric or suitable_metric(found)
    models = suitable_models(suite, found.rows, load(params).classifiers)
    edit.set_values(
        {
            ("own_data", name): own.model_dump(exclude_defaults=True),
            ("datasets",): [name],
            ("models",): models,
            ("metric",): metric,
        },
        params,
    )
    _report(name, path, found, models, metric, suite)
    return own


def suitable_metric(found: Profile) -> str:
    """Accuracy, unless a class is rare: a model that never predicts it would then look good."""
    return "balanced_accuracy" if found.smallest_class < UNBALANCED else "accuracy"


def suitable_models(suite: str, rows: int, known: Container[str]) -> list[str]:
    """The models of a suite that params.yaml has and that are affordable with this number of rows."""
    return [model for model in SUITES[suite] if model in known and rows <= MOST_ROWS.get(model, rows)]


def _check_name(name: str, params: Path) -> None:
    try:
        identifiers.safe(name)
    except ValueError as error:
        raise UserError(f"'{name}' cannot be the name of a data set: {error}.") from None
    if name in catalogue.load():
        raise UserError(f"the catalogue has a data set '{name}'; choose another name.")
    if name in load(params).own_data:
        raise UserError(f"{params} has a data set '{name}' already; choose another name, or remove own_data.{name}.")


def _entry(path: Path, target: str, ignore: Sequence[str], layout: Layout) -> OwnData:
    values = {"path": str(path), "target": target, "ignore": list(dict.fromkeys(ignore))}
    return OwnData.model_validate({**values, **asdict(layout)})


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


def _report(name: str, path: Path, found: Profile, models: list[str], metric: str, suite: str) -> None:
    rows = found.rows
    left_out = [model for model in SUITES[suite] if rows > MOST_ROWS.get(model, rows)]
    print(f"\nThe file is {path}. params.yaml now has the data set '{name}' alone:")
    if found.dropped:
        print(f"  left out: {listed(found.dropped)} (to keep one, name its kind in own_data.{name}.encode)")
    print(f"  models: {', '.join(models)} (suite {suite}; --suite chooses {', '.join(SUITES)})")
    if left_out:
        print(f"  too slow for {rows} rows: {', '.join(left_out)}")
    print(f"  metric: {metric}, to tune and to choose the winner")
    print("Next: dvc repro, then open report/report.html.")
