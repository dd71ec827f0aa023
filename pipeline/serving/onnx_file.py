"""A served model as ONNX: from raw cells to class, probability and contributions, in double precision."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ldep.export.graph import ROWS, Graph
from ldep.export.onnx_model import add_outputs
from pipeline.serving import onnx_cells
from pipeline.serving.portable import Portable

FILE = "model.onnx"
NUMBERS, TEXTS = "numbers", "texts"
DOCUMENTATION = """\
A classifier of raw rows, made by ldep. Inputs: `numbers`, the cells of the numeric columns as doubles, NaN where a cell
is missing, and `texts`, the cells of the nominal columns as text, empty where a cell is missing. The metadata name the
columns of both in their order. Outputs: label; decision, not negative for the second class; probabilities of the two
classes; contributions of the features (named in the metadata), which sum to the decision value with the bias."""


def to_onnx(portable: Portable, *, contributions: bool = True) -> Any:
    """Return the ONNX model. A kind of column that the model does not use is no input."""
    graph = Graph()
    numeric, nominal = portable.numeric, portable.nominal
    parts = []
    if numeric:
        parts.append(graph.input(NUMBERS, np.float64, [ROWS, len(numeric)]))
    if nominal:
        texts = graph.input(TEXTS, np.dtype(object), [ROWS, len(nominal)])
        parts.append(onnx_cells.add_codes(graph, texts, [column.categories or [] for column in nominal]))
    X = parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)
    names = [column.name for column in (*numeric, *nominal)]
    order = [names.index(column.name) for column in portable.columns]
    if order != sorted(order):
        X = graph.node("Gather", X, graph.constant(order), axis=1)
    X = graph.node("Where", graph.node("IsNaN", X), graph.constant(portable.fill), X)
    X = graph.node("Div", graph.node("Sub", X, graph.constant(portable.mean)), graph.constant(portable.scale))
    add_outputs(graph, portable.model, X, contributions=contributions)
    metadata = {
        NUMBERS: [column.name for column in numeric],
        TEXTS: [column.name for column in nominal],
        "features": [column.name for column in portable.columns],
        "classes": portable.model.classes.tolist(),
    }
    texts_of = {name: json.dumps(value, ensure_ascii=False) for name, value in metadata.items()}
    return graph.model("ldep", DOCUMENTATION, texts_of)
