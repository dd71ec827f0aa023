"""Dates and times in a column of text."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

# What people write, and how pandas reads it. ISO comes first: the others are tried in this order.
FORMS = {
    "YYYY-MM-DD": "ISO8601",
    "DD.MM.YYYY": "%d.%m.%Y",
    "DD/MM/YYYY": "%d/%m/%Y",
    "MM/DD/YYYY": "%m/%d/%Y",
    "YYYY/MM/DD": "%Y/%m/%d",
    "DD-MM-YYYY": "%d-%m-%Y",
    "DD Mon YYYY": "%d %b %Y",
    "DD.MM.YYYY hh:mm": "%d.%m.%Y %H:%M",
    "MM/DD/YYYY hh:mm": "%m/%d/%Y %H:%M",
}
# The share of texts that must be dates: a file may have a few typing errors.
MOST = 0.95


def form_of(texts: Sequence[str]) -> str | None:
    """Return the form in which almost all texts are dates, or None."""
    candidates = [text for text in texts if any(sign in text for sign in "-./ ") and sum(map(str.isdigit, text)) >= 5]
    if not texts or len(candidates) < MOST * len(texts):
        return None
    for form, pattern in FORMS.items():
        read = pd.to_datetime(pd.Series(list(texts), dtype=str), format=pattern, errors="coerce", utc=True)
        if read.notna().mean() >= MOST:
            return form
    return None
