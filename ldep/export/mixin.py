"""The methods with which an estimator exports itself."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted


class ExportMixin:
    """Adds `to_onnx` to an ℓ-DEP."""

    classes_: Any

    def to_onnx(self, *, contributions=True):
        """Write the model as ONNX, in double precision.

        The ONNX model has the input X, a table of doubles without missing values, and the outputs label, decision,
        probabilities (if the model has `predict_proba`), contributions and bias (those of `explain`). With more
        than two classes, decision has one column per class, and rival is the class that the contributions compare the
        label with. Any onnxruntime since 1.17 runs it.

        Parameters
        ----------
        contributions : bool, default=True
            Whether contributions and bias are among the outputs. Without them the model is faster.

        Returns
        -------
        model : onnx.ModelProto
            The ONNX model; `model.SerializeToString()` is the content of a file.
        """
        from ldep.export.onnx_class_votes import classes_to_onnx
        from ldep.export.onnx_model import to_onnx
        from ldep.export.piecewise import piecewise

        check_is_fitted(self)
        if len(self.classes_) > 2:
            return classes_to_onnx(self, contributions=contributions)
        return to_onnx(piecewise(self), contributions=contributions)
