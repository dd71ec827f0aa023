"""A project with two signed versions of a model that answer differently, and what each answers."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd

from ldep_pipeline.registry import download
from ldep_pipeline.stages import register
from tests.support import registered


@dataclass
class TwoVersions:
    folder: Path
    rows: list[dict[str, Any]]
    expected: dict[str, list[dict[str, Any]]]
    """By version, the output `scores` of the rows."""

    def switch(self, version: str, alias: str = "champion") -> None:
        client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{self.folder}/mlflow.db")
        client.set_registered_model_alias(registered.MODEL, alias, version)

    def body(self, number: int) -> dict[str, Any]:
        return {"dataframe_records": [self.rows[number]], "params": {"output": "scores"}}


def make(project: Path, folder: Path) -> TwoVersions:
    """Two versions in a copy of a registered project."""
    registered.copy_without_versions(project, folder)
    with contextlib.chdir(folder):
        register.run(registered.NAME, registered.with_candidates("ldep"))
        register.run(registered.NAME, registered.with_candidates("linear"), promote=True)
    frame = registered.rows(40, seed=1)[["width", "größe (cm)", "grade", "colour"]]
    plain = frame.astype(object).where(frame.notna(), None)
    expected = {}
    for version in ("1", "2"):
        model = download.load(f"models:/{registered.MODEL}/{version}", folder)
        # One at a time, as they are sent: the last bits of a number depend on how many rows there are.
        expected[version] = [model.predict(plain.iloc[[n]], {"output": "scores"})[0] for n in range(len(plain))]
    assert all(one != other for one, other in zip(*expected.values(), strict=True))
    made = TwoVersions(folder, plain.to_dict(orient="records"), expected)
    made.switch("1")
    return made


def damage(versions: TwoVersions, version: str) -> Path:
    """Change the stored files of a version; return the copy of what they were."""
    files = registered.stored_files(registered.MODEL, version)
    kept = files.with_name("kept")
    shutil.copytree(files, kept)
    path = files / "data/served/pipeline.skops"
    path.write_bytes(path.read_bytes() + b"\0")
    return kept


@contextlib.contextmanager
def store(versions: TwoVersions) -> Iterator[None]:
    """MLflow's store of this process is that of the project."""
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{versions.folder}/mlflow.db")
    try:
        yield
    finally:
        mlflow.set_tracking_uri(before)


def frame(versions: TwoVersions) -> pd.DataFrame:
    return pd.DataFrame(versions.rows)
