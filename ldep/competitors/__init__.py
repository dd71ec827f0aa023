"""Models that the ℓ-DEP is compared with and that scikit-learn does not have."""
