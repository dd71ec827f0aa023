"""The classifiers that are compared with their defaults, each on one thread: functions from a seed to an estimator."""

from __future__ import annotations

from collections.abc import Callable

from sklearn.base import ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from ldep import LDEPClassifier, LDEPClassifierCV

SINGLE, TUNED, CALIBRATED = "LDEPClassifier", "LDEPClassifierCV", "calibrated LDEP"
BALANCED, ONE_VERSUS_REST = "LDEPClassifier, balanced", "one-versus-rest LDEP"
MLP, SVM, EXTRA_TREES, RANDOM_FOREST = "MLP", "RBF SVC", "extra trees", "random forest"
LIGHTGBM, HIST, CATBOOST, LOGISTIC = "LightGBM", "HistGradientBoosting", "CatBoost", "logistic regression"

Make = Callable[[int], ClassifierMixin]


def _lightgbm(seed: int) -> ClassifierMixin:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)


def _catboost(seed: int) -> ClassifierMixin:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(thread_count=1, verbose=0, allow_writing_files=False, random_seed=seed)


CLASSIFIERS: dict[str, Make] = {
    SINGLE: lambda seed: LDEPClassifier(random_state=seed),
    TUNED: lambda seed: LDEPClassifierCV(random_state=seed),
    BALANCED: lambda seed: LDEPClassifier(class_weight="balanced", random_state=seed),
    ONE_VERSUS_REST: lambda seed: OneVsRestClassifier(LDEPClassifier(random_state=seed)),
    CALIBRATED: lambda seed: CalibratedClassifierCV(LDEPClassifier(random_state=seed)),
    SVM: lambda seed: SVC(),
    EXTRA_TREES: lambda seed: ExtraTreesClassifier(random_state=seed),
    RANDOM_FOREST: lambda seed: RandomForestClassifier(random_state=seed),
    LIGHTGBM: _lightgbm,
    HIST: lambda seed: HistGradientBoostingClassifier(random_state=seed),
    MLP: lambda seed: MLPClassifier(random_state=seed),
    LOGISTIC: lambda seed: LogisticRegression(),
    CATBOOST: _catboost,
}
