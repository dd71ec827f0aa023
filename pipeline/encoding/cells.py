"""What counts as a missing cell."""

from __future__ import annotations

import math

MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"})


def is_missing(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell)) or (isinstance(cell, str) and cell in MISSING)
