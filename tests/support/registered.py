"""A small project with a registered model, made once a session; and the real server on it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import mlflow
import numpy as np
import pandas as pd
import yaml
from mlflow.entities.model_registry import ModelVersion

from ldep_pipeline.commands.main import main
from ldep_pipeline.config import params
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import plan
from ldep_pipeline.registry import download, final_model
from ldep_pipeline.stages import register
from ldep_pipeline.tracking import connection, relocation

NAME, BASELINE = "shop", "shop-baseline"
MODEL = f"ldep-{NAME}"
CLASSIFIERS = {
    # A linear SVC in a form that is not turned into an ℓ-DEP: it stands for all models that cannot explain themselves.
    "linear": {"class": "sklearn.svm.SVC", "params": {"kernel": "poly", "degree": 1, "gamma": 1.0}},
    "ldep": {"class": "ldep.LDEPClassifier", "params": {"r1": 4, "r2": 4, "alpha": 0.1, "n_init": 1, "max_iter": 30}},
}


def rows(count: int = 150, seed: int = 0) -> pd.DataFrame:
    """Raw rows: numbers, whole numbers, a nominal feature that looks like numbers, one of words, and missing cells.

    No linear boundary parts the classes, though the best one beats guessing.
    """
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "width": rng.normal(size=count).round(3),
            "größe (cm)": rng.integers(-2, 3, size=count),
            "grade": rng.choice(["1", "2", "3"], size=count),
            "colour": rng.choice(["red", "green", "blue"], size=count),
        }
    )
    inside = 2 * np.abs(frame["width"]) + 0.5 * frame["größe (cm)"] + (frame["colour"] == "red") < 1.8
    frame["sold"] = np.where(inside, "yes, sold", "no")
    frame.loc[::17, "width"] = np.nan
    frame.loc[::19, "colour"] = None
    return frame


def make(folder: Path) -> Path:
    """Write, prepare, train and register; the ℓ-DEP under one name, a linear SVC under the other."""
    (folder / "data/own").mkdir(parents=True)
    own = {}
    for name in (NAME, BASELINE):
        # Categories, declared: in a CSV file the grades would count as numbers.
        rows().astype({"grade": "category", "colour": "category"}).to_parquet(folder / f"data/own/{name}.parquet")
        own[name] = {"path": f"data/own/{name}.parquet", "target": "sold"}
    values = {
        "datasets": [NAME, BASELINE],
        "own_data": own,
        "split": {"folds": 3},
        "models": list(CLASSIFIERS),
        "classifiers": CLASSIFIERS,
        "execution": {"n_jobs": 1},
        "tracking": {"models": False},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False, allow_unicode=True))
    with inside(folder):
        for stage in ("fetch", "impute", "split", "train"):
            assert main([stage]) == 0
        register.run(NAME, with_candidates("ldep"))
        register.run(BASELINE, with_candidates("linear"))
    return folder


def copy_without_versions(project: Path, folder: Path) -> Path:
    """A copy with a registry of its own, in which nothing is registered; MLflow's store of this process."""
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns("*.log", "registry", "mlartifacts"))
    (folder / relocation.ARTIFACTS).mkdir()
    relocation.relocate(folder / "mlflow.db", connection.owner)
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    client = mlflow.MlflowClient()
    for model in client.search_registered_models():
        client.delete_registered_model(model.name)
    return folder


def all_versions() -> list[ModelVersion]:
    """The versions of the model, the oldest first."""
    return sorted(mlflow.MlflowClient().search_model_versions(f"name = '{MODEL}'"), key=number)


def number(version: ModelVersion) -> int:
    return int(version.version)


def aliases() -> dict[str, str]:
    """Which version holds each alias of the model."""
    holders = mlflow.MlflowClient().get_registered_model(MODEL).aliases
    return {alias: str(version) for alias, version in holders.items()}


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    with contextlib.chdir(folder):
        yield


def stored_files(name: str, version: str) -> Path:
    """The folder of a version in the artifact store itself, of a store on this machine."""
    client = mlflow.MlflowClient()
    model_id = download.logged_model_of(client.get_model_version(name, version))
    location = client.get_logged_model(model_id).artifact_location
    return Path(unquote(urlsplit(location).path))


def with_candidates(*names: str, **rule: Any) -> params.Params:
    """The project's parameters, with another section `register`."""
    chosen = params.Register(candidates=list(names), **rule)
    return params.load().model_copy(update={"register_": chosen})


def planned(model: str, values: params.Params) -> final_model.FinalModel:
    """The final fit of a model, by the results of the project in the working folder."""
    trained = plan.make(NAME, values, load_training_data(NAME).partition, models=[model])
    return final_model.plan(trained, values, Path())
