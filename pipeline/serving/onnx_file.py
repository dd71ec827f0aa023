"""A served model as ONNX: from raw cells to class, probability and contributions, in double precision."""

from __future__ import annotations

import json
from typing import Any

from ldep.export.graph import Graph
from ldep.export.onnx_model import add_outputs
from pipeline.serving import onnx_features
from pipeline.serving.onnx_features import DATES, NUMBERS, TEXTS
from pipeline.serving.portable import Portable

FILE = "model.onnx"
DOCUMENTATION = """\
A classifier of raw rows, made by ldep. Inputs: `numbers`, the cells of the numeric columns as doubles, NaN where a cell
is missing, `texts`, the cells of the nominal columns as text, empty where a cell is missing, and `dates`, the seconds
since 2000-01-01 00:00 of the cells of date columns as doubles, NaN where a cell is missing. The metadata name the
columns of each in their order. Outputs: label; decision, not negative for the second class; probabilities of the two
classes; contributions of the columns (named in the metadata), which sum to the decision value with the bias."""


def to_onnx(portable: Portable, *, contributions: bool = True) -> Any:
    """Return the ONNX model. A kind of column that the model does not use is no input."""
    graph = Graph()
    X = onnx_features.add(graph, portable)
    X = graph.node("Div", graph.node("Sub", X, graph.constant(portable.mean)), graph.constant(portable.scale))
    add_outputs(graph, portable.model, X, contributions=contributions, groups=_groups(portable))
    metadata = {
        NUMBERS: [column.name for column in portable.of_kind("numeric")],
        TEXTS: [column.name for column in portable.of_kind("nominal")],
        DATES: [column.name for column in portable.of_kind("date")],
        "features": [column.name for column in portable.columns],
        "classes": portable.model.classes.tolist(),
    }
    texts_of = {name: json.dumps(value, ensure_ascii=False) for name, value in metadata.items()}
    return graph.model("ldep", DOCUMENTATION, texts_of)


def _groups(portable: Portable) -> list[int] | None:
    """The column of each feature; None if each column has one feature."""
    columns = [feature.column for feature in portable.features]
    return columns if len(columns) > len(portable.columns) else None
