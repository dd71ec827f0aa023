"""An estimate of the cost of exact CCP from the size of the problem alone.

A clock would give another table on another machine. The estimate is the same everywhere. Its unit is a second of the
machine that it was fitted on: a 2.6 GHz core, one thread. On twelve of the paper's data sets it was within a factor of
three, except for separable problems, which end early (kr-vs-kp: 16 s estimated, 2 s measured).
"""

from __future__ import annotations

# Seconds per element of the stacked S_k, per flop of their product with the stacked x~ x~^T, and per flop of the
# factorisation.
ELEMENT, PRODUCT, FACTOR = 3e-8, 1e-11, 6e-11


def ccp_seconds(rows: int, features: int, r1: int, r2: int) -> float:
    """Estimated CPU seconds of one fit by CCP from one start, all subproblems together."""
    pieces, width = r1 + r2, features + 1
    size = pieces * width
    elements = rows * pieces * (pieces + 1) / 2
    step = ELEMENT * elements + PRODUCT * elements * width * (width + 1) + FACTOR * size**3 / 3
    # Few rows per parameter can be separated by the first or second subproblem; many rows take long.
    steps = min(max(150 * rows / size, 30), 1500)
    return steps * step
