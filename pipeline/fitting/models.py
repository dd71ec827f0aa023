"""From an entry of `classifiers` in params.yaml to an estimator, whatever its class."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator, Sequence
from typing import Any

from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pipeline.fitting.budget import ccp_seconds
from pipeline.fitting.specs import Classifier, Impute, Space

NESTED = {"class", "params"}


class ModelError(ValueError):
    """A model that cannot be built. `given` is a name that does not exist, `valid` are the names that do."""

    def __init__(self, message: str, given: str = "", valid: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.given, self.valid = given, valid


def resolve(path: str) -> Any:
    """Import what a dotted path names."""
    module, _, name = path.rpartition(".")
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ModelError(f"'{path}' cannot be imported: {error}.") from None
    except Exception as error:  # the module runs when it is imported, and may do anything
        raise ModelError(f"'{path}' cannot be imported: {type(error).__name__}: {error}.") from None
    if not hasattr(found, name):
        public = [item for item in dir(found) if not item.startswith("_")]
        raise ModelError(f"'{path}' cannot be imported: '{module}' has no '{name}'", name, public[:200])
    return getattr(found, name)


def build(path: str, params: dict[str, Any]) -> Any:
    """An unfitted estimator; a parameter that is {class: ..., params: ...} is built the same way."""
    made = resolve(path)
    if not inspect.isclass(made) or not hasattr(made, "get_params") or not hasattr(made, "fit"):
        raise ModelError(f"'{path}' is not a scikit-learn estimator.")
    declared = inspect.signature(made).parameters.values()
    known = [parameter.name for parameter in declared if parameter.kind is not parameter.VAR_KEYWORD]
    if len(known) == len(declared):  # else the class takes whatever name it is given
        for name in params:
            if name not in known:
                raise ModelError(f"{path} has no parameter '{name}'", name, known)
    try:
        return made(**{name: _value(value) for name, value in params.items()})
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path}: {error}.") from None


def _value(value: Any) -> Any:
    if _is_nested(value):
        return build(value["class"], value.get("params") or {})
    return [_value(item) for item in value] if isinstance(value, list) else value


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("class"), str) and set(value) <= NESTED


def classes(entry: Classifier) -> list[str]:
    """Every class that a model may be built of: its own, and those inside its parameters."""
    settings = [entry.params, entry.while_tuning, *entry.first, entry.budget.instead if entry.budget else {}]
    values = [value for held in settings for value in held.values()]
    return sorted({entry.class_, *_nested([*values, *(space.choices for space in entry.search.values())])})


def _nested(value: Any) -> Iterator[str]:
    if _is_nested(value):
        yield value["class"]
        yield from _nested(list((value.get("params") or {}).values()))
    elif isinstance(value, list):
        for item in value:
            yield from _nested(item)


def settings_for(
    name: str, classifiers: dict[str, Classifier], chosen: dict[str, Any], rows: int, features: int
) -> dict[str, Any]:
    """All parameters of a model, as plain values, for training data of this shape and what tuning chose."""
    entry = classifiers[name]
    if entry.of is not None:
        member = classifiers[entry.of]
        inner = settings_for(entry.of, classifiers, chosen, rows, features)
        return {**entry.params, "estimator": {"class": member.class_, "params": {**inner, **member.while_tuning}}}
    settings = {**entry.params, **chosen}
    if entry.budget is not None:
        r1, r2 = settings.get("r1", 10), settings.get("r2", 10)
        if ccp_seconds(rows, features, r1, r2) > entry.budget.seconds:
            settings |= entry.budget.instead
    return settings


def pipeline(entry: Classifier, settings: dict[str, Any], impute: Impute, seed: int) -> Pipeline:
    """What is fitted on a training fold: scaler and model, behind an imputer if each fold has its own."""
    steps: list[tuple[str, Any]] = [("scale", StandardScaler()), ("model", seeded(build(entry.class_, settings), seed))]
    if impute.scope == "fold":
        fill = impute.fill_value if impute.strategy == "constant" else None
        # A column that is empty in one fold is kept, so that every fold has the same columns.
        steps.insert(0, ("impute", SimpleImputer(strategy=impute.strategy, fill_value=fill, keep_empty_features=True)))
    return Pipeline(steps)


def seeded(estimator: Any, seed: int) -> Any:
    """Set each `random_state` that params.yaml leaves open."""
    values = estimator.get_params()
    names = [name for name in values if name.split("__")[-1] == "random_state" and values[name] is None]
    return estimator.set_params(**dict.fromkeys(names, seed))


def suggest(trial: Any, search: dict[str, Space]) -> dict[str, Any]:
    """Ask an Optuna trial for a value of each searched parameter."""
    for name, space in search.items():
        if space.choices is not None:
            trial.suggest_categorical(name, [_plain(value) for value in space.choices])
        elif isinstance(space.low, int) and isinstance(space.high, int):
            trial.suggest_int(name, space.low, space.high, log=space.log)
        else:
            trial.suggest_float(name, space.low, space.high, log=space.log)
    return from_trial(trial.params, search)


def as_trial(settings: dict[str, Any], search: dict[str, Space]) -> dict[str, Any]:
    """The values that Optuna holds for given settings."""
    return {name: settings[name] if space.choices is None else _plain(settings[name]) for name, space in search.items()}


def from_trial(values: dict[str, Any], search: dict[str, Space]) -> dict[str, Any]:
    """Settings from the values that Optuna holds: the inverse of `as_trial`."""
    settings = {}
    for name, space in search.items():
        choices = {_plain(choice): choice for choice in space.choices or []}
        settings[name] = choices.get(values[name], values[name])
    return settings


def _plain(choice: Any) -> Any:
    """Optuna's storages hold scalars alone."""
    return choice if choice is None or isinstance(choice, (bool, int, float, str)) else json.dumps(choice)
