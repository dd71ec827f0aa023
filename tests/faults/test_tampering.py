"""Tampering with a registered model, with MLflow's database or with the store: no foreign code ever runs.

MLflow's own commands run whatever code a model's folder names, which docs/serving.md says. They are tried here after
the changes that leave the description of the folder as it was.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.faults import forked, tampering
from tests.faults.finished import NAME, SCORE, Finished
from tests.faults.tampering import MARKER, Tamper

FILES = (
    "MLmodel",
    "conda.yaml",
    "data/served/pipeline.skops",
    "data/served/served.json",
    "input_example.json",
    "ldep-manifest.json",
    "python_env.yaml",
    "requirements.txt",
    "serving_input_example.json",
)
ALWAYS_LOADED = ("MLmodel", "requirements.txt", "conda.yaml", "python_env.yaml")  # by MLflow itself
VERSIONS, MODELS = "update model_versions set", "update logged_models set"
TAMPERS: dict[str, Tamper] = {
    **{f"{name} replaced by a pickle": tampering.replaced_by_a_pickle(name) for name in FILES},
    **{f"{name} extended by code": tampering.extended_by_code(name) for name in FILES},
    **{f"{name} linked elsewhere": tampering.linked_elsewhere(name) for name in FILES},
    "modules added": tampering.added_modules,
    "bytecode added": tampering.added_bytecode,
    "another loader": tampering.another_loader,
    "another pickled model": tampering.another_pickled_model,
    "another requirement": tampering.another_requirement,
    "functions in the pipeline": tampering.functions_in_the_pipeline,
    "everything but the key": tampering.everything_but_the_key,
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


def followed_by_mlflow(name: str) -> bool:
    return name.startswith((*FOLLOWED_BY_MLFLOW, *ALWAYS_LOADED))


@pytest.mark.slow
@pytest.mark.fault
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", TAMPERS)
def test_no_foreign_code_runs(finished_project, name):
    project = finished_project
    project.restore()
    TAMPERS[name](project)
    commands = [SCORE, ("ldep", "train"), ("ldep", "register"), SCORE]
    problems = [check(project, *command) for command in commands]
    project.restore()
    TAMPERS[name](project)
    problems.append(
        check(project, "ldep", "serve", NAME, "--port", free_port(), "--workers", "1", until="startup complete")
    )
    if not followed_by_mlflow(name):
        options = ("-i", f"data/own/{NAME}.csv", "-t", "csv", "--env-manager", "local")
        problems.append(check(project, "mlflow", "models", "predict", "-m", SCORE[2], *options, traceback=True))
    problems.append(check(project, "dvc", "repro"))
    assert not [problem for problem in problems if problem], "\n\n".join(filter(None, problems))


def check(project: Finished, *command: str, until: str | None = None, traceback: bool = False) -> str | None:
    """Run a command; say what was wrong with it."""
    outcome = forked.run(project.folder, *command, until=until)
    told = f"{' '.join(command)} ended with {outcome.code}:\n{outcome.text[-3000:]}"
    if (project.folder / MARKER).exists():
        (project.folder / MARKER).unlink()
        return f"FOREIGN CODE: {told}"
    if outcome.code is None or ("Traceback (most recent" in outcome.text and not traceback):
        return told
    return None


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def test_the_documentation_names_what_mlflow_cannot_be_kept_from():
    text = " ".join((Path(__file__).parents[2] / "docs/serving.md").read_text().split())
    for sentence in (
        "run whatever code `MLmodel` names: whoever can write to the artifact store chooses that code",
        "an alias is not signed: whoever can write to MLflow's database can point `champion` to another signed version",
    ):
        assert sentence in text
