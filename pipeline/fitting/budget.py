"""What exact CCP will cost, told from the size of the problem alone.

A clock would give another table on another machine. The estimate gives the same answer everywhere, and is in seconds of
the machine it was fitted on: a 2.6 GHz core, one thread. On twelve of the paper's sets it was within a factor of three,
but for separable problems, which end early (kr-vs-kp: 16 s estimated, 2 s measured).
"""

from __future__ import annotations

# Seconds an element of the stacked S_k, a flop of their product with the stacked x~ x~^T, a flop of the factorisation.
ELEMENT, PRODUCT, FACTOR = 3e-8, 1e-11, 6e-11


def ccp_seconds(rows: int, features: int, r1: int, r2: int) -> float:
    """Estimated CPU seconds of one fit by CCP from one start, all subproblems together."""
    pieces, width = r1 + r2, features + 1
    size = pieces * width
    elements = rows * pieces * (pieces + 1) / 2
    step = ELEMENT * elements + PRODUCT * elements * width * (width + 1) + FACTOR * size**3 / 3
    # Few rows for each parameter can be separated, by the first subproblem or the second; many take long.
    steps = min(max(150 * rows / size, 30), 1500)
    return steps * step
