"""File locations of each stage, relative to the project folder (the one with params.yaml)."""

from __future__ import annotations

from pathlib import Path

from ldep_pipeline.data.settings import DATA, OWN, encoder, folds, imputed, profile, provenance, raw  # noqa: F401

PARAMS = Path("params.yaml")
TRUSTED_KEYS = Path("trusted-keys.json")  # the public keys that verify registered models; git tracks it
DECIDES = DATA / "decides"  # what decides the output of each stage, by stage and data set
OWN_MODELS = Path("own_models")  # the folder that DVC watches for the user's own classes
REPORTS = Path("reports")
RESULTS = Path("results")
METRICS = Path("metrics/sets")  # one file per data set
MEANS = Path("metrics/mean.json")  # the means over the data sets
TUNED = Path("tuned")  # written by `ldep tune`, which is not a stage
PLOTS = Path("plots")
REGISTRY = Path("registry")  # the decision about the final model of each data set
REPORT = Path("report")
STATE = Path(".ldep")  # tracked by neither git nor DVC: work that can be computed again
FITS = STATE / "fits"
KNOWN_CODE = STATE / "code.json"  # code that was read before, by its content
BUILT = STATE / "built"  # which models have been built before
LOCKS = STATE / "locks"
ANSWERED = STATE / "answered"  # the tracking stores that have answered before
