"""What decides the output of each stage for one data set, beside its input files: code, versions and settings.

`ldep check` writes the answers to data/decides/STAGE/NAME.json, and the stages of dvc.yaml depend on these files: a
stage runs again if something that decides its output has changed, and for nothing else. A new stage, or a new setting
of one, is an entry of STAGES.

The code is that of the stage's module and of all that it imports. Rooms that validate, lock, report progress or talk to
MLflow decide nothing, nor do the packages that draw and translate fitted models on request, nor what is imported
through them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldep_pipeline.common.digests import digest, file_digest
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.execution.code_graph import APPLICATION, LIBRARY, CodeGraph
from ldep_pipeline.execution.code_version import DECIDES_NO_FIT, numerical_versions, package_version, version
from ldep_pipeline.fitting.specs import Classifier, classes

DECIDE_NOTHING = (
    *(f"{APPLICATION}.{room}" for room in ("common", "compat", "config", "tracking")),
    *(f"{LIBRARY}.{package}" for package in ("export", "plotting")),
)
# The estimators inherit methods that describe a fitted model, none of which `fit` or `predict` calls.
INHERITED = {f"{LIBRARY}.estimators": [f"{LIBRARY}.{package}" for package in DECIDES_NO_FIT]}
# Packages whose version counts for a stage that imports them, and the names of their distributions. A version of the
# others, which read, write, show or send, changes no output.
COUNTED = {
    "jinja2": "jinja2",
    "matplotlib": "matplotlib",
    "mlflow": "mlflow",
    "numpy": "numpy",
    "optuna": "optuna",
    "pandas": "pandas",
    "scikit_posthocs": "scikit-posthocs",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "skops": "skops",
}

Settings = Callable[[str, Params], dict[str, Any]]


def _fetched(name: str, params: Params) -> dict[str, Any]:
    """For a file of the user's its content, and how it is read; for a data set of the catalogue the source."""
    own = params.own_data.get(name)
    if own is None:
        return {"source": params.data.source}
    path = Path(own.path)  # without a file, the stage says what is wrong
    return {"md5": file_digest(path, "md5") if path.is_file() else None, **own.reading()}


def _imputed(name: str, params: Params) -> dict[str, Any]:
    return {"impute": params.impute.model_dump()}


def _split(name: str, params: Params) -> dict[str, Any]:
    return {"split": params.split.model_dump()}


def _trained(name: str, params: Params) -> dict[str, Any]:
    return {
        "metric": params.metric,
        "costs": params.costs and params.costs.model_dump(),
        "models": params.models,
        "classifiers": {model: _entry(params.classifiers[model]) for model in params.models},
        "tuning": params.tuning.model_dump(),
        "impute": params.impute.model_dump(),
        "seed": params.execution.seed,
    }


def _entry(classifier: Classifier) -> dict[str, Any]:
    return classifier.model_dump(by_alias=True, exclude_defaults=True)


def _registered(name: str, params: Params) -> dict[str, Any]:
    own = params.own_data.get(name)
    return {
        **_trained(name, params),
        "register": params.register_.model_dump(),
        "groups": _has_groups(name, params),
        "tracking": params.tracking.enabled,
        "promises": [promise.model_dump() for promise in own.promises] if own is not None else [],
    }


def _has_groups(name: str, params: Params) -> bool:
    """Whether the groups of a column are compared, for which the cost of recourse is measured."""
    return name in params.own_data and bool(params.own_data[name].grouped)


def _reported(name: str, params: Params) -> dict[str, Any]:
    return {
        "datasets": params.datasets,  # their order is that of the tables
        "metric": params.metric,
        "own_data": name in params.own_data,
        "groups": params.own_data[name].grouped if name in params.own_data else [],
        "tracking": params.tracking.enabled,
    }


@dataclass(frozen=True)
class Stage:
    """The settings that decide the output of a stage, and whether it fits models, explains them, or counts versions."""

    settings: Settings
    fits: bool = False
    explains: bool = False
    versions: bool = True


STAGES: Mapping[str, Stage] = {
    "fetch": Stage(_fetched, versions=False),  # a new version of a package is no reason to download data again
    "impute": Stage(_imputed),
    "split": Stage(_split),
    "train": Stage(_trained, fits=True),
    "register": Stage(_registered, fits=True, explains=True),
    "report": Stage(_reported),
}


class Deciding:
    """The answers of one installation. `known` is a file that remembers code that was read before."""

    def __init__(self, known: Path | None = paths.KNOWN_CODE) -> None:
        self.graph = CodeGraph(known)
        self._code = {stage: self.code(stage) for stage in STAGES}
        self.graph.remember()

    def of(self, stage: str, name: str, params: Params) -> dict[str, Any]:
        """What decides the output of a stage for one data set, as plain values; with the parameters of the project."""
        params = params.of(name)
        found = {**self._code[stage], "settings": STAGES[stage].settings(name, params)}
        if STAGES[stage].fits:
            wanted = {path for model in params.models for path in classes(params.classifiers[model])}
            packages = {path.partition(".")[0] for path in wanted} - {LIBRARY}
            found["classes"] = {package: _version(package) for package in sorted(packages)}
        return found

    def code(self, stage: str) -> dict[str, Any]:
        """The digest of each room and package whose code decides the output of a stage, and the versions that count."""
        modules = self.modules(stage)
        found: dict[str, Any] = {"code": self.graph.rooms(modules)}
        if STAGES[stage].versions:
            imported = {COUNTED[name] for name in self.graph.outside(modules) & {*COUNTED}}
            versions = {name: version(name) for name in imported}
            if STAGES[stage].fits:
                versions |= numerical_versions()
            found["versions"] = dict(sorted(versions.items()))
        return found

    def modules(self, stage: str) -> set[str]:
        """The modules that decide the output of a stage. Classes of models are imported by the names in params.yaml."""
        roots = {f"{APPLICATION}.stages.{stage}"}
        if STAGES[stage].fits:
            roots |= {name for name in self.graph.modules_in(LIBRARY) if not name.startswith(_NO_FIT)} - {LIBRARY}
        if STAGES[stage].explains:
            roots |= self.graph.modules_in(f"{LIBRARY}.explain")
        return self.graph.closure(roots, DECIDE_NOTHING, INHERITED)


_NO_FIT = tuple(f"{LIBRARY}.{package}" for package in DECIDES_NO_FIT)


def _version(package: str) -> str:
    """The version of a package of others, or a digest of one that lies in the project."""
    name, *found = package_version(package)
    return " ".join(found) if found else digest(name)[:16]
