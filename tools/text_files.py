"""Check text files: final newline, no trailing blanks, no conflict markers, none too large for the repository."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

LARGEST = 1_000_000  # bytes
CONFLICT_MARKERS = ("<<<<<<< ", ">>>>>>> ")


def problems(content: bytes) -> Iterator[str]:
    """Yield what is wrong with the content of one file, as `LINE: problem`."""
    if len(content) > LARGEST:
        yield f"1: {len(content)} bytes are too many for the repository"
    if b"\0" in content:  # not a text file
        return
    lines = content.decode("utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, start=1):
        if line != line.rstrip():
            yield f"{number}: trailing blanks"
        if line.startswith(CONFLICT_MARKERS):
            yield f"{number}: a conflict marker"
    if lines[-1]:
        yield f"{len(lines)}: no newline at the end of the file"
    elif content.endswith(b"\n\n"):
        yield f"{len(lines) - 1}: blank lines at the end of the file"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.text_files", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    complaints = [f"{file}:{line}" for file in parser.parse_args().files for line in problems(file.read_bytes())]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
