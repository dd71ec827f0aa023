"""Use the ℓ-DEP with scikit-learn's tools to classify three classes.

Each class has a difference of two maxima as its score. A `Pipeline` scales the features inside each fold, and
`GridSearchCV` chooses the number of pieces and the penalty.

    python examples/scikit_learn.py [PICTURE]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifier

PICTURE = Path(__file__).parents[1] / "docs/images/scikit_learn.png"
FEATURES = ["flavanoids", "color_intensity"]  # two of 13, so that the regions can be drawn
PIECES, PENALTIES = [1, 3, 10], [0.01, 0.1, 1.0, 10.0]
# r1 and r2 may differ; equal ones keep the grid small, with one entry per number of pieces.
GRID = [{"ldepclassifier__r1": [r], "ldepclassifier__r2": [r], "ldepclassifier__alpha": PENALTIES} for r in PIECES]


def main(picture: Path = PICTURE) -> None:
    data = load_wine(as_frame=True)
    X, y = data.data[FEATURES], data.target
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    model = make_pipeline(StandardScaler(), LDEPClassifier(random_state=0))
    search = GridSearchCV(model, GRID, cv=5).fit(X_train, y_train)
    chosen = {name.split("__")[-1]: value for name, value in search.best_params_.items()}
    accuracy = search.score(X_test, y_test)
    print(f"chosen: {chosen}; {100 * accuracy:.1f} % of the test rows are classified correctly")

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    scores = np.empty((len(PIECES), len(PENALTIES)))
    for settings, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"]):
        r, alpha = settings["ldepclassifier__r1"], settings["ldepclassifier__alpha"]
        scores[PIECES.index(r), PENALTIES.index(alpha)] = 100 * score
    left.imshow(scores, cmap="Blues", aspect="auto")
    for (i, j), score in np.ndenumerate(scores):
        dark = score > (scores.min() + scores.max()) / 2
        left.text(j, i, f"{score:.1f}", ha="center", va="center", color="white" if dark else "black")
    left.set_xticks(range(len(PENALTIES)), PENALTIES)
    left.set_yticks(range(len(PIECES)), PIECES)
    left.set(xlabel="alpha", ylabel="r1 = r2", title="cross-validation accuracy, %")

    axes = [np.linspace(low - 0.3, high + 0.3, 300) for low, high in zip(X.min(), X.max())]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    region = search.predict(type(X)(grid, columns=FEATURES)).reshape(300, 300)
    right.contourf(*axes, region, levels=[-0.5, 0.5, 1.5, 2.5], colors=["#cfe0f3", "#f8dcc8", "#d5ecd9"])
    for label, colour in enumerate(("#1f5fa8", "#c2571a", "#2f8f5b")):
        right.scatter(*X_test[y_test == label].to_numpy().T, s=12, color=colour, label=data.target_names[label])
    right.set(xlabel=FEATURES[0], ylabel=FEATURES[1], title=f"test rows: {100 * accuracy:.1f} % correct")
    right.legend(frameon=False)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
