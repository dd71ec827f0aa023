"""The linear dilation-erosion perceptron (ℓ-DEP) and its relatives, as scikit-learn estimators."""

from ldep.estimators.committee import LDEPCommittee
from ldep.estimators.ldep import LDEPClassifier

__all__ = ["LDEPClassifier", "LDEPCommittee"]
