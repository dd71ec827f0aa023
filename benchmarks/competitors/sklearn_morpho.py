"""The ℓ-DEP of the package sklearn-morpho, with its defaults: a difference-of-convex algorithm on CVXPY."""


def make():
    from sklearn_morpho import LDEP

    return LDEP()
