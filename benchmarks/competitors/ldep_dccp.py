"""The ℓ-DEP trained as in the paper: the exact program in CVXPY + DCCP, from one random start."""

from ldep import LDEPClassifier


def make():
    return LDEPClassifier(loss="hinge", alpha=0, solver="dccp", init="random", n_init=1, random_state=0)
