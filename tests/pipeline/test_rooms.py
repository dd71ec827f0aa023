"""Which code decides what: stages and keys name the rooms that decide their outcome, all of them and no others."""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest
import yaml

from ldep_pipeline.execution import code_version
from ldep_pipeline.serving import mlflow_folder

ROOT = Path(__file__).parents[2]
ROOMS = "pipeline/ldep_pipeline"
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
# These rooms decide no number and no file of a stage: they validate, lock, report progress, talk to MLflow, and hide
# private parts of other libraries. What is imported through them alone does not count either.
DECIDE_NOTHING = ("common", "compat", "config", "tracking")
PACKAGES = sorted(path.parent.name for path in (ROOT / "ldep").glob("*/__init__.py"))
FITTING = [package for package in PACKAGES if package not in code_version.DECIDES_NO_FIT]


def build_graph() -> grimp.ImportGraph:
    graph = grimp.build_graph("ldep", "ldep_pipeline", exclude_type_checking_imports=True)
    for source in graph.find_children("ldep_pipeline.data.sources"):  # found at run time, not by an import
        graph.add_import(importer="ldep_pipeline.data.sources", imported=source)
    return graph


GRAPH = build_graph()


def deciding(graph: grimp.ImportGraph) -> grimp.ImportGraph:
    """The graph without the rooms that decide nothing."""
    for room in DECIDE_NOTHING:
        for module in (f"ldep_pipeline.{room}", *graph.find_descendants(f"ldep_pipeline.{room}")):
            graph.remove_module(module)
    return graph


DECIDING = deciding(build_graph())


def rooms_of(modules: set[str], package: str = "ldep_pipeline") -> set[str]:
    return {module.split(".")[1] for module in modules if module.startswith(f"{package}.")}


def dependencies(stage: str, package: str) -> set[str]:
    """What a stage lists of one package, without its own module."""
    own = f"{ROOMS}/stages/{stage}.py"
    return {path for path in STAGES[stage]["deps"] if path.split("/")[0] == package and path != own}


def test_stages_are_the_modules_of_one_room():
    modules = {path.stem for path in (ROOT / ROOMS / "stages").glob("*.py")} - {"__init__"}
    assert modules == set(STAGES)


@pytest.mark.parametrize("stage", [name for name in STAGES if name != "check"])
def test_a_stage_depends_on_its_module_and_on_the_rooms_that_decide_its_output(stage):
    rooms = rooms_of(DECIDING.find_upstream_modules(f"ldep_pipeline.stages.{stage}"))
    assert dependencies(stage, "pipeline") == {f"{ROOMS}/{room}" for room in rooms}, f"dvc.yaml, stage {stage}"
    assert f"{ROOMS}/stages/{stage}.py" in STAGES[stage]["deps"]


@pytest.mark.parametrize("stage", [name for name in STAGES if name != "check"])
def test_a_stage_depends_on_the_packages_of_the_library_that_decide_its_output(stage):
    """Stages that fit import the classes of params.yaml by name; `register` also explains some rows."""
    packages = rooms_of(DECIDING.find_upstream_modules(f"ldep_pipeline.stages.{stage}"), "ldep")
    if stage in ("train", "register"):
        packages = {*FITTING, "table", *(["explain"] if stage == "register" else [])}
    assert dependencies(stage, "ldep") == {f"ldep/{package}" for package in packages}, f"dvc.yaml, stage {stage}"


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
    deciding = {entry} | DECIDING.find_upstream_modules(entry)
    assert [m for m in sorted(deciding) if m.startswith("ldep_pipeline.") and not f"{m}.".startswith(prefixes)] == []
    imported = {entry} | GRAPH.find_upstream_modules(entry)
    assert [prefix for prefix in prefixes if not any(f"{module}.".startswith(prefix) for module in imported)] == []


@pytest.mark.parametrize("package", [package for package in FITTING if package != "estimators"])
def test_what_decides_a_fit_imports_nothing_that_describes_it(package):
    """The estimators inherit methods from these packages; so what they import is left out of a fit's key."""
    modules = {f"ldep.{package}", *GRAPH.find_descendants(f"ldep.{package}")}
    imported = {other for module in modules for other in GRAPH.find_modules_directly_imported_by(module)}
    assert not rooms_of(imported, "ldep") & set(code_version.DECIDES_NO_FIT)
