"""The folder of a project: `ldep relocate` after it was moved or copied, and `ldep publish` for what is committed."""

from __future__ import annotations

import gzip
import logging
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ldep_pipeline.commands import CommandLine, add_params
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.common.files import replacing
from ldep_pipeline.config import paths
from ldep_pipeline.config.yaml_file import read_yaml

log = logging.getLogger(__name__)
LARGEST = 5_000_000  # bytes
COMPRESSED = ("results.csv", "dvc.lock")


def add_relocate(parser: ArgumentParser) -> None:
    """It has no arguments."""


def relocate(args: Namespace) -> None:
    """Correct the addresses in the database, and say what was changed."""
    from ldep_pipeline.tracking import connection  # takes a second, and `publish` does not need it

    database, before = connection.relocate()
    if not before:
        print(f"{database} names the artifacts beside it; nothing was changed.")
        return
    print(f"{database} named the artifacts in {', '.join(map(str, before))}; it now names those beside it.")


def add_publish(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="FOLDER", type=Path, help="the folder to write; older pictures are removed")
    add_params(parser)


def publish(args: Namespace) -> None:
    publish_report(args.target, args.params)


def publish_report(target: Path, params: Path = paths.PARAMS, root: Path = Path()) -> list[Path]:
    """Copy report/ (figures as SVG only), params.yaml and dvc.lock into `target`; return the written files.

    The report is not made again: DVC keeps it up to date.
    """
    source = root / paths.REPORT
    if not (source / "report.html").is_file():
        raise UserError(f"{source}/report.html is missing; run `dvc repro report` or `ldep report` first.")
    _check_same_kind(target / "params.yaml", params)
    files = {
        path.relative_to(source): path for path in sorted(source.rglob("*")) if path.is_file() and path.suffix != ".png"
    }
    files[Path("params.yaml")] = params
    if (root / "dvc.lock").is_file():
        files[Path("dvc.lock")] = root / "dvc.lock"
    written = []
    for name, path in files.items():
        compressed = name.name in COMPRESSED
        content = gzip.compress(path.read_bytes(), mtime=0) if compressed else path.read_bytes()
        if len(content) > LARGEST:
            log.warning("%s is left out: %d kB is too large to commit.", path, len(content) // 1000)
            continue
        copy = target / (f"{name}.gz" if compressed else name)
        with replacing(copy) as part:
            part.write_bytes(content)
        written.append(copy)
    _remove_old_figures(target, written)
    log.info("%s: %d files, %d kB.", target, len(written), sum(path.stat().st_size for path in written) // 1000)
    return written


def _check_same_kind(published: Path, params: Path) -> None:
    """Refuse to replace a published report by one of other data sets, or of another number of repeats."""
    if not published.is_file():
        return
    old, new = (read_yaml(path) or {} for path in (published, params))
    old_sets, new_sets = (set(values.get("datasets", [])) for values in (old, new))
    old_repeats, new_repeats = ((values.get("split") or {}).get("repeats", 1) for values in (old, new))
    if old_sets != new_sets:
        shown = ", ".join(sorted(new_sets)[:5]) + (", ..." if len(new_sets) > 5 else "")
        difference = f"other data sets ({len(old_sets)}; this one: {len(new_sets)}, {shown})"
    elif old_repeats != new_repeats:
        difference = f"another number of repeats (split.repeats: {old_repeats}; this one: {new_repeats})"
    else:
        return
    raise UserError(
        f"{published.parent} holds a report of {difference}; nothing was written. "
        "Publish this report to another folder: ldep publish reports/NAME."
    )


def _remove_old_figures(target: Path, written: list[Path]) -> None:
    """Remove the figures of an earlier report that this one does not have."""
    for path in (target / "figures").glob("*"):
        if path.is_file() and path not in written:
            path.unlink()


COMMANDS = {
    "relocate": CommandLine(add_relocate, relocate, "ldep relocate"),
    "publish": CommandLine(add_publish, publish, "ldep publish reports/paper"),
}
