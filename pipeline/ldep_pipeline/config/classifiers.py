"""The models that a project can name: those of the package, those of its params.yaml, and the changes of a data set.

An entry with a `class` stands for itself. Any other changes the model of its name: mappings such as `params` and
`search` are merged, and everything else is replaced: also a range by choices, choices by a range, and an estimator in
`params`. An ensemble takes the rest from its model.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ldep_pipeline.common.errors import nearest
from ldep_pipeline.fitting.specs import Classifier, Space

FILE = Path(__file__).with_name("classifiers.yaml")
ENSEMBLE = "ensemble"
SPACE = {*Space.model_fields}
Entries = dict[str, Any]


@cache
def of_package() -> Entries:
    """The entries of the package, as they are written."""
    return yaml.load(FILE.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def in_project(given: Mapping[str, Any]) -> Entries:
    """The entries of the package and of a project, complete; ValueError names one that cannot be."""
    entries = _merged(of_package(), given, "")
    inherited = [name for name in of_package() if name not in given]
    for name in inherited:  # one whose model the project has replaced by one that is not tuned is none
        if ENSEMBLE in entries[name] and not _is_tuned(entries.get(entries[name][ENSEMBLE])):
            del entries[name]
    return {name: _complete(name, entries, "") for name in entries}


def changed(known: Mapping[str, Classifier], changes: Mapping[str, Any], where: str) -> dict[str, Classifier]:
    """Classifiers with the changes of one data set, whose keys begin with `where`; ValueError names what is wrong."""
    if not changes:
        return dict(known)
    written = {
        name: {ENSEMBLE: entry.ensemble}
        if entry.ensemble is not None
        else entry.model_dump(by_alias=True, exclude_unset=True)
        for name, entry in known.items()
    }
    entries = _merged(written, changes, where)
    concerned = {name for name in entries if name in changes or entries[name].get(ENSEMBLE) in changes}
    return {
        **known,
        **{name: _checked(name, _complete(name, entries, where), where) for name in entries if name in concerned},
    }


def _merged(known: Mapping[str, Any], given: Mapping[str, Any], where: str) -> Entries:
    entries = dict(known)
    for name, entry in given.items():
        if not isinstance(entry, dict) or "class" in entry or ENSEMBLE in entry:
            entries[name] = entry
        elif name in known:
            entries[name] = _with(known[name], entry)
        elif isinstance(name, str):
            raise ValueError(
                f"{where}classifiers.{name}: 'class' is missing, and there is no model of this name to change; "
                f"{nearest(name, known)}"
            )
        else:
            entries[name] = entry
    return entries


def _with(value: Any, change: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(change, dict) or _is_another_kind(value, change):
        return change
    return {**value, **{key: _with(value.get(key), part) for key, part in change.items()}}


def _is_another_kind(value: Mapping[str, Any], change: Mapping[str, Any]) -> bool:
    """Whether choices take the place of a range, or the reverse, or a parameter becomes another estimator."""
    return "class" in change or (("choices" in change) != ("choices" in value) and {*change, *value} <= SPACE)


def _complete(name: str, entries: Entries, where: str) -> Any:
    """An entry; for an ensemble, that of the tuned model with the name of it."""
    entry = entries[name]
    if not isinstance(entry, dict) or ENSEMBLE not in entry:
        return entry
    key, base = f"{where}classifiers.{name}", entry[ENSEMBLE]
    others = sorted(str(other) for other in entry if other != ENSEMBLE)
    if others:
        raise ValueError(f"{key}: an ensemble has no other key; remove {', '.join(others)}")
    if not isinstance(base, str) or base not in entries:
        hint = nearest(str(base), [str(other) for other in entries])
        raise ValueError(f"{key}.ensemble: {reprlib.repr(base)} is not one of classifiers; {hint}")
    if not _is_tuned(entries[base]):
        raise ValueError(f"{key}.ensemble: '{base}' is not tuned; name a model with a search")
    return {**entries[base], ENSEMBLE: base}


def _is_tuned(entry: Any) -> bool:
    return isinstance(entry, dict) and bool(entry.get("search")) and ENSEMBLE not in entry


def _checked(name: str, entry: Any, where: str) -> Classifier:
    try:
        return Classifier.model_validate(entry)
    except ValidationError as error:
        item = error.errors()[0]
        key = ".".join(["classifiers", name, *map(str, item["loc"])])
        message = item["msg"].removeprefix("Value error, ")
        raise ValueError(f"{where}{key}: {message[:1].lower()}{message[1:]}") from None
