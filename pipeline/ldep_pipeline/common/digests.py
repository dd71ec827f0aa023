"""Digests of values, files and code: the same content gives the same digest in every process and on every machine."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldep_pipeline.common.files import write_text

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def digest(*values: Any) -> str:
    """sha256 of plain values, the same in every process."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def file_digest(path: Path, algorithm: str = "sha256") -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def seal(path: Path, name: str, record: dict[str, Any], files: Mapping[str, str]) -> None:
    """Write a record and the digests of the files that belong to it, with a checksum of both and of its name."""
    entry = {"checksum": digest(name, record, files), "files": files, "record": record}
    write_text(path, json.dumps(entry))  # in Python's dialect of JSON: a setting may be infinite


def unseal(path: Path, name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The record and the digests of its files; ValueError if they are not as `seal` wrote them under this name."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        record, files = entry["record"], entry["files"]
        intact = entry["checksum"] == digest(name, record, files)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None
    if not intact:
        raise ValueError("its checksum does not match")
    return record, files


def source_digest(place: Path, without: tuple[str, ...] = ()) -> str:
    """Digest of what the code in a file, or in all Python files of a folder, does.

    Comments, docstrings and layout do not count. `without` names subfolders that do not count either.
    """
    if not place.exists():
        raise FileNotFoundError(f"{place} has no code to make a digest of: it does not exist")
    if place.is_file():
        return digest([(place.name, meaning(place.read_bytes()))])
    files = {path.relative_to(place): path for path in sorted(place.rglob("*.py"))}
    return digest(
        [(str(name), meaning(path.read_bytes())) for name, path in files.items() if name.parts[0] not in without]
    )


def meaning(code: bytes) -> str:
    """Digest of the syntax tree of a file, without the strings that stand alone: nobody can read their values.

    It is the same in every version of Python that can read the file.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):  # no Python of this version: nothing is known but its bytes
        return hashlib.sha256(code).hexdigest()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            node.body = [statement for statement in node.body if not _is_text(statement)]
    return hashlib.sha256(_written(tree).encode()).hexdigest()


def _written(value: Any) -> str:
    """A syntax tree as text. What is empty is left out: later versions of Python add fields that are mostly empty."""
    if isinstance(value, ast.Constant):
        return f"Constant({value.value!r})"
    if isinstance(value, ast.AST):
        fields = [f"{name}={_written(field)}" for name, field in ast.iter_fields(value) if field not in (None, [])]
        return f"{type(value).__name__}({','.join(fields)})"
    return f"[{','.join(map(_written, value))}]" if isinstance(value, list) else repr(value)


def _is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, or a string below a field that describes it."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
