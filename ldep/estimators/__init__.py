"""The scikit-learn estimators."""

from ldep._utils import belong_to
from ldep.estimators._base import FittedModelClassifier, TauClassifier
from ldep.estimators._dep import DEPClassifier, DilationPerceptron, ErosionPerceptron
from ldep.estimators._given import LinearLDEP, VoteEnsemble, member_votes, vote_slope
from ldep.estimators._ldep import LDEPClassifier
from ldep.estimators._ldep_cv import LDEPClassifierCV
from ldep.estimators._maxout import MaxoutClassifier
from ldep.estimators._rdep import RDEPClassifier
from ldep.estimators._streaming import StreamingLDEPClassifier

__all__ = [
    "DEPClassifier",
    "DilationPerceptron",
    "ErosionPerceptron",
    "FittedModelClassifier",
    "LDEPClassifier",
    "LDEPClassifierCV",
    "LinearLDEP",
    "MaxoutClassifier",
    "RDEPClassifier",
    "StreamingLDEPClassifier",
    "TauClassifier",
    "VoteEnsemble",
    "member_votes",
    "vote_slope",
]

belong_to(
    __name__,
    DEPClassifier,
    DilationPerceptron,
    ErosionPerceptron,
    LDEPClassifier,
    LDEPClassifierCV,
    LinearLDEP,
    MaxoutClassifier,
    RDEPClassifier,
    StreamingLDEPClassifier,
    VoteEnsemble,
)
