"""Check a commit message: a subject of at most 72 characters, then a blank line before the body."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

LONGEST = 72


def problem(message: str) -> str | None:
    """Return what is wrong with the message, or None. Comments of git do not count."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if not subject.strip():
        return "the subject is empty"
    if len(subject) > LONGEST:
        return f"the subject has {len(subject)} characters; at most {LONGEST} are allowed"
    if subject.endswith("."):
        return "the subject ends with a full stop"
    if len(lines) > 1 and lines[1].strip():
        return "the second line is not blank"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.commit_message", description=__doc__)
    parser.add_argument("file", type=Path, help="the file with the message, as git passes it to the commit-msg hook")
    found = problem(parser.parse_args().file.read_text(encoding="utf-8"))
    if found:
        print(f"commit message: {found}.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
