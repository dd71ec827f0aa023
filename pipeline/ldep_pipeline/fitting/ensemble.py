"""An ensemble of the models that tuning has fitted, at the cost of fitting the selected ones once more.

Each trial of a study fits one model per inner fold. Their votes on the rows that they have not seen are written into
the journal. When the study is done, Caruana's greedy selection chooses settings and weights by these votes. A model
does not have to be stored: its seed makes it again, bit for bit. The chosen settings are therefore fitted again on the
same inner folds, and these models vote together.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ldep.estimators import VoteEnsemble, vote_slope
from ldep.search import greedy_weights, right_votes, squared_error
from ldep_pipeline.fitting.specs import Classifier, Impute
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.fitting.trial import fit_inner_model, inner_fold_count, inner_seed, inner_splits

ROUNDS = 40
STORED = np.float32  # votes in a journal: seven digits are enough to select by


@dataclass(frozen=True)
class Candidate:
    """The settings of a complete trial, and the votes of its models on the test parts of the inner folds, in order."""

    settings: dict[str, Any]
    votes: np.ndarray


def encode_votes(votes: np.ndarray) -> str:
    """Votes as text for a journal."""
    return base64.b64encode(votes.astype(STORED).tobytes()).decode()


def decode_votes(text: str, rows: int) -> np.ndarray:
    """The inverse of `encode_votes` for votes on so many rows."""
    values = np.frombuffer(base64.b64decode(text), dtype=STORED).astype(np.float64)
    return values if len(values) == rows else values.reshape(rows, -1)


def select(candidates: list[Candidate], y: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """Weight the candidates by greedy selection on the squared error of their mean vote.

    Parameters
    ----------
    candidates : list of Candidate
        The candidates.
    y : ndarray of shape (n_rows,)
        The classes of the rows that were voted on.
    classes : ndarray of shape (n_classes,)
        The classes that could be voted for, in sorted order.

    Returns
    -------
    ensemble : dict
        `members`: settings and weight of each candidate that has a weight; `slope`: that of the link to probabilities.
    """
    own = np.searchsorted(classes, y)
    values = np.stack([candidate.votes for candidate in candidates])
    targets = right_votes(own, len(classes))
    weights = greedy_weights(values, squared_error(targets, np.ones(len(y))), ROUNDS)
    members = [
        {"settings": candidate.settings, "weight": float(weight)}
        for candidate, weight in zip(candidates, weights)
        if weight > 0
    ]
    return {"members": members, "slope": vote_slope(np.tensordot(weights, values, axes=1), own)}


def fit(
    ensemble: dict[str, Any],
    entry: Classifier,
    impute: Impute,
    data: TrainingData,
    *,
    fold: int | None,
    wanted_folds: int,
    seed: int,
) -> Pipeline:
    """Fit the members of a selection again, exactly as the trials of the study did.

    Parameters
    ----------
    ensemble : dict
        What `select` returned.
    entry : Classifier
        The model that was tuned.
    impute : Impute
        How missing cells are filled.
    data : TrainingData
        The data set.
    fold : int or None
        The outer fold that is left out, as in the study.
    wanted_folds : int
        `tuning.folds`.
    seed : int
        Seed of the study.
    """
    splits = inner_splits(data, fold, inner_fold_count(data, fold, wanted_folds, seed), seed)
    members, weights = [], []
    for member in ensemble["members"]:
        for number, (train, _) in enumerate(splits):
            arguments = (entry, member["settings"], impute, data, train)
            members.append(fit_inner_model(*arguments, inner_seed(seed, number)))
            weights.append(member["weight"] / len(splits))
    voting = VoteEnsemble(members, weights, data.train_classes(fold), ensemble["slope"])
    return Pipeline([("model", voting)])
