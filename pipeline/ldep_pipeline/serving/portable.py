"""A served model as a program of primitive steps, with its own names of the classes and its calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldep.export import Program, ProgramLink, fitted_model
from ldep_pipeline.serving.served_model import ServedModel, is_calibrated


def program(served: ServedModel) -> Program:
    """Return the program of a served model; NotExportable names what has no steps."""
    fitted_model(served.model)  # refuses a model that is no ℓ-DEP
    steps = replace(served.table.program(), classes=np.array(served.classes, object))
    return steps if is_calibrated(served.model) else replace(steps, link=_link(served))


def _link(served: ServedModel) -> ProgramLink | None:
    """The probabilities of a model that has none of its own."""
    if served.link is None:
        return None
    slope, offsets = served.link
    return ProgramLink("identity", slope, list(offsets), [0.0] * len(offsets))
