"""Names that become parts of paths and of commands."""

from __future__ import annotations

import re


def safe(name: str) -> str:
    """The name, or a ValueError: nothing in it may climb out of a folder or mean something to a shell."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) or len(name) > 100:
        raise ValueError(
            "a name has letters, digits, '-', '_' and '.', "
            "starts with a letter, a digit or '_', and is at most 100 long"
        )
    return name
