"""The numbers of a fitted ℓ-DEP, from which every exported form is written.

A model is a weighted mean of members, and each member a difference of two maxima of affine pieces:

    s_p(x) = slope_p . (x - center) + offset_p,
    tau_m(x) = max_{p in dilation m} s_p(x) - max_{p in erosion m} s_p(x),
    decision(x) = sum_m weight_m clip(tau_m(x), -1, 1) - threshold.

Without `clipped` the tau_m are not clipped. A single model is one member with the weight 1 and the threshold 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ldep.estimators.ldep_cv import LDEPClassifierCV
from ldep.estimators.linear import LinearPiecesClassifier


class NotExportable(ValueError):
    """The estimator is not an ℓ-DEP."""


class Link(NamedTuple):
    """P(second class) = expit(slope f(value) + intercept).

    `kind` names f and the value: "identity" of the decision value, "asinh" of it plus the threshold, or "log_odds" of
    the share of votes, as in `ldep.probability`.
    """

    kind: str
    slope: float
    intercept: float


@dataclass(frozen=True)
class Piecewise:
    """A model with two classes. Pieces are listed member by member: first the dilation, then the erosion.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        The classes; the second one is predicted where the decision value is not negative.
    slopes, offsets : ndarray of shape (n_pieces, n_features), (n_pieces,)
        The pieces; offsets are the values at `center`.
    center : ndarray of shape (n_features,)
        Origin that all members share.
    sizes : ndarray of shape (n_members, 2)
        Number of pieces in the dilation and in the erosion of each member.
    weights : ndarray of shape (n_members,)
        Weights of the members.
    clipped : bool
        Whether the decision values of the members are clipped to [-1, 1].
    threshold : float
        What is subtracted from the weighted mean.
    own_offsets : ndarray of shape (n_pieces,)
        Values of the pieces at the member's own centre, from which its contributions are measured.
    shifts : ndarray of shape (n_members, n_features)
        `center` minus the member's own centre.
    link : Link or None
        The probability; None if the model has none.
    """

    classes: np.ndarray
    slopes: np.ndarray
    offsets: np.ndarray
    center: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray
    clipped: bool
    threshold: float
    own_offsets: np.ndarray
    shifts: np.ndarray
    link: Link | None

    @property
    def n_features(self) -> int:
        return self.slopes.shape[1]

    @property
    def starts(self) -> np.ndarray:
        """First piece of each maximum, and the number of all pieces."""
        return np.concatenate([[0], np.cumsum(self.sizes.ravel())])


def piecewise(estimator: Any) -> Piecewise:
    """Return the numbers of a fitted `LDEPClassifier`, `StreamingLDEPClassifier` or `LDEPClassifierCV`."""
    if isinstance(estimator, (LDEPClassifierCV, LinearPiecesClassifier)):
        check_is_fitted(estimator)
        if len(estimator.classes_) != 2:
            raise NotExportable(
                "Only a model with two classes has this form; this one has "
                f"{len(estimator.classes_)} classes, and can be written as ONNX."
            )
    if isinstance(estimator, LDEPClassifierCV):
        link = Link("log_odds" if estimator._clipped else "asinh", *estimator.link_)
        return _combine(
            estimator.estimators_,
            estimator.weights_,
            estimator.classes_,
            estimator._clipped,
            estimator.threshold_,
            link,
        )
    if isinstance(estimator, LinearPiecesClassifier):
        # With probability=True the link is the softmax of asinh(decision) and asinh(-decision), times the slope.
        slope = getattr(estimator, "slope_", None)
        own_link = None if slope is None else Link("asinh", 2.0 * slope, 0.0)
        return _combine([estimator], np.ones(1), estimator.classes_, False, 0.0, own_link)
    raise NotExportable(
        f"{type(estimator).__name__} cannot be exported; LDEPClassifier, LDEPClassifierCV and StreamingLDEPClassifier "
        "can."
    )


def _combine(
    members: list[Any], weights: np.ndarray, classes: np.ndarray, clipped: bool, threshold: float, link: Link | None
) -> Piecewise:
    # Where features have a large offset, the centres of the members differ by little, and their difference is exact.
    center = members[0].center_
    slopes, offsets, own_offsets, shifts = [], [], [], []
    for member in members:
        pieces, shift = np.vstack([member.W_, member.M_]), center - member.center_
        slopes.append(pieces)
        own_offsets.append(member.offsets_at_center_)
        offsets.append(member.offsets_at_center_ + pieces @ shift)
        shifts.append(shift)
    return Piecewise(
        classes=classes,
        slopes=np.vstack(slopes),
        offsets=np.concatenate(offsets),
        center=center,
        sizes=np.array([[len(member.W_), len(member.M_)] for member in members]),
        weights=np.asarray(weights, dtype=np.float64),
        clipped=clipped,
        threshold=float(threshold),
        own_offsets=np.concatenate(own_offsets),
        shifts=np.array(shifts),
        link=link,
    )
