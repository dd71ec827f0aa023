"""Why a row has its decision value: the exact share of each feature.

A score is a sum of maxima with signs. Where one piece of each maximum is active, w_g . x + c_g, the lead of the class k
over the class l is affine, with the differences D_g = C_kg - C_lg of the signs:

    s_k(x) - s_l(x) = sum over g of D_g (w_g . x + c_g).

The contribution of feature f is the sum of D_g w_gf x_f, the bias is the sum of D_g c_g, and they sum to the lead, with
nothing left over and nothing approximated. With two classes the lead of the second over the first is tau.

Where members vote, the vote is the lead made smaller: clipped, or by the sparsemax. All shares of the member are made
smaller by the same factor, so that they sum to its vote, and the mean of the shares over the members sums to the mean
vote.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ldep._utils import frame_like, is_frame, scaled_rows
from ldep.model import OPEN_VOTES, FittedModel, Maxima, cast_votes, form_of, lead, open_votes


@dataclass(frozen=True)
class Explanation:
    """What the features contribute to the decision values of some rows, one entry per row.

    Attributes
    ----------
    contributions : ndarray or csr_array of shape (n_samples, n_features) or (n_samples, n_classes, n_features)
        Share of each feature; sparse where the rows are. `attribute` has one set of shares per class if there are more
        than two.
    bias : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What the contributions are added to: the share of the offsets, or for `attribute` the decision value of the
        baseline.
    decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The sum of all shares: tau with two classes, the lead of `label` over `rival` for a pair of classes, or the
        decision value of each class.
    data : ndarray or csr_array of shape (n_samples, n_features)
        The rows.
    names : list of str
        Names of the features.
    label, rival : ndarray of shape (n_samples,) or None
        The two classes that are compared. With two classes these are the second and the first one, unless another pair
        was asked for. `attribute` does not compare.
    label_piece, rival_piece : ndarray of shape (n_samples,) or (n_samples, n_pieces), or None
        Their active pieces: one per maximum in the score of the class, for each member in turn; a table if that is more
        than one. With two classes these are the pieces of the dilation and of the erosion.
    frame : DataFrame or None
        The rows as the user has them, if that is a pandas or polars DataFrame.
    """

    contributions: Any
    bias: np.ndarray
    decision: np.ndarray
    data: Any = field(repr=False)
    names: list[str] = field(repr=False)
    label: np.ndarray | None = None
    rival: np.ndarray | None = None
    label_piece: np.ndarray | None = None
    rival_piece: np.ndarray | None = None
    frame: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.bias)

    @property
    def per_class(self) -> bool:
        """Whether there is one set of contributions per class."""
        return self.bias.ndim > 1

    def plot(self, row: int = 0, *, target: int | None = None, max_features: int = 10, ax=None):
        """Draw the shares of the features in the decision value of one row; see `ldep.plotting.plot_explanation`."""
        from ldep.plotting import plot_explanation

        return plot_explanation(self, row, target=target, max_features=max_features, ax=ax)

    def to_frame(self):
        """Convert to a data frame of the library of the rows, which must be a pandas or polars DataFrame.

        Returns
        -------
        frame : DataFrame
            The columns (and the index) of the rows with the contributions, then bias, decision, the compared classes
            and their active pieces. A feature that has one of these names keeps it, and the other column gets an
            underscore.
        """
        if self.frame is None:
            raise TypeError("to_frame needs rows that were passed as a pandas or polars DataFrame.")
        if self.per_class:
            raise TypeError("A table has one set of contributions per row, and this explanation has one per class.")
        extra: dict[str, np.ndarray] = {"bias": self.bias, "decision": self.decision}
        for name in ("label", "rival", "label_piece", "rival_piece"):
            values = getattr(self, name)
            columns = () if values is None else np.atleast_2d(values.T)
            extra |= {f"{name}_{k}" if len(columns) > 1 else name: column for k, column in enumerate(columns)}
        taken = set(self.frame.columns)
        return frame_like(self.frame, self.contributions, {name + "_" * (name in taken): extra[name] for name in extra})

    def to_shap(self):
        """Convert to a `shap.Explanation`, for the plots of the package shap, which must be installed.

        Returns
        -------
        explanation : shap.Explanation
            The contributions, with the bias as their base value.
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError("to_shap needs the package shap: pip install shap.") from error
        table = _dense(self.contributions)
        if self.per_class:
            table = np.moveaxis(table, 1, 2)  # shap has the classes last
        names = self.names if self.frame is None else [str(name) for name in self.frame.columns]
        return shap.Explanation(values=table, base_values=self.bias, data=_dense(self.data), feature_names=names)


def _dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


class Comparison(NamedTuple):
    """What the features contribute to the lead of one class over another, for one member."""

    contributions: Any
    bias: np.ndarray
    label_piece: np.ndarray
    rival_piece: np.ndarray


def explain(model: FittedModel, rows: Any, pair: tuple[int, int] | None, names: list[str]) -> Explanation:
    """Compare two classes on each row; the result has their numbers in `label` and `rival`.

    Without a pair they are the second and the first of two classes; of more, the predicted one and the runner-up.
    """
    n_rows = rows.shape[0]
    pair = pair or form_of(model.n_classes).pair
    label, rival = (np.full(n_rows, number) for number in pair) if pair else top_two(model.decision(rows))
    contributions, bias = scaled_rows(rows, 0.0), np.zeros(n_rows)
    total, pieces = np.zeros(1), []
    for member, weight in zip(model.members, model.weights):
        part = compare(member, rows, label, rival)
        factor = np.full(n_rows, weight)
        if model.votes:
            decision = member.decision(rows)
            votes = cast_votes(decision)
            total = total + weight * votes
            factor *= _shrinkage(lead(votes, label, rival), lead(decision, label, rival))
        contributions = contributions + scaled_rows(part.contributions, factor)
        bias += part.bias * factor
        pieces.append((part.label_piece, part.rival_piece))
    if model.factors is not None:
        contributions, bias = _with_factors(contributions, bias, model.factors, open_votes(total), label, rival)
    bias -= model.thresholds[label] - model.thresholds[rival]
    label_piece, rival_piece = (np.column_stack(column) for column in zip(*pieces))
    if not model.votes and label_piece.shape[1] == 1:
        label_piece, rival_piece = label_piece[:, 0], rival_piece[:, 0]
    decision = contributions.sum(axis=1) + bias
    return Explanation(contributions, bias, decision, rows, names, label, rival, label_piece, rival_piece)


def compare(member: Maxima, rows: Any, label: np.ndarray, rival: np.ndarray) -> Comparison:
    """The shares of the features in the lead of one class over another, under one member."""
    X, offsets = member.from_origin(rows)
    active = np.column_stack([(X @ w.T + c).argmax(axis=1) for w, c in zip(member.slopes, offsets)])
    # Positions of the active pieces among those of all maxima.
    places = active + np.cumsum([0, *member.sizes[:-1]])
    counts = member.signs[label] - member.signs[rival]
    bias = (counts * np.concatenate(offsets)[places]).sum(axis=1)
    shares = _shares(X, np.vstack(member.slopes), places, counts)
    return Comparison(shares, bias, _own_pieces(member, active, label), _own_pieces(member, active, rival))


def _own_pieces(member: Maxima, active: np.ndarray, label: np.ndarray) -> np.ndarray:
    """The active pieces of the maxima in the score of the class of each row; -1 where another class has more."""
    own = [np.flatnonzero(signs) for signs in member.signs]
    longest = max(map(len, own))
    places = np.array([np.pad(part, (0, longest - len(part)), constant_values=-1) for part in own])[label]
    return np.where(places >= 0, np.take_along_axis(active, places, axis=1), -1)


def _shares(X, slopes: np.ndarray, places: np.ndarray, counts: np.ndarray):
    """The sum of counts_g w_g x_f for the pieces of each row and every feature f; sparse where X is."""
    if not sparse.issparse(X):
        return sum(count[:, None] * slopes[place] for count, place in zip(counts.T, places.T)) * X
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    slope = sum(count[row] * slopes[place[row], X.indices] for count, place in zip(counts.T, places.T))
    return sparse.csr_array((X.data * slope, X.indices, X.indptr), shape=X.shape)


def _shrinkage(voted: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """How much smaller the lead in votes is than that in scores: from 0 to 1, and 1 for classes that are level."""
    return np.clip(np.divide(voted, decided, out=np.ones(len(voted)), where=decided != 0), 0.0, 1.0)


def _with_factors(contributions, bias, factors, opened, label, rival) -> tuple[Any, np.ndarray]:
    """Shares of votes as shares of decision values f_k u_k, with the factors f and the open votes u. Of

        f_k u_k - f_l u_l = 1/2 (f_k + f_l) (u_k - u_l) + 1/2 (f_k - f_l) (u_k + u_l)

    the first part is explained by the features. The second one, the advantage of the class with the larger factor, is
    in the bias.
    """
    rows = np.arange(len(label))
    half_sum, half_difference = (factors[label] + factors[rival]) / 2.0, (factors[label] - factors[rival]) / 2.0
    slope = half_sum * (1.0 - OPEN_VOTES)
    advantage = half_difference * (opened[rows, label] + opened[rows, rival])
    return scaled_rows(contributions, slope), bias * slope + advantage


def top_two(decision: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the largest and the second largest entry of each row."""
    first = decision.argmax(axis=1)
    others = decision.copy()
    others[np.arange(len(decision)), first] = -np.inf
    return first, others.argmax(axis=1)


def pair_numbers(pair, classes: np.ndarray) -> tuple[int, int]:
    """Numbers of two classes, or an error when they are not two of these classes."""
    known = classes.tolist()
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(known):
        raise ValueError(f"pair must be two different classes out of {known}, but it is {pair!r}.")
    return known.index(pair[0]), known.index(pair[1])


def with_labels(explanation: Explanation, classes: np.ndarray, X: Any) -> Explanation:
    """The explanation with classes in the place of their numbers, and the frame of the rows, if X is one."""
    label, rival = classes[explanation.label], classes[explanation.rival]
    return replace(explanation, label=label, rival=rival, frame=X if is_frame(X) else None)
