"""The ℓ-DEP of the package sklearn-morpho, with its defaults: a difference-of-convex algorithm on CVXPY.

CVXPY's default solver is named, because beside an unlicensed MOSEK it would pick that, and stop.
"""

import numpy as np


def make():
    from sklearn_morpho import LDEP

    return LDEP(solver="CLARABEL", random_state=np.random.RandomState(0))
