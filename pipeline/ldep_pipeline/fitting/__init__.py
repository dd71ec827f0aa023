"""Everything that decides a number: models, metrics, seeds, fits, trials and studies.

This room imports no other room. Its content is part of the key of every stored fit.
"""
