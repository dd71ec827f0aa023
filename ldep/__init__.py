"""The linear dilation-erosion perceptron (ℓ-DEP) and its relatives, as scikit-learn estimators.

The estimators are here. Beyond them the packages are the API:

- `ldep.explain`: the answers that fitted estimators give, and what their methods are made of;
- `ldep.plotting`: pictures of these answers, for those who have axes; the answers also draw themselves;
- `ldep.export`: fitted models in other languages;
- `ldep.model`: what a fitted model is, for those who read its numbers;
- `ldep.table`: raw tables with dates, categories, texts and missing values as numbers; `ldep.answers`: the answers of a
  model behind it, in the columns and units of the table;
- `ldep.solvers` and `ldep.training`: what an author of a solver needs; `ldep.search`: how settings are found.

Files whose names begin with an underscore are private, and may move. Stored models name packages, never files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldep.estimators import (
        DEPClassifier,
        DilationPerceptron,
        ErosionPerceptron,
        LDEPClassifier,
        LDEPClassifierCV,
        MaxoutClassifier,
        RDEPClassifier,
        StreamingLDEPClassifier,
    )

__version__ = "0.1.0"

__all__ = [
    "DEPClassifier",
    "DilationPerceptron",
    "ErosionPerceptron",
    "LDEPClassifier",
    "LDEPClassifierCV",
    "MaxoutClassifier",
    "RDEPClassifier",
    "StreamingLDEPClassifier",
]

PACKAGES = (
    "answers",
    "estimators",
    "explain",
    "export",
    "model",
    "plotting",
    "prove",
    "search",
    "solvers",
    "table",
    "training",
)


def __getattr__(name: str) -> Any:
    """Import the estimators when they are asked for: who only reads a table need not wait for scikit-learn."""
    if name in __all__:
        return getattr(import_module("ldep.estimators"), name)
    if name in PACKAGES:
        return import_module(f"ldep.{name}")
    raise AttributeError(f"module 'ldep' has no attribute {name!r}")
