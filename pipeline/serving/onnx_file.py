"""A served model as ONNX: from raw cells to class, probability and contributions, in double precision."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ldep.export.graph import Graph
from ldep.export.onnx_class_votes import add_class_outputs
from ldep.export.onnx_classes import ClassOutputs
from ldep.export.onnx_model import add_outputs
from pipeline.serving import onnx_features
from pipeline.serving.onnx_features import DATES, NUMBERS, TEXTS
from pipeline.serving.portable import Portable, PortableClasses, RawColumns, portable, portable_classes

if TYPE_CHECKING:
    from pipeline.serving.served_model import ServedModel

FILE = "model.onnx"
DOCUMENTATION = """\
A classifier of raw rows, made by ldep. Inputs: `numbers`, the cells of the numeric columns as doubles, NaN where a cell
is missing, `texts`, the cells of the nominal columns as text, empty where a cell is missing, and `dates`, the seconds
since 2000-01-01 00:00 of the cells of date columns as doubles, NaN where a cell is missing. The metadata name the
columns of each in their order. Outputs: label; decision, not negative for the second class; probabilities of the two
classes; contributions of the columns (named in the metadata), which sum to the decision value with the bias."""


CLASSES = """\
 With more than two classes: decision and probabilities have one column per class, and the contributions sum with the
bias to the lead of the label over the rival, the second best class."""


def to_onnx(model: Portable | PortableClasses, *, contributions: bool = True) -> Any:
    """Return the ONNX model. A kind of column that the model does not use is no input."""
    graph = Graph()
    X = onnx_features.add(graph, model)
    X = graph.node("Div", graph.node("Sub", X, graph.constant(model.mean)), graph.constant(model.scale))
    if isinstance(model, Portable):
        classes = model.model.classes
        add_outputs(graph, model.model, X, contributions=contributions, groups=_groups(model))
    else:
        classes = model.classes
        softmax = None if model.softmax is None else (model.softmax.slope, np.array(model.softmax.offsets))
        wanted = ClassOutputs(classes, contributions, _groups(model), softmax)
        add_class_outputs(graph, model.estimator, X, wanted)
    metadata = {
        NUMBERS: [column.name for column in model.of_kind("numeric")],
        TEXTS: [column.name for column in model.of_kind("nominal")],
        DATES: [column.name for column in model.of_kind("date")],
        "features": [column.name for column in model.columns],
        "classes": classes.tolist(),
    }
    texts_of = {name: json.dumps(value, ensure_ascii=False) for name, value in metadata.items()}
    return graph.model("ldep", DOCUMENTATION + CLASSES, texts_of)


def of_served(served: ServedModel) -> Portable | PortableClasses:
    """What ONNX needs of a served model; NotExportable says why there is no such form."""
    return portable(served) if len(served.classes) == 2 else portable_classes(served)


def _groups(model: RawColumns) -> list[int] | None:
    """The column of each feature; None if each column has one feature."""
    columns = [feature.column for feature in model.features]
    return columns if len(columns) > len(model.columns) else None
