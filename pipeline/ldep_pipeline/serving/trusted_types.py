"""The types that a model file may name: a reviewed list. Anything else in a file is refused before it is built.

skops builds what a file names and calls nothing else, so a type is safe here if making one, and setting its attributes,
runs no code that the file chooses. All of these hold numbers and settings alone. To serve another kind of classifier,
read what its constructor and `__setstate__` do, and add its types here.
"""

from __future__ import annotations

from collections.abc import Iterable

# Ours.
OWN = (
    "ldep.estimators.DEPClassifier",
    "ldep.estimators.DilationPerceptron",
    "ldep.estimators.ErosionPerceptron",
    "ldep.estimators.LDEPClassifier",
    "ldep.estimators.LDEPClassifierCV",
    "ldep.estimators.LinearLDEP",
    "ldep.estimators.MaxoutClassifier",
    "ldep.estimators.RDEPClassifier",
    "ldep.estimators.StreamingLDEPClassifier",
    "ldep.estimators.VoteEnsemble",
    "ldep.model.FittedModel",
    "ldep.model.Link",
    "ldep.model.Maxima",
    "ldep.model.Missing",
    "ldep.model.SetLimits",
    "ldep.table.TableEncoder",
)
# Parts of scikit-learn's and numpy's that skops does not trust of itself: records of numbers.
OTHERS = (
    "numpy.dtype",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)
# Trees of scikit-learn. Their arrays are read by compiled code that does not check the indices in them: a forged file
# could make it read foreign memory, though not run code. The signature is checked before a file is opened at all.
TREES = (
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)
TYPES = OWN + OTHERS + TREES


def foreign(found: Iterable[str]) -> list[str]:
    """Those of the types that skops asks about which are not on the list."""
    return sorted(set(found) - set(TYPES))
