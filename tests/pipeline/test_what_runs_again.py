"""One changed line of code, and what is computed again because of it: nothing that does not have to be.

A line is added to a file in a copy of the project. The code of the copy computes what decides the output of each
stage, on which the stages of dvc.yaml depend, and the keys of a fit of our model and of another one, of a study, and of
a registered version of our model.
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ldep_pipeline.metrics.metric import Metric
from tests.support.copies import on_path

ROOT = Path(__file__).parents[2]
ROOMS = ROOT / "pipeline/ldep_pipeline"
CODE, TEXT = "_ADDED = 1", '"""An explanation."""  # and a comment'
OURS, OTHER, STUDY, VERSION = KEYS = ("fit of ours", "fit of another", "study", "version")

SCRIPT = """
import json, sys
from pathlib import Path

import yaml

import ldep, ldep_pipeline
from ldep_pipeline.config import params
from ldep_pipeline.execution import code_version, plan
from ldep_pipeline.execution.deciding import STAGES, Deciding
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.registry import final_model

tree, name = Path(sys.argv[1]), sys.argv[2]
assert Path(ldep.__file__).is_relative_to(tree) and Path(ldep_pipeline.__file__).is_relative_to(tree)
values = yaml.safe_load(Path("params.yaml").read_text())
tuned = {"class": "sklearn.svm.SVC", "search": {"C": {"low": 0.1, "high": 10.0}}}
values = {**values, "models": ["ldep", "linear", "tuned"], "classifiers": {**values["classifiers"], "tuned": tuned}}


def keys():
    for cached in ("room_digest", "library_digest", "code_digest", "package_version"):
        getattr(code_version, cached).cache_clear()
    checked = params.check(values)
    made = plan.make(name, checked, load_training_data(name).partition)
    fits = [made.fits["ldep", 0].key, made.fits["linear", 0].key, made.studies["tuned", 0].key]
    loaded = params.load()
    trained = plan.make(name, loaded, load_training_data(name).partition, models=["ldep"])
    version = final_model.plan(trained, loaded, Path()).key
    deciding = Deciding(None)
    return {"keys": [*fits, version], "stages": {stage: deciding.of(stage, name, loaded) for stage in STAGES}}


found = [keys()]
for place, line in json.loads(sys.argv[3]):
    path = tree / place
    text = path.read_text()
    path.write_text(f"{text}\\n{line}\\n")
    found.append(keys())
    path.write_text(text)
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Change:
    """A line added to a file: the stages and the keys that it concerns."""

    place: str
    stages: set[str]
    keys: set[str]
    line: str = CODE


def module_of(folder: str) -> str:
    """Some module of a package."""
    return str(next(path for path in sorted((ROOT / folder).rglob("*.py")) if path.stat().st_size).relative_to(ROOT))


def named(name: str) -> str:
    """The only file of this name in the pipeline."""
    (path,) = ROOMS.rglob(name)
    return str(path.relative_to(ROOT))


METRIC = str(Path(inspect.getfile(Metric)).relative_to(ROOT))
EVERYTHING = set(KEYS)
DATA_STAGES = {"fetch", "impute", "split", "train", "register", "report"}
CHANGES = {
    "plotting": Change(module_of("ldep/plotting"), set(), set()),
    "export": Change(module_of("ldep/export"), set(), set()),
    "OpenAPI": Change(named("openapi.py"), set(), set()),
    "the report": Change(module_of("pipeline/ldep_pipeline/report/sections"), {"report"}, set()),
    "the look of the report": Change("pipeline/ldep_pipeline/report/page.css", {"report"}, set(), "p {color: black}"),
    "the check of params.yaml": Change("pipeline/ldep_pipeline/config/params.py", set(), set()),
    "tracking": Change(module_of("pipeline/ldep_pipeline/tracking"), set(), set()),
    "a solver": Change(module_of("ldep/solvers"), {"train", "register"}, {OURS, VERSION}),
    "a text about a solver": Change(module_of("ldep/solvers"), set(), set(), TEXT),
    "the encoder of raw rows": Change(module_of("ldep/table"), DATA_STAGES, {VERSION}),
    "a source of data": Change(module_of("pipeline/ldep_pipeline/data/sources"), {"fetch"}, set()),
    "a metric": Change(METRIC, {"train", "register", "report"}, EVERYTHING),
    "a fit": Change("pipeline/ldep_pipeline/fitting/fit.py", {"train", "register"}, EVERYTHING),
}


@pytest.fixture(scope="module")
def found(registered_project: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, Any]]]:
    """What decides the stages, and the keys, after each change; under "" those without any."""
    from tests.support import registered

    tree = tmp_path_factory.mktemp("tree")
    for package in ("ldep", "pipeline"):
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__"))
    changes = json.dumps([(change.place, change.line) for change in CHANGES.values()])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tree), registered.NAME, changes],
        cwd=registered_project,
        env={**os.environ, "PYTHONPATH": on_path(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return {
        name: {"keys": dict(zip(KEYS, values["keys"])), "stages": values["stages"]}
        for name, values in zip(["", *CHANGES], found)
    }


def different(name: str, kind: str, found: dict[str, dict[str, dict[str, Any]]]) -> set[str]:
    return {item for item, value in found[name][kind].items() if value != found[""][kind][item]}


@pytest.mark.parametrize("name", CHANGES)
def test_only_the_stages_that_it_concerns_run_again(name, found):
    assert different(name, "stages", found) == CHANGES[name].stages


@pytest.mark.parametrize("name", CHANGES)
def test_only_the_keys_that_it_concerns_change(name, found):
    assert different(name, "keys", found) == CHANGES[name].keys
