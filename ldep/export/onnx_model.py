"""A fitted ℓ-DEP as ONNX, in double precision.

All pieces of all members are the rows of one matrix product. Maxima with the same number of pieces are taken together,
so that an ensemble of fifty members needs hardly more nodes than one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ldep.export.graph import ROWS, Graph
from ldep.export.piecewise import Link, Piecewise
from ldep.probability import OPEN_VOTES

DOCUMENTATION = """\
Linear dilation-erosion perceptron. Outputs, one entry per row: label; decision, not negative for the second class;
probabilities of the two classes; and contributions of the features, which sum to the decision value with the bias."""


def to_onnx(model: Piecewise, *, contributions: bool = True) -> Any:
    """Return an ONNX model with the input X, a table of doubles."""
    graph = Graph()
    X = graph.input("X", np.float64, [ROWS, model.n_features])
    add_outputs(graph, model, X, contributions=contributions)
    return graph.model("ldep", DOCUMENTATION, {"classes": json.dumps(model.classes.tolist())})


def add_outputs(
    graph: Graph, model: Piecewise, X: str, *, contributions: bool, groups: Sequence[int] | None = None
) -> None:
    """Add the model and its outputs to a graph in which X is the table of its features.

    `groups` numbers the groups of features whose contributions are added up; None keeps each for itself.
    """
    Z = graph.node("Sub", X, graph.constant(model.center)) if model.center.any() else X
    maxima = _Maxima(graph, model, Z)
    tau = graph.node("Sub", maxima.of_all(0), maxima.of_all(1))  # one column per member
    decision = _decision(graph, model, tau)
    positive = graph.node("GreaterOrEqual", decision, graph.constant(0.0))
    index = graph.node("Cast", positive, to=graph.onnx.TensorProto.INT64)
    labels = type_of_labels(model.classes)
    graph.output(graph.node("Gather", graph.constant(labels), index), "label", labels.dtype, [ROWS])
    graph.output(decision, "decision", np.float64, [ROWS])
    if model.link is not None:
        graph.output(_probabilities(graph, model, decision), "probabilities", np.float64, [ROWS, 2])
    if contributions:
        shares, bias = _contributions(graph, model, Z, maxima, tau)
        if groups is not None:
            shares = graph.node("MatMul", shares, graph.constant(np.eye(max(groups) + 1)[list(groups)]))
        width = model.n_features if groups is None else max(groups) + 1
        graph.output(shares, "contributions", np.float64, [ROWS, width])
        graph.output(bias, "bias", np.float64, [ROWS])


class _Maxima:
    """The maxima of all members, sorted by their number of pieces."""

    def __init__(self, graph: Graph, model: Piecewise, Z: str) -> None:
        self.graph = graph
        sizes, starts = model.sizes.ravel(), model.starts
        self.order = np.argsort(sizes, kind="stable")
        self.pieces = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in self.order])
        self.slopes = graph.constant(model.slopes[self.pieces])
        scores = graph.node("Gemm", Z, self.slopes, graph.constant(model.offsets[self.pieces]), transB=1)
        widths, counts = np.unique(sizes, return_counts=True)
        parts = [scores]
        if len(widths) > 1:
            parts = graph.node("Split", scores, graph.constant(widths * counts), outputs=len(widths), axis=1)
        self.scores = [
            graph.node("Reshape", part, graph.constant([-1, count, width]))
            for part, width, count in zip(parts, widths, counts)
        ]
        self.first_pieces = np.concatenate([[0], np.cumsum(sizes[self.order])])[:-1]
        axis = graph.constant([2])
        self.values = self._joined([graph.node("ReduceMax", part, axis, keepdims=0) for part in self.scores])

    def of_all(self, side: int) -> str:
        """The maxima of the dilations (0) or of the erosions (1), one column per member."""
        place = np.argsort(self.order)[side::2]
        return self.graph.node("Gather", self.values, self.graph.constant(place), axis=1)

    def active_pieces(self) -> str:
        """The rows of the matrix of pieces where the maxima are attained."""
        indices = self._joined([self.graph.node("ArgMax", part, axis=2, keepdims=0) for part in self.scores])
        return self.graph.node("Add", indices, self.graph.constant(self.first_pieces))

    def _joined(self, parts: list[str]) -> str:
        return parts[0] if len(parts) == 1 else self.graph.node("Concat", *parts, axis=1)


def _decision(graph: Graph, model: Piecewise, tau: str) -> str:
    votes = graph.node("Clip", tau, graph.constant(-1.0), graph.constant(1.0)) if model.clipped else tau
    if len(model.weights) > 1 or model.weights[0] != 1:
        votes = graph.node("MatMul", votes, graph.constant(model.weights[:, None]))
    decision = graph.node("Squeeze", votes, graph.constant([1]))
    return graph.node("Sub", decision, graph.constant(model.threshold)) if model.threshold else decision


def type_of_labels(classes: np.ndarray) -> np.ndarray:
    """The classes as a type that ONNX has."""
    kind = classes.dtype.kind
    if kind in "iu":
        return classes.astype(np.int64)
    return classes if kind in "bf" else np.array([str(label) for label in classes], dtype=object)


def _probabilities(graph: Graph, model: Piecewise, decision: str) -> str:
    assert model.link is not None
    scores = _link_scores(graph, model.link, decision, model.threshold)
    second = graph.node("Sigmoid", scores)
    axis = graph.constant([1])
    first = graph.node("Sigmoid", graph.node("Neg", scores))
    return graph.node("Concat", graph.node("Unsqueeze", first, axis), graph.node("Unsqueeze", second, axis), axis=1)


def _link_scores(graph: Graph, link: Link, decision: str, threshold: float) -> str:
    """The argument of the logistic function. onnxruntime has no inverse hyperbolic functions of doubles."""
    if link.kind == "identity":
        value = decision
    elif link.kind == "log_odds":
        one, value = graph.constant(1.0), graph.node("Add", decision, graph.constant(threshold))
        votes = graph.node("Mul", value, graph.constant(1.0 - OPEN_VOTES))
        value = graph.node("Log", graph.node("Div", graph.node("Add", one, votes), graph.node("Sub", one, votes)))
    else:
        one, value = graph.constant(1.0), graph.node("Add", decision, graph.constant(threshold))
        size = graph.node("Abs", value)
        root = graph.node("Sqrt", graph.node("Add", graph.node("Mul", size, size), one))
        value = graph.node("Mul", graph.node("Sign", value), graph.node("Log", graph.node("Add", size, root)))
    scaled = graph.node("Mul", value, graph.constant(link.slope))
    return graph.node("Add", scaled, graph.constant(link.intercept))


def _contributions(graph: Graph, model: Piecewise, Z: str, maxima: _Maxima, tau: str) -> tuple[str, str]:
    """Contributions and bias: the active pieces of all members, each with the member's factor and its sign."""
    active = maxima.active_pieces()
    member, sign = maxima.order // 2, 1.0 - 2.0 * (maxima.order % 2)
    factor = graph.constant((model.weights[member] * sign)[None, :])
    if model.clipped:
        # A clipped vote scales all shares of its member down by the same factor.
        size = graph.node("Max", graph.node("Abs", tau), graph.constant(1.0))
        sizes = graph.node("Gather", size, graph.constant(member), axis=1)
        factor = graph.node("Div", factor, sizes)
    offsets = graph.node("Gather", graph.constant(model.own_offsets[maxima.pieces]), active)
    bias = graph.node("ReduceSum", graph.node("Mul", offsets, factor), graph.constant([1]), keepdims=0)
    if model.threshold:
        bias = graph.node("Sub", bias, graph.constant(model.threshold))
    row = graph.node("Unsqueeze", factor, graph.constant([1]))

    def mean_of(table: str) -> str:
        rows = graph.node("Gather", table, active)
        return graph.node("Squeeze", graph.node("MatMul", row, rows), graph.constant([1]))

    shares = graph.node("Mul", Z, mean_of(maxima.slopes))
    if model.shifts.any():
        shifts = np.repeat(model.shifts, model.sizes.sum(axis=1), axis=0)
        table = graph.constant((model.slopes * shifts)[maxima.pieces])
        shares = graph.node("Add", shares, mean_of(table))
    return shares, bias
