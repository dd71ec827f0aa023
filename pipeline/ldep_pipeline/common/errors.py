"""The exception whose message is meant for the user, and helpers to write such messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

LONGEST = 300  # characters of the message of another library
LONGEST_NAME = 60  # characters of a name in a message
MOST_NAMES = 20  # in one message
SECRET = re.compile(r"([?&;][^\s=&;#]*(?:token|secret|passw|pwd|key|auth|sig|credential)[^\s=&;#]*=)[^\s&;#]*", re.I)


class UserError(Exception):
    """Something the user can fix. The message says what is wrong, where, and what to do; no traceback is shown."""


def first_line(error: BaseException) -> str:
    """The first line of an exception's message, to embed in a sentence: no full stop, no password, never empty."""
    message = masked(str(error)).strip() or type(error).__name__
    return message.splitlines()[0][:LONGEST].rstrip(". ") or type(error).__name__


def masked(text: str) -> str:
    """The text, without what the addresses in it keep secret.

    That is a password; a name without one, which may be a token; and any parameter that sounds like a secret.
    """
    text = re.sub(r"://([^\s/:@]*):[^\s/]*@", r"://\1:***@", text)
    text = re.sub(r"://[^\s/:@]+@", "://***@", text)
    return SECRET.sub(r"\1***", text)


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a clause that suggests the name that was probably meant, or lists all valid names."""
    valid = list(valid)
    close = get_close_matches(name.lower(), [v.lower() for v in valid], n=1, cutoff=0.6)
    if close:
        return f"did you mean '{next(v for v in valid if v.lower() == close[0])}'?"
    return f"valid: {listed(valid) or 'none'}."


def listed(names: Sequence[str]) -> str:
    """The names, separated by commas; of many or very long ones only the beginning."""
    return ", ".join(map(short, names[:MOST_NAMES])) + (", ..." if len(names) > MOST_NAMES else "")


def short(name: str) -> str:
    """The name on one line, cut if it would make a message unreadable."""
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in name[:LONGEST_NAME])
    return shown if len(name) <= LONGEST_NAME else f"{shown}..."
