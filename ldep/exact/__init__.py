"""Exact answers about trained models: what would change a decision, how far it is from changing, and why it is so.

tau is piecewise affine with few pieces. Its regions are polyhedra, so that questions which other classifiers answer by
sampling are small convex programs here.
"""
