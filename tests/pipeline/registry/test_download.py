"""A registered model is loaded only if its files are the registered ones."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pickle
import py_compile
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import mlflow
import pytest
import yaml

from benchmarks import server
from pipeline.commands import serve
from pipeline.commands.main import main
from pipeline.common.errors import UserError
from pipeline.config import params
from pipeline.registry import download
from pipeline.serving import served_model
from pipeline.stages import register
from tests.support import registered

NAME, MODEL = registered.NAME, registered.MODEL


def test_a_changed_file_is_refused(trained_project):
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    folder = registered.stored(uri)
    path = folder / "data/served/pipeline.skops"
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(UserError, match="changed after it was registered; it is not loaded"):
        download.load(uri)
    with pytest.raises(mlflow.MlflowException, match="changed after it was registered"):  # in a server, too
        mlflow.pyfunc.load_model(str(folder))


@pytest.mark.parametrize("part", ["data/served/served.json", "code/pipeline/serving/calibration.py"])
def test_a_file_that_was_changed_with_its_checksum_is_refused_too(trained_project, part):
    """By the digest in the store, which whoever writes into the artifact folder does not reach."""
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    folder = registered.stored(uri)
    assert mlflow.pyfunc.load_model(str(folder)).predict(registered.rows(3))
    path = folder / part
    path.write_text(path.read_text() + "\n")
    served_model.load(folder / "data/served")  # nothing here tells it
    with pytest.raises(UserError, match="were changed after it was registered; it is not loaded"):
        download.load(uri)
    for address in (str(folder), uri):
        with pytest.raises(mlflow.MlflowException, match="were changed after it was registered; it is not loaded"):
            mlflow.pyfunc.load_model(address)


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("code-was-run").resolve(),))


def test_a_pickle_that_mlmodel_was_made_to_name_is_refused_and_not_run(trained_project, monkeypatch, capsys):
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    folder = registered.stored(uri)
    (folder / "evil.pkl").write_bytes(pickle.dumps(Bomb()))
    described = yaml.safe_load((folder / "MLmodel").read_text())
    described["flavors"]["python_function"] |= {"loader_module": "mlflow.sklearn", "data": "evil.pkl"}
    (folder / "MLmodel").write_text(yaml.safe_dump(described))
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("the server was started"))
    assert main(["serve", NAME]) == 1
    assert "were changed after it was registered; it is not loaded" in capsys.readouterr().err
    with pytest.raises(UserError, match="were changed after it was registered; it is not loaded"):
        download.load(uri)
    # Nor would the server run it, if it came later.
    monkeypatch.setattr(os, "environ", serve.environment(trained_project))
    with pytest.raises(mlflow.MlflowException, match="is disallowed"):
        mlflow.pyfunc.load_model(uri)
    assert not Path("code-was-run").exists()


@pytest.mark.parametrize("part", ["new.txt", "requirements.txt"])
def test_a_further_file_and_a_changed_one_are_refused(trained_project, part):
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    with (registered.stored(uri) / part).open("a") as file:
        file.write("x")
    with pytest.raises(UserError, match="were changed after it was registered; it is not loaded"):
        download.load(uri)


def test_a_link_is_refused(trained_project, tmp_path):
    """To a package that would be imported in the place of the real one."""
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    folder = registered.stored(uri)
    (tmp_path / "evil").mkdir()
    (folder / "code/yaml").symlink_to(tmp_path / "evil")
    with pytest.raises(mlflow.MlflowException, match="were changed after it was registered; it is not loaded"):
        mlflow.pyfunc.load_model(str(folder))
    with pytest.raises(UserError, match="outside the artifact directory"):
        download.load(uri)


def test_a_download_that_fails_is_said_while_other_files_still_come(trained_project, tmp_path, monkeypatch):
    """MLflow takes the files in several threads, and ends with the first error, not with the last thread."""
    removed = threading.Event()

    def failing(uri: str, dst_path: str) -> str:
        def write_on() -> None:
            number = 0
            while not removed.is_set():
                folder = Path(dst_path, "code")
                folder.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileNotFoundError):  # the folder has just been removed
                    Path(folder, str(number)).touch()
                number += 1

        threading.Thread(target=write_on, daemon=True).start()
        time.sleep(0.1)
        raise mlflow.MlflowException("the disk of the server is gone")

    monkeypatch.setattr(mlflow.artifacts, "download_artifacts", failing)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    try:
        with pytest.raises(UserError, match=r"there is no model .*the disk of the server is gone"):
            download.load(f"models:/{MODEL}@champion")
    finally:
        removed.set()


def test_bytecode_beside_the_code_is_neither_sealed_nor_read_by_the_server(trained_project):
    register.run(NAME, registered.with_candidates("ldep"))
    uri = f"models:/{MODEL}@champion"
    code = registered.stored(uri) / "code"
    source = code / "pipeline/serving/trusted_types.py"
    evil = trained_project / "evil.py"
    evil.write_text("raise SystemExit('the bytecode was run')")
    # Python takes such a file without a look at the source.
    py_compile.compile(
        str(evil),
        importlib.util.cache_from_source(str(source)),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    download.load(uri)
    load = [sys.executable, "-c", "import pipeline.serving.trusted_types as it; print(it.__file__)"]
    taken = {"PYTHONPATH": str(code)}
    harmed = subprocess.run(load, env={**os.environ, **taken}, capture_output=True, text=True, check=False)
    assert harmed.stderr == "the bytecode was run\n"
    safe = subprocess.run(load, env={**serve.environment(), **taken}, capture_output=True, text=True, check=False)
    assert safe.stdout == f"{source}\n", safe.stderr


def test_by_a_server_a_model_passes_a_changed_one_does_not_and_no_download_is_left(
    trained_project, tmp_path, monkeypatch
):
    values = registered.with_candidates("ldep")
    values = values.model_copy(update={"tracking": params.Tracking(experiment="by-a-server")})
    port, uri = server.free_port(), f"models:/{MODEL}@champion"
    command = [
        "server",
        "--backend-store-uri",
        f"sqlite:///{trained_project}/mlflow.db",
        "--artifacts-destination",
        "held",
    ]
    with server.started(trained_project, port, dict(os.environ), *command, "--workers", "1", "--port", str(port)) as (
        url,
        _,
    ):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
        (tmp_path / "scratch").mkdir()
        register.run(NAME, values)
        assert download.load(uri).predict(registered.rows(3))
        (held,) = (trained_project / "held").rglob("MLmodel")
        held.write_text(held.read_text() + "\n")
        with pytest.raises(UserError, match="were changed after it was registered; it is not loaded"):
            download.load(uri)
        assert not list((tmp_path / "scratch").iterdir())


def test_a_copy_of_a_model_loads_where_its_store_is_not(trained_project, tmp_path, caplog):
    register.run(NAME, registered.with_candidates("ldep"))
    shutil.copytree(registered.stored(f"models:/{MODEL}@champion"), tmp_path / "copy")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/none.db")
    assert mlflow.pyfunc.load_model(str(tmp_path / "copy")).predict(registered.rows(3))
    assert not (tmp_path / "none.db").exists()
    mlflow.set_tracking_uri("http://127.0.0.1:9")
    assert mlflow.pyfunc.load_model(str(tmp_path / "copy")).predict(registered.rows(3))
    assert "cannot be told" in caplog.text
