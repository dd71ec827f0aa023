"""`ldep upgrade` tells what the installed version changes before it does: results, and files of the project.

dvc.lock has the checksum of the file of data/decides with which each stage has run. The file that `ldep check` would
write now is compared with it.
"""

from __future__ import annotations

import hashlib
import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ldep_pipeline
from ldep_pipeline.commands import CommandLine, add_params
from ldep_pipeline.commands.init import PLACES, TEMPLATES, content
from ldep_pipeline.common.errors import UserError, listed
from ldep_pipeline.config import params, paths
from ldep_pipeline.config.yaml_file import read_yaml

LOCK = Path("dvc.lock")
CACHE = Path(".dvc/cache/files/md5")
CHANGES = "changelog.md"
MISSING = object()
MOST_SETTINGS = 5  # in one reason


@dataclass(frozen=True)
class Rerun:
    """A stage that would run again for some data sets, and why."""

    stage: str
    dataset: str
    reasons: tuple[str, ...]


def add_upgrade(parser: ArgumentParser) -> None:
    add_params(parser)


def upgrade(args: Namespace) -> int:
    """Print what would change; return 3 if anything would."""
    from ldep_pipeline.stages import check  # not needed for `ldep upgrade --help`

    wanted = check.decisions(params.load(args.params))
    if not LOCK.is_file():
        raise UserError(f"{LOCK} does not exist: nothing has been computed in this project; run `dvc repro`.")
    recorded = _recorded()
    reruns = [_rerun(name, text, recorded) for name, text in wanted.items()]
    found = [rerun for rerun in reruns if rerun is not None]
    print(f"ldep {ldep_pipeline.__version__} is installed. {_summary(found)}")
    for line in _by_reason(found):
        print(line)
    files = list(_files())
    for line in files:
        print(line)
    changes = _changes_since(_required_version())
    if changes:
        print(f"\n{changes}")
    return 3 if found or files or changes else 0


def _recorded() -> dict[str, str]:
    """The checksum of each file of data/decides with which a stage has run, from dvc.lock."""
    found: dict[str, str] = {}
    lock = read_yaml(LOCK)
    try:
        for entry in lock["stages"].values():
            for needed in entry.get("deps", []):
                if needed["path"].startswith(f"{paths.DECIDES}/"):
                    found |= _files_of(Path(needed["path"]), needed["md5"])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UserError(f"{LOCK} is not as DVC writes it; `git checkout {LOCK}` restores it.") from None
    return found


def _files_of(path: Path, md5: str) -> dict[str, str]:
    """The checksum of a file, or of all files of a folder, by the path in data/decides."""
    inside = path.relative_to(paths.DECIDES)
    if not md5.endswith(".dir"):
        return {str(inside): md5}
    listing = _content_of(path, md5)
    if listing is None:
        return {}
    return {str(inside / entry["relpath"]): entry["md5"] for entry in json.loads(listing)}


def _rerun(name: Path, text: str, recorded: Mapping[str, str]) -> Rerun | None:
    """Why a stage would run again for a data set; None if it would not, or has never run."""
    md5 = recorded.get(str(name))
    if md5 is None or md5 == hashlib.md5(text.encode(), usedforsecurity=False).hexdigest():
        return None
    before = _content_of(paths.DECIDES / name, md5)
    if before is None:
        reasons = ["what decided it before is in neither data/decides nor DVC's cache: `dvc pull` gets it"]
    else:
        reasons = list(_reasons(json.loads(before), json.loads(text)))
    return Rerun(name.parts[0], name.stem, tuple(reasons))


def _content_of(path: Path, md5: str) -> str | None:
    """A file with this checksum, from the folder of the project or from DVC's cache."""
    cached = CACHE / md5[:2] / md5[2:]
    for place in (path, cached):
        if place.is_file():
            content = place.read_bytes()
            if hashlib.md5(content, usedforsecurity=False).hexdigest() == md5.removesuffix(".dir"):
                return content.decode("utf-8")
    return None


def _reasons(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    code = _different(before.get("code", {}), now.get("code", {}))
    if code:
        yield f"the code of {', '.join(code)}"
    for kind in ("versions", "classes"):
        old, new = before.get(kind, {}), now.get(kind, {})
        for name in _different(old, new):
            yield f"{name} {old.get(name, 'not used')} -> {new.get(name, 'not used')}"
    settings = list(_paths(before.get("settings", {}), now.get("settings", {})))
    if settings:
        more = f" and {len(settings) - MOST_SETTINGS} more" if len(settings) > MOST_SETTINGS else ""
        yield f"the settings {', '.join(settings[:MOST_SETTINGS])}{more}"


def _different(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]


def _paths(old: Any, new: Any, key: str = "") -> Iterator[str]:
    """The keys at which two values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            yield from _paths(old.get(name, MISSING), new.get(name, MISSING), f"{key}.{name}" if key else name)
    elif old != new:
        yield key


def _summary(found: list[Rerun]) -> str:
    if not found:
        return "`dvc repro` runs no stage again because of it."
    return "`dvc repro` runs these stages again, and those that need what they write if it differs:"


def _by_reason(found: list[Rerun]) -> Iterator[str]:
    """One line per stage and reason, with the data sets that it concerns."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for rerun in found:
        groups.setdefault((rerun.stage, rerun.reasons), []).append(rerun.dataset)
    for (stage, reasons), datasets in groups.items():
        yield f"  {stage} of {listed(datasets)}: {'; '.join(reasons)}"


def _files() -> Iterator[str]:
    """The files that DVC and a container read, where they differ from those of the installed version."""
    present = content(Path.cwd().name)
    for name in ("dvc.yaml", "requirements.txt", "Dockerfile", "compose.yaml", ".github/workflows/repro.yml"):
        path = Path(name)
        if path.is_file() and path.read_text(encoding="utf-8", errors="replace") != present[name]:
            yield f"  {name} differs from that of this version, or you have edited it. To compare: {_comparison(name)}"


def _comparison(name: str) -> str:
    (template,) = (file for file, place in PLACES.items() if place == name)
    return f"git diff --no-index {name} {TEMPLATES / template}"


def _required_version() -> str | None:
    """The version in requirements.txt: that with which the project was made, or last upgraded."""
    path = Path("requirements.txt")
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    found = re.search(r"^ldep-pipeline\b[^=\n]*==\s*([^\s;#]+)", text, flags=re.MULTILINE)
    return found[1] if found else None


def _changes_since(version: str | None) -> str:
    """The entries of the changelog after a version; empty if it is the installed one."""
    if version is None or version == ldep_pipeline.__version__:
        return ""
    text = (TEMPLATES / CHANGES).read_text(encoding="utf-8")
    entries = re.split(r"^(?=## \[)", text, flags=re.MULTILINE)[1:]
    newer = []
    for entry in entries:
        if entry.startswith(f"## [{version}]"):
            break
        newer.append(entry.rstrip())
    return "\n\n".join(newer)


COMMANDS = {"upgrade": CommandLine(add_upgrade, upgrade, "ldep upgrade")}
