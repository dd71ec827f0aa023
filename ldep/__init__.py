"""The linear dilation-erosion perceptron (ℓ-DEP) and its relatives, as scikit-learn estimators.

The estimators are here. Beyond them the packages are the API:

- `ldep.explain`: the answers that fitted estimators give, and what their methods are made of;
- `ldep.plotting`: pictures of these answers, for those who have axes; the answers also draw themselves;
- `ldep.export`: fitted models in other languages;
- `ldep.model`: what a fitted model is, for those who read its numbers;
- `ldep.solvers` and `ldep.training`: what an author of a solver needs; `ldep.search`: how settings are found.

Files whose names begin with an underscore are private, and may move. Stored models name packages, never files.
"""

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
