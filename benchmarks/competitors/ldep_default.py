"""The ℓ-DEP as it comes."""

from ldep import LDEPClassifier


def make():
    return LDEPClassifier(random_state=0)
