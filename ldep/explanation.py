"""Why a row has its decision value: the exact share of each feature.

In the region where piece i of the dilation and piece j of the erosion are active, tau is affine:

    tau(x) = (w_i - m_j) . x + (c_i - d_j).

The contribution of feature f is (w_if - m_jf) x_f, the bias is c_i - d_j, and they sum to tau, with nothing left over
and nothing approximated. With more than two classes the same holds of the difference s_k - s_l of two maxima.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ldep.frames import frame_like, is_frame
from ldep.shap_plots import to_shap


class Explanation(NamedTuple):
    """The explanation of some rows, one entry per row.

    Attributes
    ----------
    contributions : ndarray or csr_array of shape (n_samples, n_features)
        Share of each feature; sparse where the rows are.
    bias : ndarray of shape (n_samples,)
        Share of the offsets.
    decision : ndarray of shape (n_samples,)
        tau: the sum of all shares.
    dilation, erosion : ndarray of shape (n_samples,) or (n_samples, n_models)
        The active pieces i and j; one column per model when several models vote.
    """

    contributions: Any
    bias: np.ndarray
    decision: np.ndarray
    dilation: np.ndarray
    erosion: np.ndarray

    def to_shap(self, X=None):
        """Convert to a `shap.Explanation`, for the plots of the package shap, which must be installed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            The rows, whose values the plots show. The columns of a data frame name the features.

        Returns
        -------
        explanation : shap.Explanation
            The contributions, with the bias as their base value.
        """
        return to_shap(self.contributions, self.bias, X, None)


class PairExplanation(NamedTuple):
    """The comparison of two classes on some rows, one entry per row.

    Attributes
    ----------
    contributions : ndarray or csr_array of shape (n_samples, n_features)
        Share of each feature; sparse where the rows are.
    bias : ndarray of shape (n_samples,)
        Share of the offsets.
    decision : ndarray of shape (n_samples,)
        s_k - s_l: the sum of all shares.
    label, rival : ndarray of shape (n_samples,)
        The classes k and l.
    label_piece, rival_piece : ndarray of shape (n_samples,) or (n_samples, n_models)
        Their active pieces; one column per model when several models vote.
    """

    contributions: Any
    bias: np.ndarray
    decision: np.ndarray
    label: np.ndarray
    rival: np.ndarray
    label_piece: np.ndarray
    rival_piece: np.ndarray

    def with_labels(self, classes: np.ndarray) -> PairExplanation:
        """The same with classes in the place of their indices."""
        return self._replace(label=classes[self.label], rival=classes[self.rival])

    def to_shap(self, X=None):
        """Convert to a `shap.Explanation`, for the plots of the package shap, which must be installed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            The rows, whose values the plots show. The columns of a data frame name the features.

        Returns
        -------
        explanation : shap.Explanation
            The contributions, with the bias as their base value.
        """
        return to_shap(self.contributions, self.bias, X, None)


def explain_linear(X: np.ndarray, W: np.ndarray, c: np.ndarray, M: np.ndarray, d: np.ndarray) -> Explanation:
    """The explanation of the ℓ-DEP with these pieces."""
    i = (X @ W.T + c).argmax(axis=1)
    j = (X @ M.T + d).argmax(axis=1)
    contributions = _shares(X, np.vstack([W, M]), i, len(W) + j)
    bias = c[i] - d[j]
    return Explanation(contributions, bias, contributions.sum(axis=1) + bias, i, j)


def explain_pair(
    X: np.ndarray,
    coefs: list[np.ndarray],
    offsets: list[np.ndarray],
    pair: tuple[int | np.ndarray, int | np.ndarray] | None,
) -> PairExplanation:
    """Compare two classes on each row.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    coefs, offsets : list of ndarrays of shape (n_pieces, n_features) and (n_pieces,)
        The pieces of each class.
    pair : tuple of int or ndarray of shape (n_samples,), or None
        Indices of the two classes, or of those of each row; None is the class with the largest score of each row, and
        the second largest.

    Returns
    -------
    explanation : PairExplanation
        The comparison, with indices of classes in `label` and `rival`.
    """
    n_rows, n_classes = X.shape[0], len(coefs)
    rows = np.arange(n_rows)
    maxima, active = np.empty((n_classes, n_rows)), np.empty((n_classes, n_rows), dtype=np.intp)
    for k, (slopes, offset) in enumerate(zip(coefs, offsets)):
        scores = X @ slopes.T + offset
        active[k] = scores.argmax(axis=1)
        maxima[k] = scores[rows, active[k]]
    if pair is None:
        label, rival = top_two(maxima)
    else:
        label, rival = np.broadcast_to(pair[0], n_rows), np.broadcast_to(pair[1], n_rows)
    label_piece, rival_piece = active[label, rows], active[rival, rows]
    # Positions of the two pieces among those of all classes.
    before = np.cumsum([0, *(len(slopes) for slopes in coefs[:-1])])
    won, lost = before[label] + label_piece, before[rival] + rival_piece
    contributions = _shares(X, np.vstack(coefs), won, lost)
    all_offsets = np.concatenate(offsets)
    bias = all_offsets[won] - all_offsets[lost]
    decision = contributions.sum(axis=1) + bias
    return PairExplanation(contributions, bias, decision, label, rival, label_piece, rival_piece)


def _shares(X, slopes: np.ndarray, won: np.ndarray, lost: np.ndarray):
    """(w_p - w_q) x_f for the pieces p and q of each row and every feature f; sparse where X is."""
    if not sparse.issparse(X):
        return (slopes[won] - slopes[lost]) * X
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    difference = slopes[won[row], X.indices] - slopes[lost[row], X.indices]
    return sparse.csr_array((X.data * difference, X.indices, X.indptr), shape=X.shape)


def top_two(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the largest and the second largest entry of each column."""
    first = scores.argmax(axis=0)
    others = scores.copy()
    others[first, np.arange(scores.shape[1])] = -np.inf
    return first, others.argmax(axis=0)


def class_indices(pair, classes: np.ndarray) -> tuple[int, int]:
    """Indices of two classes, or an error when they are not two of these classes."""
    known = classes.tolist()
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(known):
        raise ValueError(f"pair must be two different classes out of {known}, but it is {pair!r}.")
    return known.index(pair[0]), known.index(pair[1])


def like_input(explanation: Explanation | PairExplanation, X):
    """A frame of the same library when X is a pandas or polars DataFrame, else the arrays.

    Its columns are those of X with the contributions, then bias, decision, the classes of a pair, and the active
    pieces. A feature that has one of these names keeps it, and the other column gets an underscore.
    """
    if not is_frame(X):
        return explanation
    extra = explanation._asdict()
    del extra["contributions"]
    for group in ("dilation", "erosion", "label_piece", "rival_piece"):
        pieces = extra.pop(group, None)
        name = group if group.endswith("_piece") else f"{group}_piece"
        if pieces is not None and pieces.ndim == 1:
            extra[name] = pieces
        elif pieces is not None:
            extra |= {f"{name}_{k}": column for k, column in enumerate(pieces.T)}
    taken = set(X.columns)
    named = {name + "_" * (name in taken): values for name, values in extra.items()}
    return frame_like(X, explanation.contributions, named)
