"""The ℓ-DEP of the package sklearn-morpho, with its defaults: a difference-of-convex algorithm on CVXPY.

The solver is CVXPY's default, but it is named: CVXPY would prefer an installed, unlicensed MOSEK, and fail.
"""

import numpy as np


def make():
    from sklearn_morpho import LDEP

    return LDEP(solver="CLARABEL", random_state=np.random.RandomState(0))
