"""A writer of ONNX graphs: nodes and constants with names of their own."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

# RegexFullMatch came with version 20 of the operators; LabelEncoder knows doubles since version 4. onnxruntime 1.17 has
# both.
OPSET, ML_OPSET, IR_VERSION = 20, 4, 9
ML = "ai.onnx.ml"
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
        self.outputs: list[Any] = []

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add an array. Texts are arrays of objects."""
        name = f"{self.prefix}constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its output, or the list of their names."""
        number = len(self.nodes)
        names = [f"{self.prefix}{operator.lower()}_{number}" + (f"_{k}" if outputs > 1 else "") for k in range(outputs)]
        domain = ML if operator == "LabelEncoder" else ""
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def lookup(self, values: str, keys: Any, results: Any, default: Any) -> str:
        """Add a table from keys to results, elementwise; what is not among the keys gives the default."""
        tensor = self.onnx.numpy_helper.from_array
        return self.node(
            "LabelEncoder",
            values,
            keys_tensor=tensor(np.asarray(keys)),
            values_tensor=tensor(np.asarray(results)),
            default_tensor=tensor(np.asarray([default], dtype=np.asarray(results).dtype)),
        )

    def input(self, name: str, dtype: Any, shape: list[Any]) -> str:
        self.inputs.append(self._value(name, dtype, shape))
        return name

    def output(self, source: str, name: str, dtype: Any, shape: list[Any]) -> None:
        self.nodes.append(self.onnx.helper.make_node("Identity", [source], [name]))
        self.outputs.append(self._value(name, dtype, shape))

    def branch(self, source: str, dtype: Any, shape: list[Any]) -> Any:
        """Return this graph as a branch of an If node; it may use all names of the graph around it."""
        outputs = [self._value(source, dtype, shape)]
        return self.onnx.helper.make_graph(self.nodes, f"{self.prefix}branch", [], outputs, self.constants)

    def model(self, name: str, documentation: str, metadata: dict[str, str]) -> Any:
        """Return the checked ModelProto."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        operators = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=operators, ir_version=IR_VERSION, producer_name="ldep", doc_string=documentation
        )
        helper.set_model_props(model, metadata)
        self.onnx.checker.check_model(model, full_check=True)
        return model

    def _value(self, name: str, dtype: Any, shape: list[Any]) -> Any:
        element = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.onnx.helper.make_tensor_value_info(name, element, shape)
