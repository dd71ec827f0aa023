"""Fit a raw table as it is, and ask in its own columns what would keep a customer.

The table has dates, numbers written with a thousands separator, percentages, categories and missing cells. The encoder
decides by the cells what each column is. Contributions and the nearest change are about the columns of the table, in
their units.

    python examples/raw_table.py [PICTURE]
"""

import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from ldep import LDEPClassifier
from ldep.answers import TableModel
from ldep.table import TableEncoder

PICTURE = Path(__file__).parents[1] / "docs/images/raw_table.png"


def customers(count: int = 800) -> tuple[pd.DataFrame, np.ndarray]:
    """Simulate customers of a gym: monthly contracts, few visits and a high price make them leave."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "customer": [f"C{number:05d}" for number in rng.permutation(count)],
            "since": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1800, count), unit="D")).date,
            "age": rng.integers(18, 75, count),
            "contract": rng.choice(["monthly", "yearly"], count),
            "price": rng.choice([19.9, 29.9, 39.9, 59.9], count),
            "visits": rng.poisson(4, count).astype(float),
            "income": [f"{value:,.0f}" for value in rng.lognormal(10.4, 0.4, count)],
            "discount": [f"{5 * value} %" for value in rng.integers(0, 6, count)],
        }
    )
    risk = 1.2 * (frame["contract"] == "monthly") - 0.5 * frame["visits"] + 0.06 * frame["price"]
    leaves = risk + rng.logistic(0, 0.3, count) > 0.6
    frame.loc[::15, "visits"] = np.nan
    return frame, np.where(leaves, "leaves", "stays")


def main(picture: Path = PICTURE) -> None:
    frame, y = customers()
    X_train, X_test, y_train, y_test = train_test_split(frame, y, random_state=0)
    pipeline = make_pipeline(TableEncoder(), LDEPClassifier(random_state=0))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        pipeline.fit(X_train, y_train)
    print(*(str(warning.message) for warning in said), sep="\n")
    print(f"{100 * pipeline.score(X_test, y_test):.1f} % of the test rows are classified correctly")

    model = TableModel(pipeline)
    row = X_test[pipeline.predict(X_test) == "leaves"].iloc[[0]]
    print(model.counterfactual(row, frozen=["age", "income", "discount"], integer=["visits"]))

    shares = model.explain(row).to_frame()[model.columns].iloc[0]
    shares = -shares[shares.abs().sort_values().index]  # towards `leaves`, the first class
    figure, panel = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    panel.barh(range(len(shares)), shares, color=["#c2571a" if value > 0 else "#1f5fa8" for value in shares])
    cells = row.iloc[0]
    panel.set_yticks(range(len(shares)), [f"{name} = {cells[name]}" for name in shares.index])
    panel.axvline(0, color="black", linewidth=0.8)
    panel.set(title="Why this customer is expected to leave", xlabel="contribution towards leaving")
    panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
