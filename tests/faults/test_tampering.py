"""Tampering with a registered model, with MLflow's database or with the store: no foreign code ever runs.

MLflow's own commands run whatever code a model's folder names, which docs/serving.md says. They are tried here after
the changes that leave the description of the folder as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import tampering
from tests.faults.finished import NAME, SCORE, Finished
from tests.faults.tampering import MARKER, Tamper
from tests.support import forked
from tests.support.servers import free_port

FILE_CHANGES: dict[str, Callable[[str], Tamper]] = {
    "replaced by a pickle": tampering.replaced_by_a_pickle,
    "extended by code": tampering.extended_by_code,
    "linked elsewhere": tampering.linked_elsewhere,
}
VERSIONS, MODELS = "update model_versions set", "update logged_models set"
TAMPERS: dict[str, Tamper] = {
    "modules added": tampering.added_modules,
    "bytecode added": tampering.added_bytecode,
    "another loader": tampering.another_loader,
    "another pickled model": tampering.another_pickled_model,
    "another requirement": tampering.another_requirement,
    "functions in the pipeline": tampering.functions_in_the_pipeline,
    "everything but the key": tampering.everything_but_the_key,
    "the name of the key": tampering.the_name_of_the_key,
    "another source": tampering.changed_rows(f"{VERSIONS} source = '{{elsewhere}}'"),
    "another place": tampering.changed_rows(f"{VERSIONS} storage_location = '{{elsewhere}}'"),
    "no source": tampering.changed_rows(f"{VERSIONS} source = null, storage_location = null"),
    "a path as source": tampering.changed_rows(f"{VERSIONS} source = 'models:/m-0/../../elsewhere'"),
    "another location": tampering.changed_rows(f"{MODELS} artifact_location = '{{elsewhere}}'"),
    "a location over HTTP": tampering.changed_rows(f"{MODELS} artifact_location = 'http://127.0.0.1:9/model'"),
    "a relative location": tampering.changed_rows(f"{MODELS} artifact_location = 'elsewhere'"),
    "a location of another scheme": tampering.changed_rows(f"{MODELS} artifact_location = 'evil:///elsewhere'"),
    "no logged model": tampering.changed_rows("delete from logged_model_tags", "delete from logged_models"),
    "no version": tampering.changed_rows("delete from model_version_tags", "delete from model_versions"),
    "another alias": tampering.changed_rows("update registered_model_aliases set version = 99"),
    "no tags": tampering.changed_rows("delete from model_version_tags"),
    "other tags": tampering.changed_rows("update model_version_tags set value = '[' where key != 'ldep.final'"),
    "no reason": tampering.changed_rows("delete from model_version_tags where key in ('why', 'decision')"),
    "another place of the experiment": tampering.changed_rows(
        "update experiments set artifact_location = '{elsewhere}'"
    ),
    "functions in a stored fit": tampering.functions_in_a_stored_fit,
    "pickles in the store": tampering.pickles_in_the_store,
    "pickled skops files": tampering.pickled_skops_files,
    "classes in a study": tampering.classes_in_a_study,
    "pickled journals": tampering.pickled_journals,
    "extension types in Parquet": tampering.extension_types_in_parquet,
    "commands in dvc.lock": tampering.commands_in_the_lock,
}
# MLflow follows these: what they lead to is its loader, not ours.
FOLLOWED_BY_MLFLOW = ("another", "everything", "a relative", "modules added")
SERVE = ("ldep", "serve", NAME, "--workers", "1")
PREDICT = ("mlflow", "models", "predict", "-m", SCORE[2], "-i", SCORE[3], "-t", "csv", "--env-manager", "local")
pytestmark = pytest.mark.fault


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("change", FILE_CHANGES)
def test_no_foreign_code_runs_after_a_change_of_any_file_of_a_model(finished_project, change):
    project = finished_project
    project.restore()
    folder = tampering.model_folder(project)
    names = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    assert {"MLmodel", "ldep-manifest.json", "data/served/pipeline.skops"} <= set(names)
    problems = []
    for name in names:
        project.restore()
        FILE_CHANGES[change](name)(project)
        commands = [SCORE, SERVE, ("ldep", "register"), SCORE]
        if name != "MLmodel":
            commands.insert(0, PREDICT)
        problems += [f"{name}: {problem}" for command in commands if (problem := check(project, *command))]
    assert not problems, "\n\n".join(problems)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", TAMPERS)
def test_no_foreign_code_runs(finished_project, name):
    project = finished_project
    project.restore()
    TAMPERS[name](project)
    problems = [check(project, *command) for command in (SCORE, ("ldep", "train"), ("ldep", "register"), SCORE)]
    project.restore()
    TAMPERS[name](project)
    problems.append(check(project, *SERVE))
    if not name.startswith(FOLLOWED_BY_MLFLOW):
        problems.append(check(project, *PREDICT))
    problems.append(check(project, "dvc", "repro"))
    assert not [problem for problem in problems if problem], "\n\n".join(filter(None, problems))


@pytest.mark.slow
def test_code_that_runs_is_noticed(finished_project):
    """MLflow's own command runs the loader that a folder names: the tests above would fail if ours did."""
    finished_project.restore()
    tampering.another_loader(finished_project)
    assert str(check(finished_project, *PREDICT)).startswith("FOREIGN CODE")


def check(project: Finished, *command: str) -> str | None:
    """Run a command; say what was wrong with it."""
    is_server = command[:2] == ("ldep", "serve")
    if is_server:
        command = (*command, "--port", str(free_port()))
    outcome = forked.run(project.folder, *command, until="startup complete" if is_server else None)
    report = f"{' '.join(command)} ended with {outcome.code}:\n{outcome.text[-3000:]}"
    if (project.folder / MARKER).exists():
        (project.folder / MARKER).unlink()
        return f"FOREIGN CODE: {report}"
    has_traceback = "Traceback (most recent" in outcome.text and command[0] != "mlflow"
    return report if outcome.code is None or has_traceback else None


def test_the_documentation_names_what_mlflow_cannot_be_kept_from():
    text = " ".join((Path(__file__).parents[2] / "docs/serving.md").read_text().split())
    for sentence in (
        "run whatever code `MLmodel` names: whoever can write to the artifact store chooses that code",
        "an alias is not signed: whoever can write to MLflow's database can point `champion` to another signed version",
    ):
        assert sentence in text
