"""Features in which the decision value must not fall, or must not rise.

tau = max_i(w_i . x + c_i) - max_j(m_j . x + d_j) does not fall in feature f where w_if >= 0 >= m_jf for all pieces, and
does not rise where w_if <= 0 <= m_jf. These are bounds on single parameters. They mean the same in coordinates that
only scale the features by positive factors, so solvers can keep them exactly there.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from numbers import Integral, Real

import numpy as np


def check_monotone(
    monotone, n_features: int, feature_names: np.ndarray | None, n_classes: int = 2
) -> np.ndarray | None:
    """The direction of each feature, from the parameter of an estimator.

    Parameters
    ----------
    monotone : dict, array-like of shape (n_features,) or None
        Directions +1, -1 or 0. The keys of a dict are names or indices of features.
    n_features : int
        Number of features.
    feature_names : ndarray of shape (n_features,) or None
        Names of the features, where X has names.
    n_classes : int, default=2
        Number of classes.

    Returns
    -------
    signs : ndarray of shape (n_features,) or None
        +1 where tau must not fall, -1 where it must not rise, 0 elsewhere; None when no feature is constrained.
    """
    if monotone is None:
        return None
    if isinstance(monotone, Mapping):
        signs = np.zeros(n_features)
        keys: dict[int, object] = {}
        for key, sign in monotone.items():
            index = _feature_index(key, n_features, feature_names)
            if index in keys:
                raise ValueError(f"monotone: {keys[index]!r} and {key!r} are the same feature; name it once.")
            keys[index] = key
            signs[index] = _sign(sign, f"feature {key!r}")
    else:
        values = np.asarray(monotone)
        if values.shape != (n_features,):
            raise ValueError(
                f"monotone has the shape {values.shape}, but X has {n_features} features: pass one value per feature, "
                "or a dict from features to directions."
            )
        signs = np.array([_sign(sign, f"feature {index}") for index, sign in enumerate(values.tolist())])
    if not signs.any():
        return None
    if n_classes > 2:
        raise ValueError(
            f"monotone needs two classes, but there are {n_classes}: with more, a feature can raise the scores of "
            "several classes, and no direction is defined."
        )
    return signs


def _sign(value, feature: str) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or value not in (-1, 0, 1):
        raise ValueError(
            f"monotone: the direction of {feature} is {value!r}; it must be +1 (the decision value never falls), -1 "
            "(it never rises) or 0."
        )
    return float(value)


def _feature_index(key, n_features: int, feature_names: np.ndarray | None) -> int:
    if isinstance(key, str):
        if feature_names is None:
            raise ValueError(
                f"monotone names the feature {key!r}, but X has no column names. Pass a data frame, or use indices."
            )
        positions = np.flatnonzero(feature_names == key)
        if not len(positions):
            close = difflib.get_close_matches(key, feature_names, n=1)
            hint = f"Did you mean {str(close[0])!r}?" if close else f"X has {', '.join(map(repr, feature_names[:10]))}"
            raise ValueError(f"monotone names the feature {key!r}, which X does not have. {hint}")
        return int(positions[0])
    if isinstance(key, bool | np.bool_) or not isinstance(key, Integral):
        raise ValueError(f"monotone: {key!r} is neither the name nor the index of a feature.")
    if not 0 <= int(key) < n_features:
        raise ValueError(f"monotone: there is no feature {key}; X has the features 0 to {n_features - 1}.")
    return int(key)
