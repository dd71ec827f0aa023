"""Proofs about trained models: promises for every row in stated ranges, differences of two models, and certificates.

A decision value is a signed sum of maxima of affine functions, or votes of such sums. Its largest value over ranges,
grids and lists of values is found by branch and bound, and the tree of the search, with the multipliers of its linear
programs, is a certificate. `verify.py` checks it in exact arithmetic with the standard library alone. It needs highspy
(`pip install ldep[prove]`).
"""

from ldep._utils import belong_to
from ldep.prove._cases import Subject, Verdict
from ldep.prove._certificate import write
from ldep.prove._difference import Difference, Disagreement, Extreme, Nearest, difference
from ldep.prove._promises import KINDS, check_promise, promise
from ldep.prove._search import Search
from ldep.prove._space import Column, Space

__all__ = [
    "KINDS",
    "Column",
    "Difference",
    "Disagreement",
    "Extreme",
    "Nearest",
    "Search",
    "Space",
    "Subject",
    "Verdict",
    "check_promise",
    "difference",
    "promise",
    "write",
]

belong_to(__name__, Column, Difference, Disagreement, Extreme, Nearest, Space, Subject, Verdict)
