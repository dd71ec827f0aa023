"""What a model does on many rows: which features matter, which regions are in use, which pieces do the work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ldep.exact.attribution import attribute
from ldep.exact.models import Average, ClassVotes, Maxima

SHOWN = 10


class Region(NamedTuple):
    """A region in use: the active piece of each class (for an average, of each member in turn), and its rows."""

    pieces: tuple[int, ...]
    n_rows: int
    classes: dict


@dataclass(frozen=True)
class GlobalExplanation:
    """What a model does on some rows.

    Attributes
    ----------
    importance : ndarray of shape (n_features,)
        Mean absolute share of each feature, from `attribute` with the mean row as the baseline. With more than two
        classes, the mean over the classes too.
    names : list of str
        Names of the features.
    regions : list of Region
        The regions that contain rows, the fullest first, with the number of rows of each predicted class.
    pieces_in_use : list of ndarray
        The pieces that are active on some row, one array per class (for an average, per class of each member in turn).
    n_pieces : int
        Number of all pieces.
    n_rows : int
        Number of rows.
    """

    importance: np.ndarray
    names: list[str]
    regions: list[Region]
    pieces_in_use: list[np.ndarray] = field(repr=False)
    n_pieces: int
    n_rows: int

    @property
    def n_pieces_in_use(self) -> int:
        """Number of pieces that are active on some row."""
        return sum(len(pieces) for pieces in self.pieces_in_use)

    def __str__(self) -> str:
        order = np.argsort(-self.importance, kind="stable")
        width = max(len(self.names[f]) for f in order[:SHOWN])
        lines = [
            f"{self.n_rows} rows: {self.n_pieces_in_use} of {self.n_pieces} pieces are in use, in "
            f"{len(self.regions)} regions",
            "mean absolute share of the features:",
        ]
        lines += [f"    {self.names[f]:{width}}  {self.importance[f]:.4g}" for f in order[:SHOWN]]
        if len(order) > SHOWN:
            lines.append(f"    ({len(order) - SHOWN} more)")
        lines.append("rows of the regions:")
        for region in self.regions[:SHOWN]:
            classes = ", ".join(f"{count} of class {label}" for label, count in region.classes.items())
            where = f"pieces {region.pieces}" if len(region.pieces) <= 6 else "one piece of each member"
            lines.append(f"    {region.n_rows:6d}  {classes}  ({where})")
        if len(self.regions) > SHOWN:
            lines.append(f"    ({len(self.regions) - SHOWN} more regions)")
        return "\n".join(lines)


def overview(
    model: Maxima | Average | ClassVotes, X: np.ndarray, labels: np.ndarray, names: list[str], baseline: np.ndarray
) -> GlobalExplanation:
    """The overview of a model on rows with these predicted classes."""
    members = [model] if isinstance(model, Maxima) else model.members
    active = np.column_stack([scores.argmax(axis=1) for member in members for scores in member.scores(X)])
    shares = np.abs(attribute(model, X, baseline)[0])
    importance = shares.reshape(-1, X.shape[1]).mean(axis=0)
    found, number, counts = np.unique(active, axis=0, return_inverse=True, return_counts=True)
    regions = []
    for k in np.argsort(-counts, kind="stable"):
        inside, n_inside = np.unique(labels[number.ravel() == k], return_counts=True)
        classes = dict(zip(inside.tolist(), n_inside.tolist()))
        regions.append(Region(tuple(found[k].tolist()), int(counts[k]), classes))
    n_pieces = sum(len(offsets) for member in members for offsets in member.offsets)
    in_use = [np.unique(column) for column in active.T]
    return GlobalExplanation(importance, names, regions, in_use, n_pieces, len(X))
