"""Random fitted models for proofs, and their decision values on rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldep.model import FittedModel, Maxima, class_numbers


class Stated:
    """An estimator around a fitted model that was not trained."""

    def __init__(self, model: FittedModel):
        self.model_, self.n_features_in_ = model, model.n_features
        self.classes_ = np.array([f"class {k}" for k in range(model.n_classes)])
        self.feature_names_in_ = np.array([f"x{j}" for j in range(model.n_features)], dtype=object)

    def decision_function(self, X: Any) -> np.ndarray:
        return self.model_.decision(np.asarray(X, dtype=float))

    def numbers(self, rows: list[dict[str, float]]) -> np.ndarray:
        """The class numbers of rows as verdicts show them."""
        return class_numbers(self.decision_function([list(row.values()) for row in rows]))


def random_model(
    rng: np.random.Generator, n: int, pieces: int, classes: int = 2, members: int = 1, without: int | None = None
) -> FittedModel:
    """Pieces with normal slopes; several members vote. The model does not depend on the feature `without`."""
    made = []
    for _ in range(members):
        n_maxima = classes if classes == 2 or members > 1 else 2 * classes
        slopes = [rng.normal(size=(pieces, n)) for _ in range(n_maxima)]
        if without is not None:
            for own in slopes:
                own[:, without] = 0.0
        offsets = [rng.normal(size=pieces) for _ in range(n_maxima)]
        center = rng.normal(scale=0.1, size=n)
        member = Maxima.of_classes(slopes, offsets, center)
        if n_maxima > classes:
            signs = np.hstack([np.eye(classes), -np.eye(classes)])
            member = Maxima(member.slopes, member.offsets, member.intercepts, center, signs)
        made.append(member.scaled(0.3) if members > 1 else member)
    votes = members > 1
    factors = rng.uniform(0.5, 1.0, classes) if votes and classes > 2 else None
    return FittedModel.of(made, np.full(members, 1.0 / members), votes=votes, factors=factors)
