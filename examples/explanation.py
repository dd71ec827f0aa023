"""Explain why one tumour was classified as malignant: the exact contribution of each feature to tau.

Around every row tau is affine, so its value is a sum over the features. Nothing is approximated. The features are
standardised first, which makes each contribution relative to the mean of the training rows.

    python examples/explanation.py [PICTURE]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifier

PICTURE = Path(__file__).parents[1] / "docs/images/explanation.png"
SHOWN = 10  # features with a bar of their own; the rest share one


def main(picture: Path = PICTURE) -> None:
    data = load_breast_cancer(as_frame=True)
    malignant = (data.target == 0).to_numpy()
    X_train, X_test, y_train, y_test = train_test_split(data.data, malignant, stratify=malignant, random_state=0)
    scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
    model = LDEPClassifier(alpha=10.0, random_state=0).fit(scaler.transform(X_train), y_train)
    print(f"{100 * model.score(scaler.transform(X_test), y_test):.1f} % of the test rows are classified correctly")

    row = scaler.transform(X_test)[y_test].iloc[[0]]
    explained = model.explain(row).to_frame().iloc[0]
    contributions = explained[list(data.feature_names)].sort_values(key=abs, ascending=False)
    remaining = {f"{len(contributions) - SHOWN} other features": contributions[SHOWN:].sum(), "bias": explained["bias"]}
    bars = pd.concat([contributions[:SHOWN], pd.Series(remaining)])
    tau = model.decision_function(row)[0]
    print(f"tau = {tau:.6f}; the contributions and the bias sum to {bars.sum():.6f}")

    figure, panel = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    start = bars.cumsum().shift(fill_value=0.0)  # each bar starts where the one above it ends
    colours = ["#c2571a" if value > 0 else "#1f5fa8" for value in bars]
    panel.barh(range(len(bars)), bars, left=start, color=colours)
    ends = [max(begin, begin + value) for begin, value in zip(start, bars)]
    for position, (value, end) in enumerate(zip(bars, ends)):
        beside = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        white = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        panel.annotate(f"{value:+.2f}", (end, position), **beside, size=8, bbox=white)
    panel.axvline(0, color="black", linewidth=0.8, zorder=0)
    panel.axvline(tau, color="black", linewidth=0.8, linestyle="--", zorder=0)
    panel.set_yticks(range(len(bars)), bars.index)
    panel.invert_yaxis()
    panel.set_xlim(min(start.min(), 0) - 0.2, max(ends) + 0.4)
    panel.set(title=f"τ = {tau:.2f}, malignant", xlabel="τ, summed from above")
    panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
