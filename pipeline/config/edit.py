"""Changing values in params.yaml without touching anything else in the file: comments and layout stay.

`dvc exp run -S` writes the whole file again, without its comments, and needs a git identity.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from pipeline.common.errors import UserError
from pipeline.common.files import write_text
from pipeline.config import paths
from pipeline.config.params import check
from pipeline.config.yaml_file import read_yaml

LINE_LENGTH = 120
Key = tuple[str, ...]


def set_values(changes: Mapping[Key, Any], path: Path = paths.PARAMS) -> None:
    """Write new values into a parameter file, or change nothing if the result would not be valid.

    A key is a path into the file, such as ("tuning", "metric"). The last part may be new.
    """
    expected = read_yaml(path)
    text = path.read_text(encoding="utf-8")
    for key, value in changes.items():
        expected = _with_value(expected, key, value)
        text = _with_text(text, key, value)
    check(expected, f"{path} with these values")
    if yaml.safe_load(text) != expected:
        shown = ", ".join(".".join(key) for key in changes)
        raise UserError(f"{path} is laid out in a way that cannot be edited safely; set {shown} by hand.")
    write_text(path, text)


def parse(assignment: str) -> tuple[Key, Any]:
    """Read KEY=VALUE, with a dotted key and a value in YAML."""
    key, separator, value = assignment.partition("=")
    if not separator or not all(key.split(".")):
        raise UserError(f"'{assignment}' is not of the form KEY=VALUE, such as tuning.trials=50.")
    try:
        return tuple(key.split(".")), yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise UserError(f"'{assignment}': the value is not valid YAML: {' '.join(str(error).split())}.") from None


def _with_value(values: Any, key: Key, value: Any) -> Any:
    changed = copy.deepcopy(values)
    parent = changed
    for part in key[:-1]:
        if not isinstance(parent, dict) or not isinstance(parent.get(part), dict):
            raise UserError(f"params.yaml has no section '{part}' for '{'.'.join(key)}'; add it to the file first.")
        parent = parent[part]
    if not isinstance(parent, dict):
        raise UserError(f"params.yaml holds no mapping at '{'.'.join(key[:-1])}'.")
    parent[key[-1]] = value
    return changed


def _with_text(text: str, key: Key, value: Any) -> str:
    mapping = yaml.compose(text, Loader=yaml.SafeLoader)
    for part in key[:-1]:
        mapping = _entry(mapping, part)[1]
    for name, old in mapping.value:
        if name.value == key[-1]:
            return _replaced(text, name, old, value, inside_flow=bool(mapping.flow_style))
    return _added(text, mapping, key[-1], value)


def _entry(mapping: yaml.MappingNode, key: str) -> tuple[yaml.Node, yaml.Node]:
    return next((name, value) for name, value in mapping.value if name.value == key)


def _replaced(text: str, name: yaml.Node, old: yaml.Node, value: Any, *, inside_flow: bool) -> str:
    """The text with a new value of an existing key. A comment behind the key stays where it is."""
    start, end = old.start_mark.index, _end(old)
    between = text[name.end_mark.index : start]
    if "\n" not in between:
        written = _written(name.value, value, name.start_mark.column, inside_flow)
        if written.startswith("\n"):  # a block, which a comment at the end of the line must not follow
            rest, newline, after = text[end:].partition("\n")
            return f"{text[:start].rstrip()}{rest}{written}{newline}{after}"
        return f"{text[:start]}{written}{text[end:]}"
    colon, _, comment = between.partition("\n")[0].partition("#")
    written = _written(name.value, value, name.start_mark.column, inside_flow)
    comment = f" #{comment}" if comment else ""
    head = f"{colon.rstrip()}{comment}{written}" if written.startswith("\n") else f"{colon.rstrip()} {written}{comment}"
    return f"{text[: name.end_mark.index]}{head}{text[end:]}"


def _added(text: str, mapping: yaml.MappingNode, key: str, value: Any) -> str:
    """The text with a new key at the end of a mapping."""
    if mapping.flow_style:
        start, end = mapping.start_mark.index, mapping.end_mark.index
        entries = [entry for entry in (text[start + 1 : end - 1].strip(), f"{key}: {_flow(value)}") if entry]
        return f"{text[:start]}{{{', '.join(entries)}}}{text[end:]}"
    end, column = _end(mapping), mapping.start_mark.column
    rest, newline, after = text[end:].partition("\n")
    written = _written(key, value, column, False)
    entry = f"{' ' * column}{key}:{'' if written.startswith(chr(10)) else ' '}{written}"
    return f"{text[:end]}{rest}\n{entry}{newline}{after}"


def _end(node: yaml.Node) -> int:
    """Where the text of a value ends. PyYAML counts the blank lines and comments after a block as part of it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, yaml.MappingNode) else last)
    return node.end_mark.index


def _written(key: str, value: Any, column: int, inside_flow: bool) -> str:
    """A value on the line of its key if it fits there, else as a block below it."""
    line = _flow(value)
    if inside_flow or not isinstance(value, (dict, list)) or column + len(key) + 2 + len(line) <= LINE_LENGTH:
        return line
    block = yaml.safe_dump(value, default_flow_style=False, sort_keys=False, allow_unicode=True, width=LINE_LENGTH)
    return "".join(f"\n{' ' * (column + 2)}{row}" for row in block.rstrip("\n").split("\n"))


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**9)
    return text.removesuffix("\n").removesuffix("\n...").strip()


def assignments(texts: Sequence[str]) -> dict[Key, Any]:
    """Read several KEY=VALUE texts; a key may appear once."""
    changes: dict[Key, Any] = {}
    for text in texts:
        key, value = parse(text)
        if key in changes:
            raise UserError(f"the key {'.'.join(key)} is set twice.")
        changes[key] = value
    return changes
