"""The one exception that users are meant to read, and others in its words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 300  # characters of another's message


class UserError(Exception):
    """Something the user can mend. The message says what was wrong, where, and what to do; no traceback is shown."""


def first_line(error: BaseException) -> str:
    """What an exception says, short enough for a sentence of ours: no full stop, no password, never empty."""
    said = masked(str(error)).strip() or type(error).__name__
    return said.splitlines()[0][:LONGEST].rstrip(". ") or type(error).__name__


def masked(text: str) -> str:
    """The text, without the passwords of the addresses in it."""
    return re.sub(r"://([^\s/:@]*):[^\s/]*@", r"://\1:***@", text)


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a ready clause that names what was probably meant, or all there is to choose from."""
    valid = list(valid)
    close = get_close_matches(name.lower(), [v.lower() for v in valid], n=1, cutoff=0.6)
    if close:
        return f"did you mean '{next(v for v in valid if v.lower() == close[0])}'?"
    return "valid: " + (", ".join(valid) or "none") + "."
