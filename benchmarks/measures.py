"""How good is a fitted classifier on a test part? For two and more classes, with or without probabilities."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

BINS = 10


def measures(model: ClassifierMixin, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Everything that can be measured of a fitted classifier.

    Parameters
    ----------
    model : classifier
        Fitted to the classes 0, 1, ...
    X : ndarray of shape (n_samples, n_features)
        The features of the test part.
    y : ndarray of shape (n_samples,)
        Its classes.

    Returns
    -------
    measures : dict
        `accuracy` in per cent. `auc` and `average_precision` are those of class 1, or with more classes means over
        the classes, each against the others. `spread` is the range of the score of the last class: 0 for a model that
        says the same for every row. `log_loss` and `calibration_error` need `predict_proba`.
    """
    n_classes = len(model.classes_)
    probability = np.asarray(model.predict_proba(X)) if hasattr(model, "predict_proba") else None
    scores = np.asarray(model.decision_function(X)) if probability is None else probability
    scores = scores.reshape(len(X), -1)
    counted = range(n_classes)[-1:] if n_classes == 2 else range(n_classes)
    pairs = [(y == label, scores[:, -1] if n_classes == 2 else scores[:, label]) for label in counted]
    row = {
        "accuracy": 100 * float(np.mean(np.ravel(model.predict(X)) == y)),
        "auc": float(np.mean([roc_auc_score(positive, score) for positive, score in pairs])),
        "average_precision": float(np.mean([average_precision_score(positive, score) for positive, score in pairs])),
        "spread": float(np.ptp(scores[:, -1])),
    }
    if probability is not None:
        row["log_loss"] = float(log_loss(y, probability, labels=range(n_classes)))
        row["calibration_error"] = calibration_error(probability, y)
    return row


def calibration_error(probability: np.ndarray, y: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error: the mean distance between the confidence of a prediction and its accuracy.

    Parameters
    ----------
    probability : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes 0, 1, ...
    y : ndarray of shape (n_samples,)
        The class of each row.
    bins : int, default=10
        Number of equally wide bins of the confidence, from one divided by the number of classes to 1.

    Returns
    -------
    error : float
        The distances in the bins, weighted by their share of the rows.
    """
    lowest = 1 / probability.shape[1]
    confidence = probability.max(axis=1)
    correct = probability.argmax(axis=1) == y
    bin_of = np.minimum(((confidence - lowest) / (1 - lowest) * bins).astype(int), bins - 1)
    gaps = [
        abs(float((confidence - correct)[bin_of == number].mean())) * float((bin_of == number).mean())
        for number in np.unique(bin_of)
    ]
    return sum(gaps)
