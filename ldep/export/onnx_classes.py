"""A fitted ℓ-DEP of more than two classes as ONNX: one maximum of affine pieces per class, and the largest wins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ldep.export.graph import ROWS, Graph
from ldep.export.onnx_model import type_of_labels


class ClassOutputs(NamedTuple):
    """What the outputs of a model of several classes are to be.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels.
    contributions : bool
        Whether contributions and bias are among the outputs.
    groups : sequence of int or None
        Numbers of the groups of features whose contributions are added up; None keeps each for itself.
    softmax : tuple of (float, ndarray) or None
        Slope and offsets: the probabilities are the softmax of slope * decision + offsets. None are the model's own.
    """

    classes: np.ndarray
    contributions: bool
    groups: Sequence[int] | None = None
    softmax: tuple[float, np.ndarray] | None = None

    def add_labels(self, graph: Graph, best: str) -> None:
        """Add label and, with contributions, rival, from the indices of the best and the second best class."""
        labels = type_of_labels(self.classes)
        names = graph.constant(labels)
        for place, name in enumerate(("label", "rival") if self.contributions else ("label",)):
            index = graph.node("Gather", best, graph.constant(place), axis=1)
            graph.output(graph.node("Gather", names, index), name, labels.dtype, [ROWS])

    def add_probabilities(self, graph: Graph, decision: str, own: str | None) -> None:
        """Add the probabilities: the given softmax of the decision values, else the model's own, if it has any."""
        if self.softmax is not None:
            slope, offsets = (graph.constant(np.asarray(values, dtype=np.float64)) for values in self.softmax)
            own = graph.node("Softmax", graph.node("Add", graph.node("Mul", decision, slope), offsets), axis=1)
        if own is not None:
            graph.output(own, "probabilities", np.float64, [ROWS, len(self.classes)])

    def add_shares(self, graph: Graph, shares: str, bias: str, n_features: int) -> None:
        width = n_features if self.groups is None else max(self.groups) + 1
        if self.groups is not None:
            shares = graph.node("MatMul", shares, graph.constant(np.eye(width)[list(self.groups)]))
        graph.output(shares, "contributions", np.float64, [ROWS, width])
        graph.output(bias, "bias", np.float64, [ROWS])


def add_classes(graph: Graph, model: Any, X: str, wanted: ClassOutputs, slope: float | None = None) -> None:
    """Add the outputs of a fitted `LDEPClassifier` or `StreamingLDEPClassifier` to a graph with the features X.

    `slope` is that of the link to probabilities, if the model has not its own.
    """
    n_classes, n_features = len(model.coefs_), model.n_features_in_
    n_pieces = max(len(slopes) for slopes in model.coefs_)
    Z = graph.node("Sub", X, graph.constant(model.center_)) if model.center_.any() else X
    padded = _padded([len(slopes) for slopes in model.coefs_])
    slopes = graph.constant(np.vstack(model.coefs_)[padded])
    offsets = graph.constant(model.offsets_at_center_[padded])
    scores = graph.node("Gemm", Z, slopes, offsets, transB=1)
    by_class = graph.node("Reshape", scores, graph.constant([-1, n_classes, n_pieces]))
    maxima = graph.node("ReduceMax", by_class, graph.constant([2]), keepdims=0)
    # Of equal scores the first comes first, as in numpy.
    best = graph.node("TopK", maxima, graph.constant([2]), outputs=2, axis=1)[1]
    wanted.add_labels(graph, best)
    graph.output(maxima, "decision", np.float64, [ROWS, n_classes])
    slope = getattr(model, "slope_", slope)
    wanted.add_probabilities(graph, maxima, None if slope is None else _probabilities(graph, maxima, slope))
    if wanted.contributions:
        active = graph.node("ArgMax", by_class, axis=2, keepdims=0)
        first_pieces = graph.node("Mul", best, graph.constant(n_pieces))
        pieces = graph.node("Add", graph.node("GatherElements", active, best, axis=1), first_pieces)
        differences = []
        for table in (slopes, offsets):
            of_both = graph.node("Gather", table, pieces)
            label, rival = (graph.node("Gather", of_both, graph.constant(place), axis=1) for place in (0, 1))
            differences.append(graph.node("Sub", label, rival))
        wanted.add_shares(graph, graph.node("Mul", Z, differences[0]), differences[1], n_features)


def _probabilities(graph: Graph, scores: str, slope: float) -> str:
    """The softmax of the compressed leads, as in `ldep.probability`. onnxruntime has no asinh of doubles."""
    node, two = graph.node, graph.constant([2])
    ordered = node("TopK", scores, two, outputs=2, axis=1)[0]
    best, second = (node("Gather", ordered, graph.constant([place]), axis=1) for place in (0, 1))
    lead = node("Sub", scores, node("Where", node("Equal", scores, best), second, best))
    size = node("Abs", lead)
    root = node("Sqrt", node("Add", node("Mul", size, size), graph.constant(1.0)))
    compressed = node("Mul", node("Sign", lead), node("Log", node("Add", size, root)))
    return node("Softmax", node("Mul", compressed, graph.constant(float(slope))), axis=1)


def _padded(sizes: list[int]) -> np.ndarray:
    """Indices of the pieces of all classes; a class with fewer pieces than another repeats its last one."""
    ends = np.cumsum(sizes)
    return np.concatenate([np.minimum(np.arange(max(sizes)) + end - size, end - 1) for size, end in zip(sizes, ends)])
