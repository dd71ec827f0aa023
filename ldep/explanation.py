"""Why a row has its decision value: the exact share of each feature.

In the region where piece i of the dilation and piece j of the erosion are active, tau is affine:

    tau(x) = (w_i - m_j) . x + (c_i - d_j).

The contribution of feature f is (w_if - m_jf) x_f, the bias is c_i - d_j, and they sum to tau, with nothing left over
and nothing approximated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldep.frames import frame_like, is_frame


class Explanation(NamedTuple):
    """The explanation of some rows, one entry per row.

    Attributes
    ----------
    contributions : ndarray of shape (n_samples, n_features)
        Share of each feature.
    bias : ndarray of shape (n_samples,)
        Share of the offsets.
    decision : ndarray of shape (n_samples,)
        tau: the sum of all shares.
    dilation, erosion : ndarray of shape (n_samples,) or (n_samples, n_members)
        The active pieces i and j; one column per model when several models vote.
    """

    contributions: np.ndarray
    bias: np.ndarray
    decision: np.ndarray
    dilation: np.ndarray
    erosion: np.ndarray


def explain_linear(X: np.ndarray, W: np.ndarray, c: np.ndarray, M: np.ndarray, d: np.ndarray) -> Explanation:
    """The explanation of the ℓ-DEP with these pieces."""
    i = (X @ W.T + c).argmax(axis=1)
    j = (X @ M.T + d).argmax(axis=1)
    contributions = (W[i] - M[j]) * X
    bias = c[i] - d[j]
    return Explanation(contributions, bias, contributions.sum(axis=1) + bias, i, j)


def like_input(explanation: Explanation, X):
    """A frame of the same library when X is a pandas or polars DataFrame, else the arrays.

    Its columns are those of X with the contributions, then bias, decision, and the active pieces. A feature that has
    one of these names keeps it, and the other column gets an underscore.
    """
    if not is_frame(X):
        return explanation
    extra = {"bias": explanation.bias, "decision": explanation.decision}
    for group, pieces in (("dilation", explanation.dilation), ("erosion", explanation.erosion)):
        if pieces.ndim == 1:
            extra[f"{group}_piece"] = pieces
        else:
            extra |= {f"{group}_piece_{k}": column for k, column in enumerate(pieces.T)}
    taken = set(X.columns)
    named = {name + "_" * (name in taken): values for name, values in extra.items()}
    return frame_like(X, explanation.contributions, named)
