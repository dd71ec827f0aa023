"""One seed in params.yaml, and from it one seed per piece of work, independent of what else runs and in which order."""

from __future__ import annotations

import hashlib


def derive(seed: int, *names: object) -> int:
    """A seed of 31 bits for the piece of work that has these names."""
    text = "|".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
