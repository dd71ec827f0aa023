"""The linear dilation-erosion perceptron (ℓ-DEP) and its relatives, as scikit-learn estimators."""

from ldep.competitors.maxout import MaxoutClassifier
from ldep.estimators.dep import DEPClassifier, DilationPerceptron, ErosionPerceptron
from ldep.estimators.ldep import LDEPClassifier
from ldep.estimators.ldep_cv import LDEPClassifierCV
from ldep.estimators.rdep import RDEPClassifier
from ldep.estimators.streaming import StreamingLDEPClassifier

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
