"""The steps of a program from the features on, as part of an ONNX graph, in double precision.

All pieces of all members are the rows of one matrix product. Maxima with the same number of pieces are taken together,
so that an ensemble of fifty members needs hardly more nodes than one. Products are Gemm and not MatMul, which
onnxruntime may fuse with a scaling that it does in single precision.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ldep.export._program import Program
from ldep.model import OPEN_VOTES

# RegexFullMatch came with version 20 of the operators; LabelEncoder knows doubles since version 4. onnxruntime 1.17 has
# both.
OPSET, ML_OPSET, IR_VERSION = 20, 4, 9
ML = "ai.onnx.ml"
CONTRIBUTED = "com.microsoft"  # operators of onnxruntime that are not part of ONNX
DOMAINS = {"LabelEncoder": ML, "Tokenizer": CONTRIBUTED}
ROWS = "rows"  # the symbolic size of the first axis


def require_onnx() -> ModuleType:
    """Import onnx, which is an optional dependency."""
    try:
        import_module("onnx.helper")
        return import_module("onnx")
    except ImportError:
        raise ImportError("Writing ONNX needs the package onnx: install ldep[onnx], or onnx itself.") from None


class Graph:
    """A graph under construction; every method that adds something returns its name."""

    def __init__(self, prefix: str = "") -> None:
        self.onnx = require_onnx()
        self.prefix = prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.declared: list[Any] = []
        self.outputs: list[Any] = []

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add an array. Texts are arrays of objects."""
        name = f"{self.prefix}constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def tensor(self, values: Any) -> Any:
        """Return an array as an attribute of a node."""
        return self.onnx.numpy_helper.from_array(np.asarray(values))

    def node(
        self, operator: str, *inputs: str, outputs: int = 1, names: list[str] | None = None, **attributes: Any
    ) -> Any:
        """Add a node; return the name of its output, or the list of their names."""
        number = len(self.nodes)
        if names is None:
            ends = [f"_{k}" if outputs > 1 else "" for k in range(outputs)]
            names = [f"{self.prefix}{operator.lower()}_{number}{end}" for end in ends]
        domain = DOMAINS.get(operator, "")
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def lookup(self, values: str, keys: Any, results: Any, default: Any) -> str:
        """Add a table from keys to results, elementwise; what is not among the keys gives the default."""
        default = np.asarray([default], dtype=np.asarray(results).dtype)
        tables = {"keys_tensor": keys, "values_tensor": results, "default_tensor": default}
        return self.node("LabelEncoder", values, **{name: self.tensor(table) for name, table in tables.items()})

    def input(self, name: str, dtype: Any, shape: list[Any]) -> str:
        self.inputs.append(self._value(name, dtype, shape))
        return name

    def declare(self, name: str, dtype: Any, shape: list[Any]) -> str:
        """Say what an operator that is not part of ONNX returns."""
        self.declared.append(self._value(name, dtype, shape))
        return name

    def output(self, source: str, name: str, dtype: Any, shape: list[Any]) -> None:
        self.node("Identity", source, names=[name])
        self.outputs.append(self._value(name, dtype, shape))

    def branch(self, source: str, dtype: Any, shape: list[Any]) -> Any:
        """Return this graph as a branch of an If node; it may use all names of the graph around it."""
        outputs = [self._value(source, dtype, shape)]
        return self.onnx.helper.make_graph(self.nodes, f"{self.prefix}branch", [], outputs, self.constants)

    def model(self, name: str, documentation: str, metadata: dict[str, str]) -> Any:
        """Return the checked ModelProto."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants, value_info=self.declared)
        operators = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        if any(node.domain == CONTRIBUTED for node in self.nodes):
            operators.append(helper.make_opsetid(CONTRIBUTED, 1))
        model = helper.make_model(
            graph, opset_imports=operators, ir_version=IR_VERSION, producer_name="ldep", doc_string=documentation
        )
        helper.set_model_props(model, metadata)
        self.onnx.checker.check_model(model, full_check=True)
        return model

    def _value(self, name: str, dtype: Any, shape: list[Any]) -> Any:
        element = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.onnx.helper.make_tensor_value_info(name, element, shape)


class ModelSteps:
    """The steps from the features on. There is one decision value with two classes, else one per class."""

    def __init__(self, graph: Graph, program: Program, X: str) -> None:
        self.graph, self.program, node, constant = graph, program, graph.node, graph.constant
        self.Z = node("Sub", X, constant(program.center)) if program.center.any() else X
        self._add_maxima()
        n_members, n_maxima = program.sizes.shape
        n_values = len(program.signs)
        scores = self.maxima
        if not np.array_equal(program.signs, np.eye(n_maxima)):
            by_member = node("Reshape", self.maxima, constant([-1, n_maxima]))
            scores = node("Gemm", by_member, constant(program.signs), transB=1)
        self.scores = node("Reshape", scores, constant([-1, n_members, n_values]))
        self.votes = self._votes()
        weighted = self.votes
        if n_members > 1 or program.weights[0] != 1:
            weighted = node("Mul", weighted, constant(program.weights[:, None]))
        mean = node("ReduceSum", weighted, constant([1]), keepdims=0)
        self.decision = mean
        if program.factors is not None:
            share = node("Mul", mean, constant(1.0 - OPEN_VOTES))
            self.opened = node("Add", share, constant(OPEN_VOTES / n_values))
            self.decision = node("Mul", self.opened, constant(program.factors))
        if program.thresholds.any():
            self.decision = node("Sub", self.decision, constant(program.thresholds))

    def _add_maxima(self) -> None:
        """Pieces and their maxima. Pieces are sorted by the size of their maximum, so that equal ones are adjacent."""
        node, constant, sizes = self.graph.node, self.graph.constant, self.program.sizes.ravel()
        starts = self.program.starts
        self.order = np.argsort(sizes, kind="stable")
        self.place = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in self.order])
        self.slopes = constant(self.program.slopes[self.place])
        self.pieces = node("Gemm", self.Z, self.slopes, constant(self.program.offsets[self.place]), transB=1)
        widths, counts = np.unique(sizes, return_counts=True)
        parts = [self.pieces]
        if len(widths) > 1:
            parts = node("Split", self.pieces, constant(widths * counts), outputs=len(widths), axis=1)
        self.groups = [
            node("Reshape", part, constant([-1, count, width])) for part, width, count in zip(parts, widths, counts)
        ]
        self.maxima = self._joined([node("ReduceMax", group, constant([2]), keepdims=0) for group in self.groups])
        if len(widths) > 1:
            self.maxima = node("Gather", self.maxima, constant(np.argsort(self.order)), axis=1)

    def _joined(self, parts: list[str]) -> str:
        return parts[0] if len(parts) == 1 else self.graph.node("Concat", *parts, axis=1)

    def _votes(self) -> str:
        """A table of shape (rows, members, values)."""
        graph, node, constant = self.graph, self.graph.node, self.graph.constant
        if self.program.vote is None:
            return self.scores
        if self.program.vote == "clip":
            return node("Clip", self.scores, constant(-1.0), constant(1.0))
        # As `ldep.model.sparsemax`: max(0, s - t), where t makes the votes of a member sum to 1.
        count = len(self.program.signs)
        shifted = node("Sub", self.scores, node("ReduceMax", self.scores, constant([2]), keepdims=1))
        descending = node("TopK", shifted, constant([count]), outputs=2, axis=2)[0]
        excess = node("Sub", node("CumSum", descending, constant(2)), constant(1.0))
        inside = node("Greater", node("Mul", descending, constant(np.arange(1.0, count + 1.0))), excess)
        size = node("ReduceSum", node("Cast", inside, to=graph.onnx.TensorProto.INT64), constant([2]), keepdims=1)
        total = node("GatherElements", excess, node("Sub", size, constant(1)), axis=2)
        limit = node("Div", total, node("Cast", size, to=graph.onnx.TensorProto.DOUBLE))
        return node("Max", node("Sub", shifted, limit), constant(0.0))

    def add_outputs(self, contributions: bool) -> None:
        graph, node, constant, classes = self.graph, self.graph.node, self.graph.constant, self.program.classes
        compared: list[str] = []
        decision, numbers = self.values, {"label": self.label()}
        shape = [ROWS] if len(classes) == 2 else [ROWS, len(classes)]
        if contributions and len(classes) == 2:
            compared = [constant(np.ones((1, 1)))]
        elif contributions:
            numbers["rival"] = self.ranked(1)
            unit = constant(np.eye(len(classes)))
            compared = [node("Gather", unit, number) for number in numbers.values()]
        labels = type_of_labels(classes)
        for name, number in numbers.items():
            graph.output(node("Gather", constant(labels), number), name, labels.dtype, [ROWS])
        graph.output(decision, "decision", np.float64, shape)
        if self.program.link is not None:
            graph.output(self.probabilities(), "probabilities", np.float64, [ROWS, len(classes)])
        if compared:
            self._add_contributions(*compared)

    @cached_property
    def values(self) -> str:
        """The decision values: one per row with two classes, else one column per class."""
        is_tau = len(self.program.classes) == 2
        return self.graph.node("Squeeze", self.decision, self.graph.constant([1])) if is_tau else self.decision

    def scores_of_classes(self) -> str:
        """One decision value per class; with two classes those of -tau and tau."""
        if len(self.program.classes) > 2:
            return self.decision
        return self.graph.node("Concat", self.graph.node("Neg", self.decision), self.decision, axis=1)

    def label(self) -> str:
        """The number of the class of each row."""
        node, constant = self.graph.node, self.graph.constant
        if len(self.program.classes) > 2:
            return self.ranked(0)
        positive = node("GreaterOrEqual", self.values, constant(0.0))
        return node("Cast", positive, to=self.graph.onnx.TensorProto.INT64)

    def ranked(self, place: int) -> str:
        """The number of the best class, or of the second best."""
        return self.graph.node("Gather", self._two_best, self.graph.constant(place), axis=1)

    @cached_property
    def _two_best(self) -> str:
        """Of equal decision values the first comes first, as in numpy."""
        return self.graph.node("TopK", self.decision, self.graph.constant([2]), outputs=2, axis=1)[1]

    def probabilities(self) -> str:
        """The probabilities, one column per class."""
        node, constant, link = self.graph.node, self.graph.constant, self.program.link
        assert link is not None
        value = node("Add", self.decision, constant(link.shift)) if any(link.shift) else self.decision
        scaled = node("Mul", self._argument(link.kind, value), constant(link.slope))
        scores = node("Add", scaled, constant(link.intercepts)) if any(link.intercepts) else scaled
        if len(link.intercepts) > 1:
            return node("Softmax", scores, axis=1)
        return node("Concat", node("Sigmoid", node("Neg", scores)), node("Sigmoid", scores), axis=1)

    def _argument(self, kind: str, value: str) -> str:
        """What the link of this kind is logistic in. onnxruntime has no inverse hyperbolic functions of doubles."""
        node, constant = self.graph.node, self.graph.constant
        if kind in ("identity", "softmax"):
            return value
        if kind == "log_shares":
            return node("Log", node("Div", value, constant(self.program.factors)))
        if kind == "log_odds":
            one, vote = constant(1.0), node("Mul", value, constant(1.0 - OPEN_VOTES))
            return node("Log", node("Div", node("Add", one, vote), node("Sub", one, vote)))
        if kind == "leads":
            two_best = node("TopK", value, constant([2]), outputs=2, axis=1)[0]
            best, second = (node("Gather", two_best, constant([place]), axis=1) for place in (0, 1))
            value = node("Sub", value, node("Where", node("Equal", value, best), second, best))
        size = node("Abs", value)
        root = node("Sqrt", node("Add", node("Mul", size, size), constant(1.0)))
        return node("Mul", node("Sign", value), node("Log", node("Add", size, root)))

    def _add_contributions(self, *compared: str) -> None:
        """Add the shares of the features in tau or, of the two classes that are compared, in the lead of the first.

        The classes are given as rows of the unit matrix. Each maximum counts by its signs and by the factor of its
        member, so that its active piece gets a coefficient. The shares are those of the sum of all active pieces with
        these coefficients.
        """
        node, constant, program = self.graph.node, self.graph.constant, self.program
        pair = compared[0] if len(compared) == 1 else node("Sub", *compared)
        signs = node("Unsqueeze", node("Gemm", pair, constant(program.signs)), constant([1]))
        coefficients = node("Mul", signs, self._member_factors(pair))
        active = self._joined([node("ArgMax", group, axis=2, keepdims=0) for group in self.groups])
        first = np.concatenate([[0], np.cumsum(program.sizes.ravel()[self.order])])[:-1]
        active = node("Add", active, constant(first))
        coefficients = node("Reshape", coefficients, constant([-1, program.sizes.size]))
        coefficients = node("Gather", coefficients, constant(self.order), axis=1)
        coefficients = node("Expand", coefficients, node("Shape", active))
        zeros = node("ConstantOfShape", node("Shape", self.pieces), value=self.graph.tensor([0.0]))
        table = node("ScatterElements", zeros, active, coefficients, axis=1)
        shares = node("Mul", self.Z, node("Gemm", table, self.slopes))
        if program.shifts.any():
            shifts = np.repeat(program.shifts, program.sizes.sum(axis=1), axis=0)
            shares = node("Add", shares, node("Gemm", table, constant((program.slopes * shifts)[self.place])))
        bias = node("Gemm", table, constant(program.own_offsets[self.place, None]))
        if program.factors is not None:
            shares, bias = self._with_factors(shares, bias, pair, node("Add", *compared))
        if program.thresholds.any():
            bias = node("Sub", bias, self._sum(pair, constant(program.thresholds)))
        width, columns = program.n_features, [feature.column for feature in program.features]
        if len(columns) > len(program.columns):
            width = len(program.columns)
            shares = node("Gemm", shares, constant(np.eye(width)[columns]))
        self.graph.output(shares, "contributions", np.float64, [ROWS, width])
        self.graph.output(node("Squeeze", bias, constant([1])), "bias", np.float64, [ROWS])

    def _member_factors(self, pair: str) -> str:
        """The weight of each member, made smaller as its vote makes the lead smaller: (rows or 1, members, 1)."""
        node, constant = self.graph.node, self.graph.constant
        weights = constant(self.program.weights[None, :, None])
        if self.program.vote is None:
            return weights
        wide, one = node("Unsqueeze", pair, constant([1])), constant(1.0)
        lead, won = (self._sum(table, wide, axis=2) for table in (self.scores, self.votes))
        level = node("Equal", lead, constant(0.0))
        ratio = node("Where", level, one, node("Div", won, node("Where", level, one, lead)))
        return node("Mul", node("Clip", ratio, constant(0.0), one), weights)

    def _with_factors(self, shares: str, bias: str, pair: str, both: str) -> tuple[str, str]:
        """Shares of the votes as shares of the decision values, with the advantage of a larger factor in the bias."""
        node, factors = self.graph.node, self.program.factors
        assert factors is not None
        slope = self._sum(both, self.graph.constant(0.5 * (1.0 - OPEN_VOTES) * factors))
        half_difference = self._sum(pair, self.graph.constant(0.5 * factors))
        advantage = node("Mul", half_difference, self._sum(both, self.opened))
        return node("Mul", shares, slope), node("Add", node("Mul", bias, slope), advantage)

    def _sum(self, first: str, second: str, axis: int = 1) -> str:
        product = self.graph.node("Mul", first, second)
        return self.graph.node("ReduceSum", product, self.graph.constant([axis]), keepdims=1)


def type_of_labels(classes: np.ndarray) -> np.ndarray:
    """The classes as a type that ONNX has."""
    kind = classes.dtype.kind
    if kind in "iu":
        return classes.astype(np.int64)
    return classes if kind in "bf" else np.array([str(label) for label in classes], dtype=object)
