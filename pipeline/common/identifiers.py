"""Names that become part of paths and commands."""

from __future__ import annotations

import re


def safe(name: str) -> str:
    """Return the name; ValueError if it could leave a folder or have a special meaning in a shell."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) or len(name) > 100:
        raise ValueError(
            "a name has letters, digits, '-', '_' and '.', "
            "starts with a letter, a digit or '_', and has at most 100 characters"
        )
    return name
