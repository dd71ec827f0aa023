"""A table of customers as companies export it: an id, two dates, truth values, gaps, and 180 cities."""

from __future__ import annotations

import numpy as np
import pandas as pd

TARGET = "churned"


def table(rows: int = 5000, seed: int = 0) -> pd.DataFrame:
    """Customers; who leaves depends on the contract, the charges, the dates, the city, and on what is missing."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(180, 0.6))
    city = rng.choice(180, rows, p=weights)
    signed = pd.Timestamp("2018-01-01") + pd.to_timedelta(rng.integers(0, 2200, rows), unit="D")
    quiet = rng.exponential(60, rows).round().astype(int)  # days since the last login
    plan = rng.choice(["basic", "plus", "premium"], rows, p=[0.5, 0.35, 0.15])
    contract = rng.choice(["monthly", "one year", "two years"], rows, p=[0.55, 0.3, 0.15])
    charge = np.where(plan == "basic", 20, np.where(plan == "plus", 45, 80)) + rng.normal(0, 6, rows)
    calls = rng.poisson(1.2, rows)
    autopay, paperless = rng.random(rows) < 0.6, rng.random(rows) < 0.5
    income = rng.lognormal(10.4, 0.5, rows)
    unknown = rng.random(rows) < np.where(contract == "monthly", 0.25, 0.08)
    logit = (
        -2.4
        + 0.9 * (contract == "monthly")
        - 0.5 * (contract == "two years")
        + 0.45 * calls
        + 0.012 * (charge - 40)
        - 0.5 * autopay
        + 0.35 * (plan == "premium")
        - 0.0004 * (pd.Timestamp("2024-01-10") - signed).days.to_numpy()
        + 0.006 * quiet
        + rng.normal(0, 0.8, 180)[city]
        + 0.5 * unknown
    )
    churned = rng.random(rows) < 1 / (1 + np.exp(-logit))
    last = pd.Timestamp("2024-01-10") - pd.to_timedelta(quiet, unit="D")
    return pd.DataFrame(
        {
            "customer_id": [f"C{number:06d}" for number in rng.permutation(10 * rows)[:rows]],
            "signed_up": signed.strftime("%Y-%m-%d"),
            "last_login": last.strftime("%d.%m.%Y"),
            "city": [f"city {number:03d}" for number in city],
            "plan": plan,
            "contract": contract,
            "monthly_charge": charge.round(2),
            "support_calls": calls,
            "autopay": autopay,
            "paperless": np.where(paperless, "yes", "no"),
            "income": pd.Series(income.round(0)).mask(unknown),
            "age": pd.Series(rng.integers(18, 85, rows).astype(float)).mask(rng.random(rows) < 0.1),
            TARGET: np.where(churned, "yes", "no"),
        }
    )
