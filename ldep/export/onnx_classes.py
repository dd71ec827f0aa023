"""A fitted ℓ-DEP of more than two classes as ONNX: one maximum of affine pieces per class, and the largest wins."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ldep.export.graph import ROWS, Graph
from ldep.export.onnx_model import type_of_labels

DOCUMENTATION = """\
Linear dilation-erosion perceptron. Outputs, one entry per row: label; decision, the score of each class; and, for the
difference between the score of the label and that of the rival, the second best class, contributions of the features
and the bias, which sum to it."""


def classes_to_onnx(model: Any, *, contributions: bool, slope: float | None = None) -> Any:
    """Return an ONNX model with the input X, for a fitted `LDEPClassifier` or `StreamingLDEPClassifier`.

    `slope` is that of the link to probabilities, if the model has not its own.
    """
    graph = Graph()
    n_classes, n_features = len(model.coefs_), model.n_features_in_
    n_pieces = max(len(slopes) for slopes in model.coefs_)
    X = graph.input("X", np.float64, [ROWS, n_features])
    Z = graph.node("Sub", X, graph.constant(model.center_)) if model.center_.any() else X
    padded = _padded([len(slopes) for slopes in model.coefs_])
    slopes = graph.constant(np.vstack(model.coefs_)[padded])
    offsets = graph.constant(model.offsets_at_center_[padded])
    scores = graph.node("Gemm", Z, slopes, offsets, transB=1)
    by_class = graph.node("Reshape", scores, graph.constant([-1, n_classes, n_pieces]))
    maxima = graph.node("ReduceMax", by_class, graph.constant([2]), keepdims=0)
    # Of equal scores the first comes first, as in numpy.
    best = graph.node("TopK", maxima, graph.constant([2]), outputs=2, axis=1)[1]
    labels = type_of_labels(model.classes_)
    names = graph.constant(labels)
    for place, name in enumerate(("label", "rival") if contributions else ("label",)):
        index = graph.node("Gather", best, graph.constant(place), axis=1)
        graph.output(graph.node("Gather", names, index), name, labels.dtype, [ROWS])
    graph.output(maxima, "decision", np.float64, [ROWS, n_classes])
    slope = getattr(model, "slope_", slope)
    if slope is not None:
        graph.output(_probabilities(graph, maxima, slope), "probabilities", np.float64, [ROWS, n_classes])
    if contributions:
        active = graph.node("ArgMax", by_class, axis=2, keepdims=0)
        first_pieces = graph.node("Mul", best, graph.constant(n_pieces))
        pieces = graph.node("Add", graph.node("GatherElements", active, best, axis=1), first_pieces)
        for name, table, shape in (("contributions", slopes, [ROWS, n_features]), ("bias", offsets, [ROWS])):
            of_both = graph.node("Gather", table, pieces)
            label, rival = (graph.node("Gather", of_both, graph.constant(place), axis=1) for place in (0, 1))
            difference = graph.node("Sub", label, rival)
            shares = graph.node("Mul", Z, difference) if name == "contributions" else difference
            graph.output(shares, name, np.float64, shape)
    return graph.model("ldep", DOCUMENTATION, {"classes": json.dumps(model.classes_.tolist())})


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
