"""The modules of ldep and ldep_pipeline, what each imports, and what its code does, read from the installed files.

Nothing is imported for it, and a file that has been parsed once is known by its content, so it takes a tenth of a
second. The graph is that of an editable installation and of a wheel alike.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ldep_pipeline.common.digests import digest, file_digest, meaning, seal, unseal

LIBRARY, APPLICATION = OWN = ("ldep", "ldep_pipeline")  # their top-level modules import everything, and decide nothing
SEALED = "code"


class Module(NamedTuple):
    """What a file of code does, as a digest, and the names that it imports."""

    meaning: str
    imports: list[str]


class CodeGraph:
    """Modules are parsed when they are asked for. `known` is a file that remembers what was parsed."""

    def __init__(self, known: Path | None = None) -> None:
        self.folders = {name: package_folder(name) for name in OWN}
        self._modules: dict[str, Module] = {}
        self._known, self._remembered = known, _read(known)
        self._on_disk = set(self._remembered)
        self._parsed: dict[str, Any] = {}

    def closure(self, roots: Iterable[str], without: Iterable[str], inherited: Mapping[str, Iterable[str]]) -> set[str]:
        """The modules that some modules import, directly or not, and themselves.

        without: packages that are not entered. inherited: for a package, others that are not entered from there.
        """
        found: set[str] = set()
        waiting = [*roots]
        while waiting:
            name = waiting.pop()
            if name not in found and name not in OWN:
                found.add(name)
                closed = [*without]
                for package in inherited:
                    closed += inherited[package] if _within(name, [package]) else []
                waiting += [other for other in self.imported(name) if not _within(other, closed)]
        return found

    def imported(self, name: str) -> set[str]:
        """The modules of the two distributions that a module imports."""
        found = {self._module_of(target) for target in self._module(name).imports}
        return {other for other in found if other is not None} - {name}

    def outside(self, modules: Iterable[str]) -> set[str]:
        """The top-level names of other packages that some modules import."""
        return {target.partition(".")[0] for name in modules for target in self._module(name).imports} - {*OWN}

    def modules_in(self, package: str) -> set[str]:
        """A package and all modules below it."""
        folder, parts = self._path(package).parent, package.split(".")
        return {
            ".".join([*parts, *path.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__")
            for path in folder.rglob("*.py")
        }

    def rooms(self, modules: Iterable[str]) -> dict[str, str]:
        """A digest of what some modules do for each room of the pipeline, and each package of the library.

        The files of a folder that are no code, such as tables and style sheets, count with the modules beside them.
        """
        parts: dict[str, list[Any]] = {}
        folders: dict[Path, str] = {}
        for name in sorted(modules):
            room = ".".join(name.split(".")[:2])
            parts.setdefault(room, []).append([name, self._module(name).meaning])
            folders[self._path(name).parent] = room
        for folder, room in sorted(folders.items()):
            for path in sorted(folder.iterdir()):
                if path.is_file() and path.suffix not in (".py", ".pyc", ".part"):
                    parts[room].append([path.name, file_digest(path)])
        return {room: digest(content)[:16] for room, content in sorted(parts.items())}

    def remember(self) -> None:
        """Write what was asked for, for the next time; what an older version of the code was is forgotten."""
        if self._known is not None and set(self._parsed) != self._on_disk:
            seal(self._known, SEALED, self._parsed, {})

    def _module_of(self, target: str) -> str | None:
        """The module that an imported name is, or is in; None for another package."""
        if target.partition(".")[0] not in OWN:
            return None
        return target if self._path(target).is_file() else target.rpartition(".")[0]

    def _path(self, name: str) -> Path:
        top, *parts = name.split(".")
        path = self.folders[top].joinpath(*parts)
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")

    def _module(self, name: str) -> Module:
        if name not in self._modules:
            path = self._path(name)
            content = path.read_bytes()
            key = hashlib.sha256(name.encode() + content).hexdigest()
            if key not in self._remembered:
                imports = _imports(ast.parse(content), name, path.name == "__init__.py")
                self._remembered[key] = Module(meaning(content), sorted({*imports}))
            self._parsed[key] = self._remembered[key]
            found = Module(*self._parsed[key])
            if "*" in found.imports:  # it finds the modules beside it at run time
                beside = sorted(self.modules_in(name) - {name})
                found = Module(found.meaning, [*(set(found.imports) - {"*"}), *beside])
            self._modules[name] = found
        return self._modules[name]


def package_folder(name: str) -> Path:
    """Where a package is installed; it is not imported."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    return Path(spec.origin).parent


def _within(name: str, packages: Iterable[str]) -> bool:
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


def _imports(tree: ast.Module, name: str, is_package: bool) -> Iterator[str]:
    """The full names that a module imports, `*` if it looks for its submodules; not those for a type checker alone."""
    skipped = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and _is_type_checking(node.test)
        for statement in node.body
        for child in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.split(".")[: len(name.split(".")) - node.level + is_package] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{source}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Name) and node.id == "__path__":
            yield "*"


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _read(known: Path | None) -> dict[str, Any]:
    """What was remembered; a damaged file counts as none."""
    try:
        return unseal(known, SEALED)[0] if known is not None else {}
    except (OSError, ValueError):
        return {}
