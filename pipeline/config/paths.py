"""File locations of each stage, relative to the project folder (the one with params.yaml)."""

from __future__ import annotations

from pathlib import Path

PARAMS = Path("params.yaml")
DATA = Path("data")
CHECKED = DATA / "params.checked"
OWN_MODELS = Path("own_models")  # the folder that DVC watches for the user's own classes
OWN = DATA / "own"  # the folder that DVC watches for the user's own files
REPORTS = Path("reports")


def raw(name: str, data: Path = DATA) -> Path:
    return data / "raw" / f"{name}.parquet"


def provenance(name: str, data: Path = DATA) -> Path:
    # Not next to the data: its timestamp would make every later stage run again.
    return data / "provenance" / f"{name}.json"


def profile(name: str, data: Path = DATA) -> Path:
    return data / "profile" / f"{name}.json"


def imputed(name: str, data: Path = DATA) -> Path:
    return data / "imputed" / f"{name}.parquet"


def encoder(name: str, data: Path = DATA) -> Path:
    return data / "imputed" / f"{name}.encoder.json"


def folds(name: str, data: Path = DATA) -> Path:
    return data / "folds" / f"{name}.csv"


RESULTS = Path("results")
METRICS = Path("metrics/sets")  # one file per data set
MEANS = Path("metrics/mean.json")  # the means over the data sets
TUNED = Path("tuned")  # written by `ldep tune`, which is not a stage
PLOTS = Path("plots")
REGISTRY = Path("registry")  # the decision about the final model of each data set
REPORT = Path("report")
STATE = Path(".ldep")  # tracked by neither git nor DVC: work that can be computed again
LOCKS = STATE / "locks"
ANSWERED = STATE / "answered"  # the tracking stores that have answered before
