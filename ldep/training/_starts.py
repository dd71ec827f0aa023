"""Where training starts.

A start is a function (problem, rng) -> theta, in the coordinates of the problem. `LINEAR_STARTS` are those of the
ℓ-DEP, `MORPHOLOGICAL_STARTS` those of the dilation-erosion perceptron and its two halves; `linear_starts` and
`morphological_starts` list the starts of one fit. No start wins everywhere. `init="auto"` therefore uses several kinds,
and the lowest objective is kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from ldep._utils import CentredRows
from ldep.training._coordinates import Coordinates
from ldep.training._pieces import AffinePieces, LinearPieces, MorphologicalPieces, is_affine_in_theta
from ldep.training._problem import Problem, in_group

# k-means sees at most this many samples of a class: its centres are a start, not a result.
KMEANS_SAMPLES = 5000
# Steps of the quick k-means.
LLOYD_STEPS = 4
# The shares of a class that the candidate boxes hold in each feature.
BOX_SHARES = (1.0, 0.9, 0.5)
# The standard deviation of random weights and offsets: small, so that the pieces start close to each other, but far
# enough apart to be active on different samples.
RANDOM_SCALE = 0.3

CentresOf = Callable[[np.ndarray | CentredRows, int, np.random.Generator], np.ndarray]


def random_weights(problem: Problem[AffinePieces], rng: np.random.Generator) -> np.ndarray:
    """Draw small normal slopes and offsets."""
    return rng.normal(0.0, RANDOM_SCALE, problem.pieces.n_parameters)


def kmeans(problem: Problem[AffinePieces], rng: np.random.Generator) -> np.ndarray:
    """Give each cluster of a class one piece of that class."""
    return _from_centres(problem, rng, _cluster_centres)


def quick_kmeans(problem: Problem[AffinePieces], rng: np.random.Generator) -> np.ndarray:
    """Do as `kmeans`, with rougher clusters in a tenth of the time."""
    return _from_centres(problem, rng, _rough_centres)


def _from_centres(problem: Problem[AffinePieces], rng: np.random.Generator, centres_of: CentresOf) -> np.ndarray:
    """Give each centre of a class one piece of that class.

    2 mu . x - |mu|^2 is largest for the centre mu nearest to x. The margin is then the squared distance to the nearest
    centre of another class minus that to the nearest centre of its own. A line search scales it.
    """
    pieces = problem.pieces
    if pieces.n_features == 0:  # no feature varies: there is nothing to cluster
        return random_weights(problem, rng)
    tables = []
    for group, n_pieces in enumerate(pieces.group_sizes):
        centres = centres_of(_class_points(problem, group, rng), n_pieces, rng)
        tables.append(np.column_stack([2.0 * centres, -np.square(centres).sum(axis=1)]))
    table = np.vstack(tables)
    table -= table.mean(axis=0)
    theta = table.ravel()
    candidates = [scale * theta for scale in 2.0 ** np.arange(-8, 5)]
    return min(candidates, key=problem.objective)


def _class_points(problem: Problem, group: int, rng: np.random.Generator) -> np.ndarray | CentredRows:
    """Samples on which a group should be large, at most as many as are needed for a start."""
    rows = np.flatnonzero(in_group(problem.pieces, problem.y, group) & (problem.weight > 0))
    if len(rows) > KMEANS_SAMPLES:
        rows = rng.choice(rows, KMEANS_SAMPLES, replace=False)
    return problem.X[rows]


def _cluster_centres(points: np.ndarray | CentredRows, count: int, rng: np.random.Generator) -> np.ndarray:
    """Centres of `count` clusters; some are repeated when there are fewer distinct points."""
    distinct = count
    if len(points) <= 10 * count:
        distinct = len(np.unique(_dense(points), axis=0))
    clusters = min(count, distinct)
    model = KMeans(clusters, n_init=1, max_iter=20, random_state=int(rng.integers(2**31)))
    if isinstance(points, CentredRows):
        S = points.matrix
        indices, indptr = S.indices.astype(np.int32), S.indptr.astype(np.int32)  # scikit-learn takes no others
        S = sparse.csr_array((S.data, indices, indptr), shape=S.shape)
        centres = model.fit(S).cluster_centers_ - points.shift
    else:
        centres = model.fit(points).cluster_centers_
    return centres[np.arange(count) % clusters]


def _rough_centres(points: np.ndarray | CentredRows, count: int, rng: np.random.Generator) -> np.ndarray:
    """Centres of `count` clusters after a few steps of Lloyd's algorithm from random points."""
    if len(points) <= count:
        return _dense(points[np.arange(count) % len(points)])
    points = points.astype(np.float32)
    columns = np.arange(len(points))
    centres = _dense(points[rng.choice(len(points), count, replace=False)])
    for _ in range(LLOYD_STEPS):
        distances = np.square(centres).sum(axis=1)[:, None] - 2.0 * (centres @ points.T)
        members = np.zeros(distances.shape, dtype=np.float32)
        members[distances.argmin(axis=0), columns] = 1.0
        sizes = members.sum(axis=1)
        used = sizes > 0
        centres[used] = (members @ points)[used] / sizes[used, None]
    return centres.astype(np.float64)


def _dense(points: np.ndarray | CentredRows) -> np.ndarray:
    """A few points as an array."""
    return points.toarray() if isinstance(points, CentredRows) else points


def random_offsets(problem: Problem[MorphologicalPieces], rng: np.random.Generator) -> np.ndarray:
    """Draw small normal offsets, so that each feature is active on some of the samples."""
    pieces = problem.pieces
    return pieces.theta(0.5, *rng.normal(0.0, RANDOM_SCALE, (2, pieces.n_features)))


def bounding_boxes(problem: Problem[MorphologicalPieces], rng: np.random.Generator) -> np.ndarray:
    """Draw a box around each class, with a margin of 1.

    max_j(x_j + a_j) < 0 is the box x_j < -a_j of the negatives; min_j(x_j + b_j) >= 0 is the box x_j >= -b_j of the
    positives. Of the boxes that hold certain shares of a class, those with the lowest objective are taken.
    """
    candidates = []
    for share in BOX_SHARES:
        a = -_class_quantile(problem, -1.0, share) - 1.0
        b = -_class_quantile(problem, 1.0, 1.0 - share) + 1.0
        candidates.append(problem.pieces.theta(0.5, a, b))
    return min(candidates, key=problem.objective)


def _class_quantile(problem: Problem, sign: float, q: float) -> np.ndarray:
    rows = problem.y == sign
    return np.quantile(problem.X[rows], q, axis=0, weights=problem.weight[rows], method="inverted_cdf")


LinearStart = Callable[[Problem[LinearPieces], np.random.Generator], np.ndarray]
MorphologicalStart = Callable[[Problem[MorphologicalPieces], np.random.Generator], np.ndarray]

LINEAR_STARTS: dict[str, LinearStart] = {"kmeans": kmeans, "random": random_weights}
RANDOM_FEATURES = "random_features"
MORPHOLOGICAL_STARTS: dict[str, MorphologicalStart] = {"box": bounding_boxes, "random": random_offsets}


def start_at(theta: np.ndarray) -> LinearStart:
    """The start at the solution of an earlier fit."""
    return lambda problem, rng: theta


def random_in(coordinates: Coordinates) -> LinearStart:
    """The start that draws normal slopes and offsets in the user's coordinates instead of the solver's.

    The sizes of the weights do not matter to `ccp`: the first subproblem depends only on which piece is the largest at
    which sample. Where features are almost collinear the two starts differ much. In the user's coordinates all pieces
    vary mainly along the direction in which the samples do.
    """

    def random_features(problem: Problem[LinearPieces], rng: np.random.Generator) -> np.ndarray:
        n_pieces = sum(problem.pieces.group_sizes)
        return coordinates.to_solver(rng.normal(0.0, RANDOM_SCALE, (n_pieces, len(coordinates.mean) + 1)))

    return random_features


def linear_starts(
    init: str, n_init: int, problem: Problem[LinearPieces], coordinates: Coordinates | None = None
) -> list[LinearStart]:
    """The starts of one fit; "auto" alternates between "kmeans" and "random".

    With more than two maxima "kmeans" is the quick one: its clusters are as good a start there, and finding them took a
    quarter of a fit. With one piece per maximum the problem is convex, and one start is enough. "random_features" needs
    the coordinates.
    """
    if is_affine_in_theta(problem.pieces):
        n_init = 1
    if init == RANDOM_FEATURES:
        assert coordinates is not None
        return [random_in(coordinates)] * n_init
    kinds = ("kmeans", "random") if init == "auto" else (init,)
    starts = dict(LINEAR_STARTS)
    if len(problem.pieces.group_sizes) > 2:
        starts["kmeans"] = quick_kmeans
    return [starts[kinds[number % len(kinds)]] for number in range(n_init)]


def morphological_starts(init: str, n_init: int) -> list[MorphologicalStart]:
    """The starts of one fit; "auto" is the boxes, then random offsets. The boxes are deterministic: once is enough."""
    kinds = {"auto": ["box"] + ["random"] * (n_init - 1), "box": ["box"], "random": ["random"] * n_init}
    return [MORPHOLOGICAL_STARTS[kind] for kind in kinds[init]]
