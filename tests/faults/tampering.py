"""Ways to change a registered model, its rows in MLflow's database, or the store, so that foreign code might run.

Each function gets the project and plants a payload. The payload creates the file MARKER in the project's folder: if it
appears, code has run that did not belong to the project.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import skops.io
import yaml
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from ldep_pipeline.common.digests import digest
from ldep_pipeline.config import paths
from ldep_pipeline.registry import keys, signatures
from ldep_pipeline.serving import served_model
from tests.faults.finished import NAME, Finished

MARKER = "code-was-run"
FOREIGN_KEY = keys.SigningKey.new()
Tamper = Callable[[Finished], None]


class Bomb:
    """Runs code when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return (Path.touch, (self.marker,))


def code(project: Finished) -> str:
    return f"from pathlib import Path\nPath({str(project.folder / MARKER)!r}).touch()\n"


def bomb(project: Finished) -> bytes:
    return pickle.dumps(Bomb(project.folder / MARKER))


def model_folder(project: Finished) -> Path:
    """The files of the champion in the artifact store."""
    with sqlite3.connect(project.folder / "mlflow.db") as database:
        (source,) = database.execute(
            "select v.source from model_versions v join registered_model_aliases a on v.name = a.name "
            "and v.version = a.version where a.alias = 'champion'"
        ).fetchone()
    database.close()
    return project.folder / "mlartifacts/models" / source.removeprefix("models:/") / "artifacts"


# Files of the model's folder.


def replaced_by_a_pickle(name: str) -> Tamper:
    def tamper(project: Finished) -> None:
        (model_folder(project) / name).write_bytes(bomb(project))

    return tamper


def extended_by_code(name: str) -> Tamper:
    def tamper(project: Finished) -> None:
        with (model_folder(project) / name).open("a") as file:
            file.write("\n" + code(project))

    return tamper


def linked_elsewhere(name: str) -> Tamper:
    def tamper(project: Finished) -> None:
        path = model_folder(project) / name
        outside = project.folder / "outside"
        outside.write_bytes(path.read_bytes() + b"\n")
        path.unlink()
        path.symlink_to(outside)

    return tamper


def added_modules(project: Finished) -> None:
    """Modules that Python would import by itself, or in the place of others."""
    folder = model_folder(project)
    for place in (folder, folder / "data", folder / "data/served", folder / "code"):
        place.mkdir(exist_ok=True)
        for module in ("sitecustomize", "usercustomize", "conftest", "sklearn", "numpy", "ldep", "ldep_pipeline"):
            (place / f"{module}.py").write_text(code(project))


def added_bytecode(project: Finished) -> None:
    """The signature leaves out __pycache__, because nobody imports from there."""
    cache = model_folder(project) / "data/served/__pycache__"
    cache.mkdir()
    (cache / "pipeline.cpython-311.pyc").write_bytes(bomb(project))
    (model_folder(project) / "registered_model_meta").write_text(code(project))


def another_loader(project: Finished) -> None:
    folder = model_folder(project)
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code/evil.py").write_text(code(project))
    _describe(folder, {"loader_module": "evil", "code": "code"})


def another_pickled_model(project: Finished) -> None:
    folder = model_folder(project)
    (folder / "python_model.pkl").write_bytes(bomb(project))
    _describe(folder, {"loader_module": "mlflow.pyfunc.model", "python_model": "python_model.pkl"})


def another_requirement(project: Finished) -> None:
    package = project.folder / "package"
    package.mkdir()
    (package / "setup.py").write_text(code(project))
    for name in ("requirements.txt", "python_env.yaml", "conda.yaml"):
        (model_folder(project) / name).write_text(f"{package.as_uri()}\n")


def functions_in_the_pipeline(project: Finished) -> None:
    """A skops file whose steps unpickle a file, with the checksum that belongs to it."""
    data = model_folder(project) / "data/served"
    content = skops.io.dumps(_unpickling_pipeline(project))
    (data / served_model.PIPELINE).write_bytes(content)
    path = data / served_model.DESCRIPTION
    description = json.loads(path.read_text())
    path.write_text(json.dumps({**description, "sha256": hashlib.sha256(content).hexdigest()}))


def everything_but_the_key(project: Finished) -> None:
    """A foreign pipeline with a valid signature of a foreign key, and files in the folder that vouch for that key."""
    functions_in_the_pipeline(project)
    another_loader(project)
    folder = model_folder(project)
    manifest = json.loads((folder / signatures.MANIFEST).read_text())
    trusted = {"keys": [vars(FOREIGN_KEY.as_trusted())]}
    for place in (folder, folder / "data/served"):
        (place / paths.TRUSTED_KEYS).write_text(json.dumps(trusted))
    signatures.sign(folder, manifest["model"], manifest["model_id"], FOREIGN_KEY)


def the_name_of_the_key(project: Finished) -> None:
    """The same, with the id of the project's own key in the manifest."""
    manifest = json.loads((model_folder(project) / signatures.MANIFEST).read_text())
    everything_but_the_key(project)
    path = model_folder(project) / signatures.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | {"key": manifest["key"]}))


# Rows of MLflow's database.


def changed_rows(*statements: str) -> Tamper:
    """Rows that lead to a complete model folder elsewhere, whose loader is foreign."""

    def tamper(project: Finished) -> None:
        elsewhere = project.folder / "elsewhere"
        shutil.copytree(model_folder(project), elsewhere)
        (elsewhere / "code").mkdir()
        (elsewhere / "code/evil.py").write_text(code(project))
        (elsewhere / "python_model.pkl").write_bytes(bomb(project))
        _describe(elsewhere, {"loader_module": "evil", "code": "code"})
        with sqlite3.connect(project.folder / "mlflow.db") as database:
            for statement in statements:
                database.execute(statement.format(elsewhere=elsewhere.as_uri()))
        database.close()

    return tamper


# Files of the store, with the checksums that belong to them: these protect from damage, not from an attacker.


def functions_in_a_stored_fit(project: Finished) -> None:
    content = skops.io.dumps(_unpickling_pipeline(project))
    for path in (project.folder / ".ldep/fits").rglob("*.skops"):
        path.write_bytes(content)
        _sign_record(path.with_suffix(".json"))
    (project.folder / "mlflow.db").unlink()  # so that the models are logged again


def pickles_in_the_store(project: Finished) -> None:
    array = io.BytesIO()
    np.save(array, np.array([Bomb(project.folder / MARKER)], dtype=object), allow_pickle=True)
    for path in (project.folder / ".ldep/fits").rglob("*.npy"):
        path.write_bytes(array.getvalue())
        _sign_record(path.with_suffix(".json"))


def pickled_skops_files(project: Finished) -> None:
    for path in (project.folder / ".ldep/fits").rglob("*.skops"):
        path.write_bytes(bomb(project))
        _sign_record(path.with_suffix(".json"))
    (project.folder / "mlflow.db").unlink()


def classes_in_a_study(project: Finished) -> None:
    """Settings that name a class, which `params.yaml` may do, in the outcome of a study."""
    (project.folder / ".ldep/evil.py").write_text(code(project))
    (project.folder / "evil.py").write_text(code(project))
    foreign = {"class": "evil.Evil", "params": {}}
    for path in (project.folder / ".ldep/fits").rglob("*.json"):
        entry = json.loads(path.read_text())
        if "chosen" in entry["record"]:
            entry["record"]["chosen"] = {**entry["record"]["chosen"], "alpha": foreign}
            path.write_text(json.dumps(entry))
            _sign_record(path)
        else:
            path.unlink()


def pickled_journals(project: Finished) -> None:
    shutil.rmtree(project.folder / ".ldep/fits")
    for path in (project.folder / ".ldep/studies").iterdir():
        path.write_bytes(bomb(project))


def extension_types_in_parquet(project: Finished) -> None:
    """A column type that old versions of pyarrow unpickled when they read a file."""
    for name in (f"data/raw/{NAME}", f"data/imputed/{NAME}", f"results/{NAME}/decisions"):
        path = project.folder / f"{name}.parquet"
        table = pa.Table.from_pandas(pd.read_parquet(path))
        field = table.schema.field(0)
        metadata = {
            b"ARROW:extension:name": b"arrow.py_extension_type",
            b"ARROW:extension:metadata": bomb(project),
        }
        pyarrow.parquet.write_table(table.cast(table.schema.set(0, field.with_metadata(metadata))), path)


def commands_in_the_lock(project: Finished) -> None:
    path = project.folder / "dvc.lock"
    path.write_text(path.read_text().replace("cmd: ldep", f"cmd: touch {project.folder / MARKER}; ldep"))


def _describe(folder: Path, flavour: dict[str, str]) -> None:
    description = yaml.safe_load((folder / "MLmodel").read_text())
    description["flavors"]["python_function"] |= flavour
    (folder / "MLmodel").write_text(yaml.safe_dump(description))


def _unpickling_pipeline(project: Finished) -> Pipeline:
    """Writes the numbers that it gets as text, and unpickles the file of that name.

    For the rows with which a model is tried that file is there.
    """
    frame = pd.read_parquet(project.folder / f"data/imputed/{NAME}.parquet")
    X = frame.iloc[:, :-1].to_numpy()
    scale = StandardScaler().fit(X)
    as_text = FunctionTransformer(np.array2string, kw_args={"threshold": 0, "edgeitems": 1})
    for rows in (X, X[:5], X[:1]):
        (project.folder / as_text.transform(scale.transform(rows))).write_bytes(bomb(project))
    unpickle = FunctionTransformer(np.load, kw_args={"allow_pickle": True})
    classifier = SVC().fit(X, frame.iloc[:, -1].astype(str))
    return Pipeline([("encode", scale), ("text", as_text), ("unpickle", unpickle), ("svc", classifier)])


def _sign_record(path: Path) -> None:
    """Give a record of the store the checksums that its content and files have now."""
    entry = json.loads(path.read_text())
    files = {suffix: hashlib.sha256(path.with_suffix(suffix).read_bytes()).hexdigest() for suffix in entry["files"]}
    checksum = digest(path.stem, entry["record"], files)
    path.write_text(json.dumps({"checksum": checksum, "files": files, "record": entry["record"]}))
