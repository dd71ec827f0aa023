"""The ℓ-DEP with its default settings."""

from ldep import LDEPClassifier


def make():
    return LDEPClassifier(random_state=0)
