"""Which code decides what: stages and keys know the code that decides their outcome, all of it and no other."""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest
import yaml

from ldep_pipeline.execution import code_version, deciding
from ldep_pipeline.execution.deciding import Deciding
from ldep_pipeline.serving import mlflow_folder

ROOT = Path(__file__).parents[2]
ROOMS = "pipeline/ldep_pipeline"
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
PACKAGES = sorted(path.parent.name for path in (ROOT / "ldep").glob("*/__init__.py"))
FITTING = [package for package in PACKAGES if package not in code_version.DECIDES_NO_FIT]


def build_graph() -> grimp.ImportGraph:
    graph = grimp.build_graph("ldep", "ldep_pipeline", exclude_type_checking_imports=True)
    for package in ("data.sources", "report.figures"):  # they find their modules at run time, not by an import
        for module in graph.find_children(f"ldep_pipeline.{package}"):
            graph.add_import(importer=f"ldep_pipeline.{package}", imported=module)
    return graph


GRAPH = build_graph()


def without_the_rest(graph: grimp.ImportGraph) -> grimp.ImportGraph:
    """The graph without the rooms that decide nothing."""
    for room in deciding.DECIDE_NOTHING:
        for module in (room, *graph.find_descendants(room)):
            graph.remove_module(module)
    return graph


DECIDING = without_the_rest(build_graph())


def rooms_of(modules: set[str], package: str = "ldep_pipeline") -> set[str]:
    return {module.split(".")[1] for module in modules if module.startswith(f"{package}.")}


def in_the_pipeline(modules: set[str]) -> set[str]:
    return {module for module in modules if module.startswith("ldep_pipeline.")}


def test_stages_are_the_modules_of_one_room():
    modules = {path.stem for path in (ROOT / ROOMS / "stages").glob("*.py")} - {"__init__"}
    assert modules == set(STAGES)


def test_every_stage_but_check_says_what_decides_its_output_and_depends_on_it():
    assert set(deciding.STAGES) == set(STAGES) - {"check"}
    for stage in deciding.STAGES:
        files = [path for path in STAGES[stage]["deps"] if path.startswith("data/decides/")]
        assert files in ([f"data/decides/{stage}"], [f"data/decides/{stage}/${{item.name}}.json"])


@pytest.mark.parametrize("stage", deciding.STAGES)
def test_a_stage_depends_on_the_modules_that_it_imports_and_on_no_others(stage):
    """As grimp finds them. Stages that fit import the classes of params.yaml by name; `register` explains some rows."""
    imported = DECIDING.find_upstream_modules(f"ldep_pipeline.stages.{stage}") | {f"ldep_pipeline.stages.{stage}"}
    found = Deciding(None).modules(stage)
    assert in_the_pipeline(found) == in_the_pipeline(imported)
    packages = rooms_of(found, "ldep")
    if deciding.STAGES[stage].fits:
        assert packages == {*FITTING, "table", *(["answers", "explain", "prove"] if stage == "register" else [])}
    else:
        assert packages == rooms_of(imported, "ldep")


@pytest.mark.parametrize(
    ("entry", "rooms"),
    [
        ("ldep_pipeline.fitting.fit", code_version.FIT_ROOMS),
        ("ldep_pipeline.fitting.study", code_version.FIT_ROOMS),
        ("ldep_pipeline.serving.served_model", mlflow_folder.ROOMS),
    ],
)
def test_a_key_covers_the_rooms_that_decide_its_value_all_of_them_and_no_others(entry, rooms):
    prefixes = tuple(f"ldep_pipeline.{room.replace('/', '.')}." for room in rooms)
    needed = {entry} | DECIDING.find_upstream_modules(entry)
    assert [m for m in sorted(needed) if m.startswith("ldep_pipeline.") and not f"{m}.".startswith(prefixes)] == []
    imported = {entry} | GRAPH.find_upstream_modules(entry)
    assert [prefix for prefix in prefixes if not any(f"{module}.".startswith(prefix) for module in imported)] == []


@pytest.mark.parametrize("package", [package for package in FITTING if package != "estimators"])
def test_what_decides_a_fit_imports_nothing_that_describes_it(package):
    """The estimators inherit methods from these packages; so what they import is left out of a fit's key."""
    modules = {f"ldep.{package}", *GRAPH.find_descendants(f"ldep.{package}")}
    imported = {other for module in modules for other in GRAPH.find_modules_directly_imported_by(module)}
    assert not rooms_of(imported, "ldep") & set(code_version.DECIDES_NO_FIT)
