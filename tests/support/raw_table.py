"""A raw table as people have it: dates, numbers written as text, percentages, booleans, categories, missing cells."""

from __future__ import annotations

import numpy as np
import pandas as pd

CONTRACTS = ("monthly", "yearly")


def shop(count: int = 240, classes: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    """Customers who leave or stay, or with more classes what they buy: by age, contract and score."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(count) + 1000,
            "since": pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1800, count), unit="D"),
            "age": rng.integers(18, 80, count),
            "income": [f"{value:,.2f}" for value in rng.lognormal(8, 0.5, count)],
            "share": [f"{5 * value} %" for value in rng.integers(0, 20, count)],
            "contract": rng.choice(np.array([*CONTRACTS, None], dtype=object), count, p=[0.5, 0.4, 0.1]),
            "member": rng.random(count) < 0.5,
            "score": np.where(rng.random(count) < 0.1, np.nan, rng.normal(size=count)),
        }
    )
    frame["member"] = frame["member"].astype(object).where(np.arange(count) % 17 > 0, None)
    value = (frame["age"] - 45) / 15 + 1.5 * (frame["contract"] == "monthly") - frame["score"].fillna(0)
    value += rng.normal(size=count) * 0.1
    labels = np.array(["leaves", "stays"] if classes == 2 else [f"class {k}" for k in range(classes)])
    edges = np.quantile(value, np.arange(1, classes) / classes)
    return frame, labels[::-1][np.digitize(value, edges)] if classes == 2 else labels[np.digitize(value, edges)]
