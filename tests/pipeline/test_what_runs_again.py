"""One changed line of code, and what is computed again because of it: nothing that does not have to be.

A line is added to a file in a copy of the project. Stages are those that DVC would run, by the dependencies in
dvc.yaml. Keys are computed by the code of the copy: those of a fit of our model and of another one, of a study, and of
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

import pytest
import yaml

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
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.registry import final_model

tree, name = Path(sys.argv[1]), sys.argv[2]
assert Path(ldep.__file__).is_relative_to(tree) and Path(ldep_pipeline.__file__).is_relative_to(tree)
values = yaml.safe_load(Path("params.yaml").read_text())
tuned = {"class": "sklearn.svm.SVC", "search": {"C": {"low": 0.1, "high": 10.0}}}
values = {**values, "models": ["ldep", "linear", "tuned"], "classifiers": {**values["classifiers"], "tuned": tuned}}


def keys():
    for function in (code_version.room_digest, code_version.code_digest):
        function.cache_clear()
    checked = params.check(values)
    made = plan.make(name, checked, load_training_data(name).partition)
    fits = [made.fits["ldep", 0].key, made.fits["linear", 0].key, made.studies["tuned", 0].key]
    loaded = params.load()
    trained = plan.make(name, loaded, load_training_data(name).partition, models=["ldep"])
    return [*fits, final_model.plan(trained, loaded, Path()).key]


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
    "the report": Change(module_of("pipeline/ldep_pipeline/report"), {"report"}, set()),
    "the check of params.yaml": Change("pipeline/ldep_pipeline/config/params.py", set(), set()),
    "tracking": Change(module_of("pipeline/ldep_pipeline/tracking"), set(), set()),
    "a solver": Change(module_of("ldep/solvers"), {"train", "register"}, {OURS, VERSION}),
    "a text about a solver": Change(module_of("ldep/solvers"), {"train", "register"}, set(), TEXT),
    "the encoder of raw rows": Change(module_of("ldep/table"), DATA_STAGES, {VERSION}),
    "a source of data": Change(module_of("pipeline/ldep_pipeline/data/sources"), DATA_STAGES, set()),
    "a metric": Change(METRIC, {"train", "register", "report"}, EVERYTHING),
    "a fit": Change("pipeline/ldep_pipeline/fitting/fit.py", {"split", "train", "register", "report"}, EVERYTHING),
}


@pytest.fixture(scope="module")
def keys(registered_project: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The keys after each change, and under "" those without any."""
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
    return {name: dict(zip(KEYS, values)) for name, values in zip(["", *CHANGES], found)}


@pytest.mark.parametrize("name", CHANGES)
def test_only_the_stages_that_it_concerns_run_again(name):
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    place = Path(CHANGES[name].place)
    assert CHANGES[name].stages == {
        stage
        for stage, entry in stages.items()
        if any(place.is_relative_to(dependency) for dependency in entry.get("deps", []))
    }


@pytest.mark.parametrize("name", CHANGES)
def test_only_the_keys_that_it_concerns_change(name, keys):
    assert {key for key in KEYS if keys[name][key] != keys[""][key]} == CHANGES[name].keys
