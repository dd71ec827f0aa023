"""The pinned requirements in the lock files."""

from __future__ import annotations

import re
from pathlib import Path

LOCK = Path("requirements.lock")
ALL_LOCKS = (LOCK, Path("benchmarks/requirements.lock"), Path("tests/ui-requirements.lock"))


def pins(text: str) -> list[str]:
    """Return the requirements of a lock file with their markers, without hashes and comments."""
    found = re.findall(r"^([A-Za-z0-9][^\s=]*==[^\s\\]+(?: ; [^\\\n]+)?)", text, flags=re.MULTILINE)
    return [" ".join(pin.split()) for pin in found]
