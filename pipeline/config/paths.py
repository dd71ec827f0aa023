"""Where each stage's files stand, under the project's folder (the one with params.yaml)."""

from __future__ import annotations

from pathlib import Path

PARAMS = Path("params.yaml")
DATA = Path("data")
CHECKED = DATA / "params.checked"
OWN = DATA / "own"  # the folder that DVC watches for the user's own files
REPORTS = Path("reports")


def raw(name: str, data: Path = DATA) -> Path:
    return data / "raw" / f"{name}.parquet"


def provenance(name: str, data: Path = DATA) -> Path:
    # Not beside the data: its time of day would make every later stage run again.
    return data / "provenance" / f"{name}.json"


def imputed(name: str, data: Path = DATA) -> Path:
    return data / "imputed" / f"{name}.parquet"


def encoder(name: str, data: Path = DATA) -> Path:
    return data / "imputed" / f"{name}.encoder.json"


def folds(name: str, data: Path = DATA) -> Path:
    return data / "folds" / f"{name}.csv"


RESULTS = Path("results")
METRICS = Path("metrics/sets")  # of each set
MEANS = Path("metrics/mean.json")  # over the sets
TUNED = Path("tuned")  # no stage: `ldep tune`
PLOTS = Path("plots")
REGISTRY = Path("registry")  # what was decided about each set's final model
REPORT = Path("report")
STATE = Path(".ldep")  # ours alone, neither git's nor DVC's: what a rerun would only compute again
LOCKS = STATE / "locks"
ANSWERED = STATE / "answered"  # which tracking store has
