"""From an entry of `classifiers` in params.yaml to a fitted pipeline, whatever its class.

A fit is the same wherever and in whichever order it runs: its seed derives from the names of the work, and it has one
core. The driver runs one fit per worker, so a fit that starts threads or processes of its own only competes with the
others. Its CPU seconds would not include those of its processes, and after Ctrl-C they would go on.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from ldep.estimators import LinearLDEP
from ldep_pipeline.fitting.specs import Classifier, Impute, Space, estimated_seconds, is_nested, takes
from ldep_pipeline.fitting.training_data import Partition

COMPARED = 200  # rows on which a linear model and its other form are compared
LINEAR = ("LogisticRegression", "LinearSVC", "RidgeClassifier", "SGDClassifier", "LinearDiscriminantAnalysis")
INNER_FOLDS = 5  # scikit-learn's number where `cv` is None


class ModelError(ValueError):
    """A model that cannot be built. `given` is a name that does not exist, `valid` are the names that do."""

    def __init__(self, message: str, given: str = "", valid: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.given, self.valid = given, valid


def resolve(path: str) -> Any:
    """Import what a dotted path names."""
    module, _, name = path.rpartition(".")
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        raise ModelError(f"'{path}' cannot be imported: {error}.") from None
    except Exception as error:  # importing runs the module, which may do anything
        raise ModelError(f"'{path}' cannot be imported: {type(error).__name__}: {error}.") from None
    if not hasattr(imported, name):
        public = [item for item in dir(imported) if not item.startswith("_")]
        raise ModelError(f"'{path}' cannot be imported: '{module}' has no '{name}'", name, public[:200])
    return getattr(imported, name)


def build(path: str, params: dict[str, Any]) -> Any:
    """An unfitted estimator; a parameter that is {class: ..., params: ...} is built the same way."""
    estimator_class = resolve(path)
    methods = ("get_params", "fit")
    if not inspect.isclass(estimator_class) or not all(hasattr(estimator_class, name) for name in methods):
        raise ModelError(f"'{path}' is not a scikit-learn estimator.")
    declared = inspect.signature(estimator_class).parameters.values()
    valid = [parameter.name for parameter in declared if parameter.kind is not parameter.VAR_KEYWORD]
    if len(valid) == len(declared):  # otherwise the class takes any name
        for name in params:
            if name not in valid:
                raise ModelError(f"{path} has no parameter '{name}'", name, valid)
    try:
        return estimator_class(**{name: _value(value) for name, value in params.items()})
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path}: {error}.") from None


def _value(value: Any) -> Any:
    if is_nested(value):
        return build(value["class"], value.get("params") or {})
    return [_value(item) for item in value] if isinstance(value, list) else value


def settings_for(
    entry: Classifier, chosen: dict[str, Any], rows: int, features: int, *, classes: int = 2
) -> dict[str, Any]:
    """All parameters of a model as plain values, for training data of this shape and the settings that tuning chose.

    Beyond the budget, or with more classes than these settings take, `instead` replaces chosen settings too.
    """
    settings = {**entry.params, **chosen}
    budget = entry.budget
    if budget is None:
        return settings
    fits = takes(entry.class_, settings, classes)
    if not fits or estimated_seconds(entry.class_, rows, features, settings) > budget.seconds:
        settings |= budget.instead
    return settings


def may_be_linear(entry: Classifier, n_classes: int) -> bool:
    """Whether the fitted model has decision values that are linear in the features, one column for each class."""
    name = entry.class_.rpartition(".")[2]
    if name == "SVC":  # with more classes it has one boundary for each pair of them
        return n_classes == 2 and entry.params.get("kernel") == "linear"
    return name in LINEAR


def explained(pipe: Pipeline, entry: Classifier, X: np.ndarray | pd.DataFrame) -> Pipeline:
    """A fitted pipeline, whose linear model is replaced by the same one as an ℓ-DEP; any other stays as it is."""
    if entry.ensemble is not None or not may_be_linear(entry, len(pipe.classes_)):
        return pipe
    linear = LinearLDEP.from_classifier(pipe[-1], np.asarray(pipe[:-1].transform(X[:COMPARED])))
    return pipe if linear is None else Pipeline([*pipe.steps[:-1], (pipe.steps[-1][0], linear)])


def pipeline(entry: Classifier, settings: dict[str, Any], impute: Impute, seed: int) -> Pipeline:
    """The pipeline that is fitted on training rows: scaler and model, after an imputer if each fold has its own."""
    model = with_seed(build(entry.class_, settings), seed)
    steps: list[tuple[str, Any]] = [("scale", StandardScaler()), ("model", model)]
    if impute.scope == "fold":
        fill = impute.fill_value if impute.strategy == "constant" else None
        # A column that is empty in one fold is kept, so that every fold has the same columns.
        steps.insert(0, ("impute", SimpleImputer(strategy=impute.strategy, fill_value=fill, keep_empty_features=True)))
    return Pipeline(steps)


def with_seed(estimator: Any, seed: int) -> Any:
    """Set each `random_state` that params.yaml leaves open."""
    params = estimator.get_params()
    unset = [name for name in params if name.split("__")[-1] == "random_state" and params[name] is None]
    return estimator.set_params(**dict.fromkeys(unset, seed))


@contextmanager
def one_core() -> Iterator[None]:
    """Within this context, BLAS uses one thread, and an `n_jobs` in params.yaml has no effect."""
    with threadpool_limits(1), parallel_config(backend="sequential"):
        yield


def derive_seed(seed: int, *names: object) -> int:
    """A seed of 31 bits for the piece of work that has these names, whatever else runs and in whichever order."""
    text = "|".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def fit_pipeline(
    pipe: Pipeline, X: np.ndarray | pd.DataFrame, y: np.ndarray, partition: Partition, rows: np.ndarray, seed: int
) -> None:
    """Fit a pipeline on X and y, the given rows of a data set. `rows` is a mask, or row numbers in rising order.

    A model that cross-validates inside gets folds by time or by group where the data set is split so: a parameter `cv`
    of the model that is a number is replaced during the fit. Nothing changes for stratified folds, and for models
    without such a parameter.
    """
    model = pipe[-1]
    cv = model.get_params(deep=False).get("cv", "none")
    by_column = partition.group is not None or partition.time is not None
    if not by_column or not (cv is None or isinstance(cv, Integral)):
        pipe.fit(X, y)
        return
    inner = _within(partition, rows)
    everything = np.arange(len(y))
    count = inner.inner_fold_count(everything, y, int(cv or INNER_FOLDS), seed)
    model.set_params(cv=inner.inner_splits(everything, y, count, seed))
    try:
        pipe.fit(X, y)
    finally:
        model.set_params(cv=cv)  # the row numbers are of no use in a stored model


def _within(partition: Partition, rows: Any) -> Partition:
    """The same kind of partition for some of the rows, numbered from 0."""
    group = partition.group[rows] if partition.group is not None else None
    time = partition.time[rows] if partition.time is not None else None
    return Partition(partition.test_fold[rows], group, time)


def suggest(trial: Any, search: dict[str, Space]) -> dict[str, Any]:
    """Ask an Optuna trial for a value of each searched parameter."""
    for name, space in search.items():
        if space.choices is not None:
            trial.suggest_categorical(name, [_scalar(value) for value in space.choices])
        elif isinstance(space.low, int) and isinstance(space.high, int):
            trial.suggest_int(name, space.low, space.high, log=space.log)
        else:
            trial.suggest_float(name, space.low, space.high, log=space.log)
    return from_trial(trial.params, search)


def as_trial(settings: dict[str, Any], search: dict[str, Space]) -> dict[str, Any]:
    """The values by which Optuna knows some settings."""
    return {name: _scalar(settings[name]) for name in search}


def from_trial(values: dict[str, Any], search: dict[str, Space]) -> dict[str, Any]:
    """The settings of a trial's values: the inverse of `as_trial`."""
    settings = {}
    for name, space in search.items():
        choices = {_scalar(choice): choice for choice in space.choices or []}
        settings[name] = choices.get(values[name], values[name])
    return settings


def _scalar(choice: Any) -> Any:
    """A choice, or its JSON text if it is a list or a mapping: Optuna stores only scalars."""
    return choice if choice is None or isinstance(choice, (bool, int, float, str)) else json.dumps(choice)
