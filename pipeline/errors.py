"""The one exception that users are meant to read."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """Something the user can mend. The message says what was wrong, where, and what to do; no traceback is shown."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a ready clause that names what was probably meant, or all there is to choose from."""
    valid = list(valid)
    close = get_close_matches(name.lower(), [v.lower() for v in valid], n=1, cutoff=0.6)
    if close:
        return f"did you mean '{next(v for v in valid if v.lower() == close[0])}'?"
    return "valid: " + (", ".join(valid) or "none") + "."
