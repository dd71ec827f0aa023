"""The training problem, and the steps before a solver runs.

`_samples` checks and merges the rows, `_coordinates` chooses coordinates in which the problem is easy, `_problem`
states it, `_pieces` has the scores as functions of its parameters, and `_starts` says where solvers start. Two classes
are -1 and +1 here, and the pieces of the second one come first.
"""

from ldep.training._coordinates import (
    ALPHA_PER_VARIANCE,
    RANK_TOL,
    ROTATE_UP_TO,
    Coordinates,
    alpha_by_variance,
    choose_coordinates,
    condition,
    scaled_alpha,
)
from ldep.training._pieces import (
    AffinePieces,
    LinearPieces,
    MorphologicalPieces,
    Pieces,
    groups,
    is_affine_in_theta,
    within_bounds,
)
from ldep.training._problem import (
    LOSSES,
    FiniteSumProblem,
    Loss,
    P,
    Problem,
    by_class,
    group_sizes_of,
    has_affine_pieces,
    in_group,
    losses,
    margins,
    n_classes_of,
    own_group,
    signs_of,
)
from ldep.training._samples import (
    MissingValues,
    Samples,
    check_all_present,
    check_monotone,
    check_weights,
    encode_classes,
    encoded,
    merge,
    own_class,
    two_classes,
)
from ldep.training._starts import (
    LINEAR_STARTS,
    MORPHOLOGICAL_STARTS,
    RANDOM_FEATURES,
    linear_starts,
    morphological_starts,
    quick_kmeans,
    random_weights,
    start_at,
)
