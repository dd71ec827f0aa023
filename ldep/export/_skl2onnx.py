"""Converters with which skl2onnx exports a scikit-learn pipeline that ends in an ℓ-DEP.

They print the same steps as `to_onnx`, in double precision whatever the type of the input is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ldep.export._onnx import ExportMixin
from ldep.export._onnx_model import OPSET, Graph, ModelSteps, type_of_labels
from ldep.export._program import NotExportable, fitted_model, program_of

# As those of scikit-learn's classifiers. `nocl` numbers the classes instead of naming them.
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "output_class_labels": [False, True],
    "nocl": [False, True],
    "raw_scores": [False, True],
}


def register_skl2onnx() -> None:
    """Make the ℓ-DEPs known to skl2onnx, which then converts scikit-learn pipelines that contain one.

    The model has the outputs of scikit-learn's classifiers: label and probabilities. With the option
    `raw_scores` the probabilities are decision values; a model without probabilities needs it.

    Examples
    --------
    >>> from ldep.export import register_skl2onnx
    >>> register_skl2onnx()  # doctest: +SKIP
    >>> skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False})  # doctest: +SKIP
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise ImportError("Converting pipelines needs the package skl2onnx: install ldep[onnx], or skl2onnx.") from None
    for estimator in _concrete(ExportMixin):
        update_registered_converter(estimator, f"Ldep{estimator.__name__}", _set_types, _convert, options=OPTIONS)


def _concrete(base: Any) -> Iterator[type]:
    """The subclasses of a class, and theirs."""
    for one in base.__subclasses__():
        yield one
        yield from _concrete(one)


def _set_types(operator: Any) -> None:
    """The types of the outputs: a label per row, and one number per row and class."""
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_tensor_type

    (features,), model = operator.inputs, operator.raw_operator
    rows = features.get_first_dimension()
    numbered = operator.scope_inst.get_options(model, {"nocl": False})["nocl"]
    label = StringTensorType if _labels(model, numbered).dtype == object else Int64TensorType
    operator.outputs[0].type = label([rows])
    operator.outputs[1].type = guess_tensor_type(features.type)
    operator.outputs[1].type.shape = [rows, len(model.classes_)]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the steps of the model to the graph of a pipeline."""
    model, ((features,), (label, second)) = operator.raw_operator, (operator.inputs, operator.outputs)
    options = container.get_options(model, {"raw_scores": False, "nocl": False})
    program = program_of(fitted_model(model), model.classes_)
    if program.link is None and not options["raw_scores"]:
        raise NotExportable(
            f"This {type(model).__name__} has no probabilities. Convert it with its decision values, by "
            'options={id(model): {"raw_scores": True}}, or fit it with the logistic loss.'
        )
    graph = Graph(f"{scope.get_unique_operator_name('ldep')}_")
    doubles = graph.node("Cast", features.full_name, to=graph.onnx.TensorProto.DOUBLE)
    steps = ModelSteps(graph, program, doubles)
    graph.node("Gather", graph.constant(_labels(model, options["nocl"])), steps.label(), names=[label.full_name])
    values = steps.scores_of_classes() if options["raw_scores"] else steps.probabilities()
    graph.node("Cast", values, to=second.type._get_element_onnx_type(), names=[second.full_name])
    container.initializers.extend(graph.constants)
    for node in graph.nodes:
        settings = {one.name: graph.onnx.helper.get_attribute_value(one) for one in node.attribute}
        container.add_node(node.op_type, list(node.input), list(node.output), node.domain, OPSET, **settings)


def _labels(model: Any, numbered: bool) -> np.ndarray:
    """The classes as skl2onnx has them, whole numbers or text; or their numbers."""
    if numbered:
        return np.arange(len(model.classes_))
    labels = type_of_labels(model.classes_)
    if labels.dtype.kind == "f":
        raise NotExportable(
            f"skl2onnx has no classes such as {labels[0]}. Name the classes of y by whole numbers or by text."
        )
    return labels if labels.dtype == object else labels.astype(np.int64)
