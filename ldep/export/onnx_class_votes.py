"""Models of more than two classes that vote, as ONNX: the sparsemax of the scores of each member, and its mean."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ldep.exact.models import ClassVotes
from ldep.exact.stacked import Stacked
from ldep.export.graph import ROWS, Graph
from ldep.export.onnx_classes import ClassOutputs, add_classes
from ldep.probability import OPEN_VOTES

DOCUMENTATION = """\
Linear dilation-erosion perceptrons. Outputs, one entry per row: label; decision, the decision value of each class;
probabilities of the classes; and, for the difference between the decision value of the label and that of the rival, the
second best class, contributions of the features and the bias, which sum to it."""


def classes_to_onnx(model: Any, *, contributions: bool) -> Any:
    """Return an ONNX model with the input X, for a fitted ℓ-DEP of more than two classes."""
    graph = Graph()
    X = graph.input("X", np.float64, [ROWS, model.n_features_in_])
    add_class_outputs(graph, model, X, ClassOutputs(model.classes_, contributions))
    return graph.model("ldep", DOCUMENTATION, {"classes": json.dumps(model.classes_.tolist())})


def add_class_outputs(graph: Graph, model: Any, X: str, wanted: ClassOutputs) -> None:
    """Add the outputs of a single model, of several that vote, or of the one that a search has chosen."""
    if hasattr(model, "coefs_"):
        add_classes(graph, model, X, wanted)
    elif model._clipped:
        _add_votes(graph, model, X, wanted)
    else:
        add_classes(graph, model.estimators_[0], X, wanted, slope=model.link_[0])


def _add_votes(graph: Graph, model: Any, X: str, wanted: ClassOutputs) -> None:
    votes = _Votes(graph, model, X)
    decision = graph.node("Add", graph.node("Mul", votes.mean(), votes.constant(votes.exact.factors)), votes.constants)
    # Of equal decision values the first comes first, as in numpy.
    best = graph.node("TopK", decision, graph.constant([2]), outputs=2, axis=1)[1]
    wanted.add_labels(graph, best)
    graph.output(decision, "decision", np.float64, [ROWS, votes.n_classes])
    opened = graph.node("Div", decision, votes.constant(model.class_factors_))
    slope, intercepts = model.link_
    link = graph.node("Mul", graph.node("Log", opened), votes.constant(slope))
    own = graph.node("Softmax", graph.node("Add", link, votes.constant(intercepts)), axis=1)
    wanted.add_probabilities(graph, decision, own)
    if wanted.contributions:
        wanted.add_shares(graph, *votes.comparison(best, opened), model.n_features_in_)


class _Votes:
    """The scores and the votes of all members: tables of shape (rows, members, classes)."""

    def __init__(self, graph: Graph, model: Any, X: str) -> None:
        exact: ClassVotes = model._exact_model()
        stacked = Stacked.of(exact)
        self.graph, self.model, self.exact = graph, model, exact
        self.n_classes, self.n_members = len(exact.factors), len(exact.members)
        self.constants = self.constant(exact.constants)
        # Pieces in the order of members, classes, pieces. Where a class has fewer pieces, its first one is repeated.
        longest = max(offsets.shape[1] for offsets in stacked.offsets)
        slopes, offsets = [], []
        for w, c in zip(stacked.slopes, stacked.offsets):
            place = np.where(np.isfinite(c), np.arange(c.shape[1]), 0)
            place = np.pad(place, ((0, 0), (0, longest - c.shape[1])))
            slopes.append(np.take_along_axis(w, place[:, :, None], axis=1))
            offsets.append(np.take_along_axis(c, place, axis=1))
        self.slopes = np.stack(slopes, axis=1).reshape(-1, model.n_features_in_)
        self.offsets = np.stack(offsets, axis=1).ravel()
        self.Z = graph.node("Sub", X, graph.constant(stacked.center)) if stacked.center.any() else X
        self.center, self.longest = stacked.center, longest
        scores = graph.node("Gemm", self.Z, graph.constant(self.slopes), graph.constant(self.offsets), transB=1)
        shape = graph.constant([-1, self.n_members, self.n_classes, longest])
        self.pieces = graph.node("Reshape", scores, shape)
        self.scores = graph.node("ReduceMax", self.pieces, graph.constant([3]), keepdims=0)
        self.votes = self._sparsemax()

    def constant(self, values: Any) -> str:
        return self.graph.constant(np.asarray(values, dtype=np.float64))

    def _sparsemax(self) -> str:
        """As `ldep.search.votes.sparsemax`: max(0, s - t), where t makes the votes of a member sum to 1."""
        graph, node, count = self.graph, self.graph.node, self.n_classes
        shifted = node("Sub", self.scores, node("ReduceMax", self.scores, graph.constant([2]), keepdims=1))
        descending = node("TopK", shifted, graph.constant([count]), outputs=2, axis=2)[0]
        excess = node("Sub", node("CumSum", descending, graph.constant(2)), self.constant(1.0))
        inside = node("Greater", node("Mul", descending, self.constant(np.arange(1, count + 1))), excess)
        size = node("ReduceSum", node("Cast", inside, to=graph.onnx.TensorProto.INT64), graph.constant([2]), keepdims=1)
        total = node("GatherElements", excess, node("Sub", size, graph.constant(1)), axis=2)
        limit = node("Div", total, node("Cast", size, to=graph.onnx.TensorProto.DOUBLE))
        return node("Max", node("Sub", shifted, limit), self.constant(0.0))

    def mean(self) -> str:
        """The weighted mean of the votes, one column per class."""
        weights = self.constant(self.exact.weights[:, None])
        return self.graph.node(
            "ReduceSum", self.graph.node("Mul", self.votes, weights), self.graph.constant([1]), keepdims=0
        )

    def comparison(self, best: str, opened: str) -> tuple[str, str]:
        """Contributions and bias of `explain`, for the classes whose indices are the columns of `best`."""
        graph, node = self.graph, self.graph.node
        active = node("ArgMax", self.pieces, axis=3, keepdims=0)
        first = np.arange(self.n_members * self.n_classes).reshape(1, self.n_members, self.n_classes) * self.longest
        active = node("Add", active, graph.constant(first))
        size = node("Shape", active)
        members = node("Slice", size, graph.constant([0]), graph.constant([2]), graph.constant([0]))
        wide = node("Concat", members, graph.constant([2]), axis=0)
        pair = node("Expand", node("Unsqueeze", best, graph.constant([1])), wide)

        def of_pair(table: str) -> list[str]:
            both = node("GatherElements", table, pair, axis=2)
            return [node("Gather", both, graph.constant(place), axis=2) for place in (0, 1)]

        def difference(parts: list[str]) -> str:
            return node("Sub", *parts)

        lead, won = difference(of_pair(self.scores)), difference(of_pair(self.votes))
        zero, one = self.constant(0.0), self.constant(1.0)
        equal = node("Equal", lead, zero)
        ratio = node("Where", equal, zero, node("Div", won, node("Where", equal, one, lead)))
        ratio = node("Min", node("Max", ratio, zero), one)
        factor = node("Mul", ratio, self.constant(self.exact.weights))
        label, rival = of_pair(active)
        # A piece measures its features from the centre of its own member.
        shifts = np.array([self.center - member.center for member in self.exact.members])
        per_member = self.n_classes * self.longest
        at_own = self.offsets - np.einsum("pf,pf->p", self.slopes, np.repeat(shifts, per_member, axis=0))
        slopes, offsets = graph.constant(self.slopes), graph.constant(at_own)
        steep = difference([node("Gather", slopes, piece) for piece in (label, rival)])
        gap = difference([node("Gather", offsets, piece) for piece in (label, rival)])
        place = node("Unsqueeze", self.Z, graph.constant([1]))
        if shifts.any():
            place = node("Add", place, graph.constant(shifts[None]))
        weighted = node("Mul", node("Mul", steep, place), node("Unsqueeze", factor, graph.constant([2])))
        shares = node("ReduceSum", weighted, graph.constant([1]), keepdims=0)
        bias = node("ReduceSum", node("Mul", gap, factor), graph.constant([1]), keepdims=0)
        return self._scaled(best, opened, shares, bias)

    def _scaled(self, best: str, opened: str, shares: str, bias: str) -> tuple[str, str]:
        """Shares of the votes as shares of the decision values, with the advantage of a larger factor in the bias."""
        graph, node = self.graph, self.graph.node
        # No MatMul: onnxruntime would fuse it with a scaling, which it does in single precision.
        factors = node("Gather", self.constant(0.5 * self.model.class_factors_), best)
        half_sum = node("ReduceSum", factors, graph.constant([1]), keepdims=1)
        of_label, of_rival = (node("Gather", factors, graph.constant([place]), axis=1) for place in (0, 1))
        half_difference = node("Sub", of_label, of_rival)
        slope = node("Mul", half_sum, self.constant(1.0 - OPEN_VOTES))
        both = node("ReduceSum", node("GatherElements", opened, best, axis=1), graph.constant([1]), keepdims=1)
        advantage = node("Squeeze", node("Mul", half_difference, both), graph.constant([1]))
        scaled = node("Mul", bias, node("Squeeze", slope, graph.constant([1])))
        return node("Mul", shares, slope), node("Add", scaled, advantage)
