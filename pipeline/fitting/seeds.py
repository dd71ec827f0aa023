"""One seed in params.yaml; from it a seed for each piece of work, whatever else runs, and in whatever order."""

from __future__ import annotations

import hashlib


def derive(seed: int, *names: object) -> int:
    """Return a seed of 31 bits."""
    text = "|".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
