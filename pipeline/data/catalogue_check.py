"""Whether a downloaded data set is the one that the catalogue describes."""

from __future__ import annotations

import pandas as pd

from pipeline.common.errors import UserError
from pipeline.config.catalogue import Entry


def checked(frame: pd.DataFrame, entry: Entry, where: str) -> pd.DataFrame:
    """Return the data set with its classes in the catalogue's order; UserError if it is not the one described."""
    words = differences(frame, entry)
    if words:
        raise UserError(f"{where} is not the paper's '{entry.title}': {'; '.join(words)}.")
    return frame.assign(**{entry.target: frame[entry.target].cat.set_categories(list(entry.classes))})


def differences(frame: pd.DataFrame, expected: Entry) -> list[str]:
    """Say in words how a data set, its target last, differs from what the catalogue promises."""
    features, target = frame.iloc[:, :-1], frame.iloc[:, -1]
    nominal = sum(str(kind) == "category" for kind in features.dtypes)
    counts = {str(label): int(count) for label, count in target.value_counts().items() if count}
    found = [
        ("rows", len(frame), expected.rows),
        ("numeric features", features.shape[1] - nominal, expected.numeric),
        ("nominal features", nominal, expected.nominal),
        ("missing cells", int(features.isna().sum().sum()), expected.missing),
    ]
    words = [f"{what}: {have}, not {want}" for what, have, want in found if have != want]
    unlabelled = int(target.isna().sum())
    if unlabelled:
        words.append(f"rows without a class in '{expected.target}': {unlabelled}, not 0")
    for label in [*expected.classes, *(label for label in counts if label not in expected.classes)]:
        have, want = counts.get(label, 0), expected.classes.get(label, 0)
        if have != want:
            words.append(f"rows of class '{label}': {have}, not {want}")
    return words
