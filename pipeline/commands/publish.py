"""The report as files to commit: small ones, with all that is needed to check it."""

from __future__ import annotations

import gzip
import logging
import shutil
from pathlib import Path

from pipeline.common.errors import UserError
from pipeline.common.files import replacing
from pipeline.config import paths

log = logging.getLogger(__name__)
LARGEST = 500_000  # bytes
PACKED = ("results.csv", "dvc.lock")


def run(target: Path, params: Path = paths.PARAMS, root: Path = Path()) -> list[Path]:
    """Copy report/ (pictures as SVG alone), params.yaml and dvc.lock into `target`; return what was written.

    The report is not made again: DVC has it as it is.
    """
    source = root / paths.REPORT
    if not (source / "report.html").is_file():
        raise UserError(f"{source}/report.html is not here; run `dvc repro report` first, or `ldep report`.")
    files = {path.relative_to(source): path for path in sorted(source.rglob("*")) if path.suffix != ".png"}
    files = {name: path for name, path in files.items() if path.is_file()}
    files[Path("params.yaml")] = params
    if (root / "dvc.lock").is_file():
        files[Path("dvc.lock")] = root / "dvc.lock"
    written = []
    for name, path in files.items():
        packed = name.name in PACKED
        content = gzip.compress(path.read_bytes(), mtime=0) if packed else path.read_bytes()
        if len(content) > LARGEST:
            log.warning("%s is left out: %d kB are too much to commit.", path, len(content) // 1000)
            continue
        place = target / (f"{name}.gz" if packed else name)
        with replacing(place) as part:
            part.write_bytes(content)
        written.append(place)
    _remove_others(target, written)
    log.info("%s: %d files, %d kB.", target, len(written), sum(path.stat().st_size for path in written) // 1000)
    return written


def _remove_others(target: Path, written: list[Path]) -> None:
    """Pictures of an earlier report that this one has not."""
    for path in (target / "figures").glob("*"):
        if path not in written:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
