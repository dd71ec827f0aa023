"""Every model of params.yaml is built once before anything runs, so that a mistake is reported immediately.

`ldep check` builds them all, and remembers in the store what it has built, with which code. A stage that is started
afterwards builds only what is new, because somebody has edited params.yaml or a class since.
"""

from __future__ import annotations

import reprlib
from typing import Any

from sklearn.base import is_classifier

import ldep
from ldep.search import check_grid
from ldep.solvers import check_options
from ldep_pipeline.common.digests import digest
from ldep_pipeline.common.errors import UserError, nearest, short
from ldep_pipeline.compat.sklearn_validation import check_parameters
from ldep_pipeline.config.params import Params
from ldep_pipeline.execution.code_version import code_digest, find_own_models
from ldep_pipeline.execution.store import Store
from ldep_pipeline.fitting.models import ModelError, build, settings_for
from ldep_pipeline.fitting.specs import Space, classes


def check_models(params: Params, store: Store | None = None, where: str = "") -> None:
    """Build each model that is to run, and each end of each search space; UserError names the entry that is wrong.

    A model that the store knows to have been built from the same entry by the same code is not built again. `where`
    begins the keys in a message, if they are those of a data set.
    """
    if not params.models:
        raise UserError("params.yaml: models: the list is empty; name some of classifiers.")
    find_own_models()
    for name in params.models:
        if store is None or not _was_built(name, params, store):
            _check(name, params, where)
            if store is not None:
                store.put(_key(name, params), {"model": name})


def _was_built(name: str, params: Params, store: Store) -> bool:
    try:
        return store.get(_key(name, params)) is not None
    except Exception:  # its package cannot be imported: building it will say why
        return False


def _key(name: str, params: Params) -> str:
    entry = params.classifiers[name]
    return digest("built", entry.model_dump(), [code_digest(path) for path in classes(entry)])


def _check(name: str, params: Params, beginning: str) -> None:
    entry = params.classifiers[name]
    where = f"{beginning}classifiers.{name}"
    settings = settings_for(entry, {}, rows=100, features=1)
    estimator = _try(f"{where}", entry.class_, settings)
    if not is_classifier(estimator):
        raise UserError(f"params.yaml: {where}: {entry.class_} is not a classifier.")
    if entry.budget is not None:
        _try(f"{where}.budget.instead", entry.class_, {**settings, **entry.budget.instead})
    _try(f"{where}.while_tuning", entry.class_, {**settings, **entry.while_tuning})
    for parameter, space in entry.search.items():
        ends = space.choices if space.choices is not None else [space.low, space.high]
        for value in ends:
            _try(f"{where}.search.{parameter}", entry.class_, {**settings, parameter: value})
    for number, first in enumerate(entry.first):
        for parameter, value in first.items():
            if not _inside(value, entry.search[parameter]):
                shown = f"{parameter} = {reprlib.repr(value)}"
                raise UserError(f"params.yaml: {where}.first.{number}: {shown} is not in its search space.")


def _try(where: str, path: str, settings: dict[str, Any]) -> Any:
    """Build an estimator and check its parameters as `fit` would; UserError names the place in params.yaml."""
    try:
        estimator = build(path, settings)
        check_parameters(estimator)
        _check_nested_values(estimator)
        return estimator
    except ModelError as error:
        hint = f"; {nearest(error.given, error.valid)}" if error.valid else ""
        problem = str(error).replace(error.given, short(error.given)) if error.given else str(error)
        raise UserError(f"params.yaml: {where}: {problem}{hint}") from None
    except (ValueError, TypeError) as error:
        raise UserError(f"params.yaml: {where}: {error}") from None


def _check_nested_values(estimator: Any) -> None:
    """Check inside mappings and lists: the constraints of our estimators only say that a parameter is one."""
    for candidate in (estimator, *estimator.get_params().values()):
        if isinstance(candidate, ldep.LDEPClassifierCV):
            check_grid(candidate.pieces, candidate.alphas, candidate.penalties, candidate.losses)
        if type(candidate).__module__.startswith("ldep.") and hasattr(candidate, "solver_options"):
            solver = check_options(candidate.solver, candidate.solver_options)
            solver.check_loss(candidate.loss)


def _inside(value: Any, space: Space) -> bool:
    if space.choices is not None:
        return value in space.choices
    assert space.low is not None
    assert space.high is not None
    return isinstance(value, (int, float)) and space.low <= value <= space.high
