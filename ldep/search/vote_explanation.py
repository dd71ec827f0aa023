"""The exact share of each feature in the mean vote of several models.

The shares of a feature in the decision value of one model are those of `ldep.explanation`. The vote is the decision
value made smaller: clipped, or by the sparsemax. All shares of the model are made smaller by the same factor, so that
they sum to its vote, and the mean of the shares over the models sums to the mean vote.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ldep.estimators.linear import LinearPiecesClassifier
from ldep.explanation import Explanation, PairExplanation, explain_pair
from ldep.probability import OPEN_VOTES
from ldep.search.class_probability import open_votes
from ldep.search.votes import sparsemax
from ldep.sparse_rows import scaled_rows

WeightedModels = Iterable[tuple[LinearPiecesClassifier, float]]


def explain_votes(models: WeightedModels, rows: np.ndarray, threshold: float, *, clipped: bool) -> Explanation:
    """Explain the mean vote for the second of two classes minus a threshold, which the bias includes.

    With `clipped`, a vote is the decision value clipped to [-1, 1], else it is the decision value.
    """
    contributions, bias = scaled_rows(rows, 0.0), np.full(rows.shape[0], -threshold)
    dilation, erosion = [], []
    for model, weight in models:
        part = model.explain(rows)
        factor = weight / np.maximum(np.abs(part.decision), 1.0) if clipped else weight
        contributions = contributions + scaled_rows(part.contributions, factor)
        bias += part.bias * factor
        dilation.append(part.dilation)
        erosion.append(part.erosion)
    decision = contributions.sum(axis=1) + bias
    return Explanation(contributions, bias, decision, np.column_stack(dilation), np.column_stack(erosion))


def explain_class_votes(
    models: WeightedModels, rows: np.ndarray, class_factors: np.ndarray, label: np.ndarray, rival: np.ndarray
) -> PairExplanation:
    """Explain why one class has a larger decision value than another, for models with more than two classes.

    The decision values are f_k u_k, with the factors f and the open votes u of `ldep.search.class_probability`. Of

        f_k u_k - f_l u_l = 1/2 (f_k + f_l) (u_k - u_l) + 1/2 (f_k - f_l) (u_k + u_l)

    the first part is explained by the features. The second one, the advantage of the class with the larger factor, is
    in the bias.

    Parameters
    ----------
    models : iterable of (LDEPClassifier, float)
        The models, with their weights.
    rows : ndarray of shape (n_samples, n_features)
        The rows.
    class_factors : ndarray of shape (n_classes,)
        The factors f.
    label, rival : ndarray of int of shape (n_samples,)
        Indices of the classes k and l of each row.

    Returns
    -------
    explanation : PairExplanation
        The comparison, with indices of classes in `label` and `rival`, and one column per model in the pieces.
    """
    n_rows = rows.shape[0]
    numbers = np.arange(n_rows)
    contributions, bias = scaled_rows(rows, 0.0), np.zeros(n_rows)
    total = np.zeros((n_rows, len(class_factors)))
    label_piece, rival_piece = [], []
    for model, weight in models:
        measured, offsets = model._from_origin(rows)
        part = explain_pair(measured, model.coefs_, offsets, (label, rival))
        votes = sparsemax(model._tau(rows))
        total += weight * votes
        difference = votes[numbers, label] - votes[numbers, rival]
        # The votes of two classes differ by no more than their scores.
        ratio = np.divide(difference, part.decision, out=np.zeros(n_rows), where=part.decision != 0)
        factor = weight * np.clip(ratio, 0.0, 1.0)
        contributions = contributions + scaled_rows(part.contributions, factor)
        bias += part.bias * factor
        label_piece.append(part.label_piece)
        rival_piece.append(part.rival_piece)
    opened = open_votes(total)
    half_sum = 0.5 * (class_factors[label] + class_factors[rival])
    half_difference = 0.5 * (class_factors[label] - class_factors[rival])
    slope = half_sum * (1.0 - OPEN_VOTES)
    contributions = scaled_rows(contributions, slope)
    bias = bias * slope + half_difference * (opened[numbers, label] + opened[numbers, rival])
    decision = contributions.sum(axis=1) + bias
    pieces = np.column_stack(label_piece), np.column_stack(rival_piece)
    return PairExplanation(contributions, bias, decision, label, rival, *pieces)


def as_pair(explanation: Explanation, *, second_first: bool) -> PairExplanation:
    """The explanation for two classes as a comparison of the second with the first, or of the first with the second.

    The classes are given by their indices.
    """
    sign, n_rows = 1.0 if second_first else -1.0, len(explanation.bias)
    pieces = explanation.dilation, explanation.erosion
    return PairExplanation(
        sign * explanation.contributions,
        sign * explanation.bias,
        sign * explanation.decision,
        np.full(n_rows, int(second_first)),
        np.full(n_rows, int(not second_first)),
        *(pieces if second_first else pieces[::-1]),
    )
