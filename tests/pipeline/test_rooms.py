"""Which code decides what: stages and cache keys name rooms, and no module that they import is left out."""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest
import yaml

import pipeline
from pipeline.execution import code_version
from pipeline.serving import mlflow_folder

ROOT = Path(__file__).parents[2]
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
GRAPH = grimp.build_graph("ldep", "pipeline")
for source in GRAPH.find_children("pipeline.data.sources"):  # found at run time: no import statement names them
    GRAPH.add_import(importer="pipeline.data.sources", imported=source)


def closure(module: str) -> set[str]:
    """The module and everything that it imports, directly or not, at its top or inside a function."""
    return {module} | GRAPH.find_upstream_modules(module)


def path_of(module: str) -> str:
    file = ROOT / Path(*module.split("."))
    return str((file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).relative_to(ROOT))


def covers(dependencies: list[str], path: str) -> bool:
    return any(path == dependency or path.startswith(f"{dependency}/") for dependency in dependencies)


def test_stages_are_the_modules_of_one_room():
    modules = {path.stem for path in (ROOT / "pipeline/stages").glob("*.py")} - {"__init__"}
    assert modules == set(STAGES)


@pytest.mark.parametrize("stage", [name for name in STAGES if name != "check"])
def test_a_stage_depends_on_every_module_that_it_imports(stage):
    imported = {path_of(module) for module in closure(f"pipeline.stages.{stage}")} - {"pipeline/__init__.py"}
    missing = sorted(path for path in imported if not covers(STAGES[stage]["deps"], path))
    assert not missing, f"dvc.yaml, stage {stage}: add the room of {missing}"


@pytest.mark.parametrize("stage", [name for name in STAGES if name != "check"])
def test_a_stage_depends_on_no_room_that_it_does_not_import(stage):
    imported = {path_of(module) for module in closure(f"pipeline.stages.{stage}")}
    rooms = [path for path in STAGES[stage]["deps"] if path.startswith("pipeline/")]
    assert [room for room in rooms if not any(covers([room], path) for path in imported)] == []


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_names_rooms_and_no_file_but_its_own(stage):
    """A list of files would be out of date with the next new file of a room."""
    files = [path for path in STAGES[stage].get("deps", []) if path.startswith("pipeline/") and path.endswith(".py")]
    assert set(files) <= {f"pipeline/stages/{stage}.py"}


@pytest.mark.parametrize(
    ("entry", "rooms"),
    [
        ("pipeline.fitting.fit", code_version.FIT_ROOMS),
        ("pipeline.fitting.study", code_version.FIT_ROOMS),
        ("pipeline.serving.served_model", mlflow_folder.ROOMS),
    ],
)
def test_a_cache_key_covers_every_module_of_the_pipeline_that_decides_its_value(entry, rooms):
    imported = {module for module in closure(entry) if module.startswith("pipeline.")}
    assert {module.split(".")[1] for module in imported} <= set(rooms)


def test_a_stranger_sees_few_entries():
    entries = [path for path in Path(pipeline.__file__).parent.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 14
