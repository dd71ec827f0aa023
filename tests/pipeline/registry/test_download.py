"""A registered model is loaded only if this project signed its files, and no code of its folder ever runs."""

from __future__ import annotations

import contextlib
import json
import pickle
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import mlflow
import pytest
import yaml

from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import params
from ldep_pipeline.registry import download, keys, signatures
from ldep_pipeline.stages import register
from tests.support import forked, registered, servers
from tests.support.registered import stored_files

NAME, MODEL = registered.NAME, registered.MODEL
URI = f"models:/{MODEL}@champion"


@pytest.fixture
def folder(trained_project: Path) -> Path:
    """The files of a registered model, in the artifact store itself."""
    register.run(NAME, registered.with_candidates("ldep"))
    return stored_files(MODEL, "1")


def refused(reason: str) -> None:
    with pytest.raises(UserError, match=rf"{URI} is not loaded: {reason}.*`ldep register {NAME}`"):
        download.load(URI)


def append(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with (folder / name).open("a") as file:
            file.write("\n")

    return change


def damage_manifest(folder: Path) -> None:
    (folder / signatures.MANIFEST).write_text("[]")


def sign_with_another_key(folder: Path) -> None:
    manifest = json.loads((folder / signatures.MANIFEST).read_text())
    signatures.sign(folder, manifest["model"], manifest["model_id"], keys.SigningKey.new())


def sign_for_another_model(folder: Path) -> None:
    model_id = json.loads((folder / signatures.MANIFEST).read_text())["model_id"]
    signatures.sign(folder, "ldep-other", model_id, keys.signing_key())


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (append("data/served/pipeline.skops"), "files were changed after registration: data/served/pipeline.skops"),
        (append("data/served/served.json"), "files were changed after registration: data/served/served.json"),
        (append("MLmodel"), "files were changed after registration: MLmodel"),
        (append("requirements.txt"), "files were changed after registration: requirements.txt"),
        (append("new.txt"), "files were added after registration: new.txt"),
        (lambda folder: (folder / "MLmodel").unlink(), "files were lost after registration: MLmodel"),
        (lambda folder: (folder / signatures.MANIFEST).unlink(), "it has no signature"),
        (damage_manifest, "its signature cannot be read"),
        (append(signatures.MANIFEST), "^"),
        (sign_with_another_key, "this project does not trust the key"),
        (sign_for_another_model, "its files belong to ldep-other"),
        (shutil.rmtree, "its files are lost"),
    ],
)
def test_files_that_are_not_those_that_were_registered_are_refused(folder, tamper, reason):
    assert download.load(URI).predict(registered.rows(3))
    tamper(folder)
    if reason == "^":  # blanks at the end of the manifest change nothing that is signed
        assert download.load(URI).predict(registered.rows(3))
    else:
        refused(reason)


def test_a_link_to_elsewhere_is_refused(folder, tmp_path):
    path = folder / "data/served/served.json"
    path.unlink()
    (tmp_path / "elsewhere.json").write_text("{}")
    path.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(UserError, match=r"resolves outside|Invalid path|files were changed"):
        download.load(URI)


def test_the_signed_files_of_another_version_are_refused(folder):
    register.run(NAME, registered.with_candidates("linear"))
    shutil.rmtree(folder)
    shutil.copytree(stored_files(MODEL, "2"), folder)
    refused(f"its files belong to {MODEL}, logged model m-")


def test_a_version_of_another_tool_is_refused(folder):
    client = mlflow.MlflowClient()
    version = client.create_model_version(MODEL, source=folder.as_uri())
    client.set_registered_model_alias(MODEL, "champion", str(version.version))
    refused("it was not registered by ldep")


def test_a_model_that_mlflow_has_loaded_is_still_accepted(folder):
    """MLflow writes a note into the folder of a model that it loads from a store on this machine."""
    mlflow.pyfunc.load_model(URI)
    assert (folder / "registered_model_meta").is_file()
    assert download.load(URI).classes


def test_tags_and_rows_of_the_database_sign_nothing(folder):
    """What the artifact proxy of `mlflow ui` and its API let every local user do."""
    append("data/served/served.json")(folder)
    client = mlflow.MlflowClient()
    version = client.get_model_version_by_alias(MODEL, "champion")
    for tag in version.tags:
        client.delete_model_version_tag(MODEL, version.version, tag)
    refused("files were changed")


def test_a_location_that_mlflow_has_not_written_is_refused_and_the_model_registered_again(folder, tmp_path):
    with contextlib.closing(sqlite3.connect("mlflow.db")) as database, database:
        database.execute("update logged_models set artifact_location = 'http://127.0.0.1:9/model'")
    refused("its files cannot be read from http://127.0.0.1:9/model")
    assert register.run(NAME, registered.with_candidates("ldep"))["version"] == 2
    assert download.load(URI).classes


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("code-was-run").resolve(),))


@pytest.mark.parametrize("command", [["serve", NAME], ["score", URI, "rows.csv", "scored.csv"]])
def test_no_code_runs_of_a_folder_that_was_tampered_with(folder, capsys, command):
    (folder / "evil.pkl").write_bytes(pickle.dumps(Bomb()))
    (folder / "code").mkdir()
    (folder / "code/evil.py").write_text("from pathlib import Path\nPath('code-was-run').touch()\n")
    described = yaml.safe_load((folder / "MLmodel").read_text())
    described["flavors"]["python_function"] |= {"loader_module": "evil", "data": "evil.pkl", "code": "code"}
    (folder / "MLmodel").write_text(yaml.safe_dump(described))
    registered.rows(3).to_csv("rows.csv", index=False)
    assert main(command) == 1
    assert "is not loaded: files were changed after registration: MLmodel" in capsys.readouterr().err
    assert not Path("code-was-run").exists()


def test_a_clone_without_the_private_key_verifies_and_cannot_forge(folder):
    Path(".ldep/signing.key").unlink()
    assert download.load(URI).predict(registered.rows(3))
    append("MLmodel")(folder)
    refused("files were changed")
    sign_with_another_key(folder)
    refused("this project does not trust the key")


def test_a_public_key_in_the_folder_of_a_model_is_not_trusted(folder):
    own = json.loads((folder / signatures.MANIFEST).read_text())["key"]
    foreign = keys.SigningKey.new()
    (folder / "trusted-keys.json").write_text(json.dumps({"keys": [vars(foreign.as_trusted())]}))
    signatures.sign(folder, MODEL, json.loads((folder / signatures.MANIFEST).read_text())["model_id"], foreign)
    refused(f"this project does not trust the key {foreign.id}")
    path = folder / signatures.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | {"key": own}))
    refused(f"its signature is not one of the key {own}")


def test_after_a_rotation_old_versions_load_and_new_ones_have_the_new_key(folder):
    old, new = keys.rotate()
    assert download.load(URI).predict(registered.rows(3))
    register.run(NAME, registered.with_candidates("linear"))
    signed = json.loads((stored_files(MODEL, "2") / signatures.MANIFEST).read_text())
    assert (signed["key"], keys.TrustedKeys.read().by_id[old].state) == (new.id, "retired")
    assert download.load(f"models:/{MODEL}/2").predict(registered.rows(3))


def test_what_a_revoked_key_signed_is_refused_until_it_is_registered_with_another_key(folder):
    own = keys.signing_key().id
    keys.revoke(own, "the laptop was stolen")
    refused(rf"the key {own} \(.*\) that signed it was revoked on 20")
    with pytest.raises(UserError, match=rf"{own}\) is revoked since 20.*`ldep keys rotate`"):
        register.run(NAME, registered.with_candidates("ldep"))
    keys.rotate()
    assert keys.TrustedKeys.read().by_id[own].state == "revoked"
    record = register.run(NAME, registered.with_candidates("ldep"))
    assert (record["version"], record["decision"]) == (2, "champion")
    assert download.load(URI).predict(registered.rows(3))


def test_the_key_of_somebody_else_is_trusted_on_request(folder):
    colleague = keys.SigningKey.new()
    model_id = json.loads((folder / signatures.MANIFEST).read_text())["model_id"]
    signatures.sign(folder, MODEL, model_id, colleague)
    refused("this project does not trust")
    keys.trust(colleague.public, "Ana")
    assert download.load(URI).predict(registered.rows(3))


def test_without_the_file_of_trusted_keys_nothing_is_loaded(folder):
    Path("trusted-keys.json").unlink()
    refused("this project does not trust")


def test_bytecode_that_mlflow_leaves_beside_shipped_code_is_no_change(trained_project):
    register.run(NAME, registered.with_candidates("ldep", ship_code=True))
    folder = stored_files(MODEL, "1")
    cache = folder / "code/ldep_pipeline/serving/__pycache__"
    cache.mkdir()
    (cache / "calibration.cpython-311.pyc").write_bytes(b"anything: it is never run")
    assert download.load(URI).predict(registered.rows(3))


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9/model", "runs:/1/model", "models:/m-123", "models:/a/b/c", "gone"])
def test_other_addresses_are_refused_in_one_sentence(trained_project, uri):
    with pytest.raises(UserError, match=r"there is no model .*: it must be models:/ldep-NAME@champion"):
        download.load(uri)


def test_a_model_or_an_alias_that_does_not_exist_is_reported(folder):
    for uri in (f"models:/{MODEL}@none", f"models:/{MODEL}/9", "models:/none@champion"):
        with pytest.raises(UserError, match=f"there is no model {uri}: .*not found"):
            download.load(uri)


@pytest.mark.parametrize("command", [["serve", NAME], ["score", URI, "rows.csv", "scored.csv"]])
@pytest.mark.parametrize("content", [None, b"", b"no database at all" * 1000])
def test_a_lost_or_damaged_database_is_reported(tmp_path, command, content):
    """In a process of its own: this one may still have the file open."""
    registered.rows(3).to_csv(tmp_path / "rows.csv", index=False)
    database = tmp_path / "mlflow.db"
    if content is not None:
        database.write_bytes(content)
    done = forked.run(tmp_path, "ldep", *command)
    assert done.code == 1, done.text
    expected = {None: "mlflow.db does not exist; run this in the project's folder", b"": f"there is no model {URI}"}
    assert expected.get(content, f"{URI} cannot be read from ") in done.text
    assert "Traceback" not in done.text
    assert database.exists() == (content is not None)


def test_a_failed_download_is_reported_while_other_files_still_arrive(folder, tmp_path, monkeypatch):
    """MLflow downloads in several threads and raises the first error, while the other threads still write."""
    removed = threading.Event()

    def failing(artifact_uri: str, dst_path: str) -> str:
        def write_on() -> None:
            number = 0
            while not removed.is_set():
                place = Path(dst_path, "code")
                place.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileNotFoundError):  # the folder has just been removed
                    Path(place, str(number)).touch()
                number += 1

        threading.Thread(target=write_on, daemon=True).start()
        time.sleep(0.1)
        raise mlflow.MlflowException("the disk of the server is gone")

    monkeypatch.setattr(mlflow.artifacts, "download_artifacts", failing)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    try:
        with pytest.raises(UserError, match=r"cannot be read from sqlite:.*: the disk of the server is gone"):
            download.load(URI)
    finally:
        removed.set()


def test_through_a_tracking_server_the_same_checks_apply_and_no_download_is_left(
    trained_project, tmp_path, monkeypatch
):
    values = registered.with_candidates("ldep")
    values = values.model_copy(update={"tracking": params.Tracking(experiment="by-a-server")})
    port = servers.free_port()
    database = f"sqlite:///{trained_project}/mlflow.db"
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", database, "--workers", "1"]
    command += ["--artifacts-destination", "stored", "--port", str(port)]
    with servers.started(trained_project, port, command) as (url, _):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
        (tmp_path / "scratch").mkdir()
        register.run(NAME, values)
        assert download.load(URI).predict(registered.rows(3))
        (description,) = (trained_project / "stored").rglob("MLmodel")
        append("MLmodel")(description.parent)
        refused("files were changed after registration: MLmodel")
        shutil.rmtree(description.parent)
        refused("its files are lost")
        assert register.run(NAME, values)["version"] == 2
        assert download.load(URI).predict(registered.rows(3))
        assert not list((tmp_path / "scratch").iterdir())


def test_a_copy_loads_where_its_store_is_not(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/none.db")
    assert mlflow.pyfunc.load_model(str(tmp_path / "copy")).predict(registered.rows(3))
    assert download.load(str(tmp_path / "copy")).predict(registered.rows(3))
    assert not (tmp_path / "none.db").exists()
