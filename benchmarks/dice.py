"""Counterfactuals compared with the genetic method of DiCE (dice-ml), which is not a dependency."""

from __future__ import annotations

import importlib.util
import time

import numpy as np
import pandas as pd

ROWS = 50


def installed() -> bool:
    return importlib.util.find_spec("dice_ml") is not None


def compare(name: str, estimator, X: np.ndarray) -> dict:
    """Distance and CPU time per row of both."""
    import dice_ml

    names = [f"x{number}" for number in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    frame["class"] = estimator.predict(X)
    rows = frame.iloc[np.linspace(0, len(X) - 1, ROWS).astype(int)]

    class Logistic:
        """The model with probabilities, which DiCE needs."""

        classes_ = estimator.classes_

        def predict(self, Z):
            return estimator.predict(np.asarray(Z, dtype=float))

        def predict_proba(self, Z):
            probability = 1.0 / (1.0 + np.exp(-estimator.decision_function(np.asarray(Z, dtype=float))))
            return np.column_stack([1.0 - probability, probability])

    known = dice_ml.Data(dataframe=frame, continuous_features=names, outcome_name="class")
    explainer = dice_ml.Dice(known, dice_ml.Model(model=Logistic(), backend="sklearn"), method="genetic")
    start = time.process_time()
    found = explainer.generate_counterfactuals(rows[names], total_CFs=1, desired_class="opposite")
    dice_seconds = (time.process_time() - start) / len(rows)
    start = time.process_time()
    answer = estimator.counterfactual(rows[names].to_numpy())
    seconds = (time.process_time() - start) / len(rows)
    distances = []
    for (_, row), example in zip(rows.iterrows(), found.cf_examples_list):
        Z = example.final_cfs_df[names].to_numpy(dtype=float)
        Z = Z[estimator.predict(Z) != row["class"]]
        distances.append(np.linalg.norm(Z - row[names].to_numpy(dtype=float), axis=1).min(initial=np.inf))
    return {
        "data set": name,
        "rows": len(rows),
        "rows where DiCE flips": int(np.isfinite(distances).sum()),
        "rows where ours is nearer": int((answer.distance < distances).sum()),
        "median distance, DiCE": float(np.median(distances)),
        "median distance, ours": float(np.median(answer.distance)),
        "ms per row, DiCE": 1000 * dice_seconds,
        "ms per row, ours": 1000 * seconds,
    }
