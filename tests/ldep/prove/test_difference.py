"""The largest difference of two models is one, and it is found where it was planted."""

import numpy as np
import pytest

from ldep.model import FittedModel, Maxima
from ldep.prove import difference, promise, verify
from tests.support.proven_models import Stated, random_model


def planted(seed: int) -> tuple[Stated, Stated, np.ndarray, float]:
    """A model, and the same with one piece more, which rises above the others around a corner of the ranges."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 4, 3)
    X = rng.uniform(-1.0, 1.0, (50, 4))
    (member,) = model.members
    corner = np.where(rng.random(4) < 0.5, X.min(axis=0), X.max(axis=0))
    active = member.values(corner[None])[1][0]
    slope = np.sign(corner) * 5.0
    added = active.max() + 1.0 - slope @ (corner - member.center)
    slopes = [member.slopes[0], np.vstack([member.slopes[1], slope])]
    offsets = [member.offsets[0], np.append(member.offsets[1], added)]
    other = FittedModel.single(Maxima.of_classes(slopes, offsets, member.center))
    return Stated(model), Stated(other), X, 1.0


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_difference_is_found_and_proven(seed):
    first, second, X, size = planted(seed)
    found = difference(first, second, X)
    up, down = found.extremes
    row = np.array([list(up.row.values())])
    assert up.difference >= size - 1e-9
    assert (second.decision_function(row) - first.decision_function(row))[0] == pytest.approx(up.difference)
    assert up.bound == pytest.approx(up.difference, abs=1e-4)
    assert down.bound == pytest.approx(0.0, abs=1e-4)
    assert all(holds for holds, _ in verify.check(found.certificate))


def test_a_model_agrees_with_itself_and_not_with_another():
    first, second, X, _ = planted(0)
    assert promise(first, X, other=first, agree_with={"within": 0.0}).kept
    verdict = promise(first, X, other=second, agree_with={"within": 0.5})
    row = [list(verdict.rows[0].values())]
    assert abs(first.decision_function(row) - second.decision_function(row))[0] > 0.5


def test_the_nearest_disagreement_of_a_row_is_bracketed():
    rng = np.random.default_rng(0)
    first, second = (Stated(random_model(rng, 4, 3)) for _ in range(2))
    X = rng.uniform(-1.0, 1.0, (50, 4))
    agreed = first.numbers([dict(enumerate(x)) for x in X]) == second.numbers([dict(enumerate(x)) for x in X])
    X = np.vstack([X[agreed], X[~agreed]])
    (near,) = difference(first, second, X, typical=X[:1]).nearest
    assert near.row is not None
    spreads, z = X.std(axis=0), np.array(list(near.row.values()))
    assert (first.numbers([near.row]) != second.numbers([near.row])).all()
    assert np.abs((z - X[0]) / spreads).max() == pytest.approx(near.distance)
    assert near.distance - 0.03 * near.distance <= near.bound <= near.distance
    around = X[0] + np.random.default_rng(0).uniform(-1.0, 1.0, (100_000, 4)) * spreads * near.bound
    inside = around[((around >= X.min(axis=0)) & (around <= X.max(axis=0))).all(axis=1)]
    assert ((first.decision_function(inside) >= 0) == (second.decision_function(inside) >= 0)).all()
