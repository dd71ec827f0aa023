"""Scores that are signed sums of maxima, and votes of them: the nearest row is proven, and no other method finds a
nearer one."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ldep.explain import make_domain
from ldep.explain._contest import Contest
from ldep.explain._least_distance import nearest_l2
from tests.support.fitted_models import difference_of, mixed_class_votes, random_class_votes

NORMS = ("l2", "l1", "linf")
seeds = st.integers(0, 2**10)
few = settings(max_examples=8, deadline=None)
MODELS = {"difference": difference_of, "votes": random_class_votes, "mixed votes": mixed_class_votes}


def rows_of(model, seed, n=2):
    return np.random.default_rng(seed).normal(size=(n, model.n_features_in_))


def distance_by_enumeration(model, x, target):
    """The class k wins where, for some piece of its first maximum and of the second one of each rival, every pair of
    pieces of the maxima against it is below: one projection per combination."""
    member = model.model_.members[0]
    n = member.n_classes
    rivals = [k for k in range(n) if k != target]
    values = [value[0] for value in member.values(x[None])]
    best = np.inf
    for own, *theirs in itertools.product(*[range(len(values[g])) for g in (target, *(n + k for k in rivals))]):
        G, h = [], []
        for rival, piece in zip(rivals, theirs):
            slope = member.slopes[target][own] + member.slopes[n + rival][piece]
            value = values[target][own] + values[n + rival][piece]
            for i, j in itertools.product(range(len(values[n + target])), range(len(values[rival]))):
                G.append(slope - member.slopes[n + target][i] - member.slopes[rival][j])
                h.append(values[n + target][i] + values[rival][j] - value)
        free = np.full(len(x), np.inf)
        u = nearest_l2(np.array(G), np.array(h), -free, free)
        best = best if u is None else min(best, float(np.linalg.norm(u)))
    return best


@few
@given(seeds, st.sampled_from([2, 3, 4]))
def test_a_difference_of_maxima_has_the_distance_of_the_best_polyhedron(seed, n_classes):
    model = difference_of(seed, n_classes, n_features=3, n_pieces=2)
    X = rows_of(model, seed)
    before = model.predict(X)
    answer = model.counterfactual(X, time_limit=20.0)
    assert answer.optimal.all()
    assert (model.predict(answer.rows) == answer.target).all()
    for x, own, distance in zip(X, before, answer.distance):
        expected = min(distance_by_enumeration(model, x, k) for k in range(n_classes) if k != own)
        assert distance == pytest.approx(expected, rel=1e-5, abs=1e-9)


@few
@given(seeds, st.sampled_from(sorted(MODELS)), st.sampled_from(NORMS), st.sampled_from([2, 3, 4]))
def test_no_sampled_row_is_nearer_than_a_proven_answer(seed, kind, norm, n_classes):
    assume(kind != "votes" or n_classes > 2)
    model = MODELS[kind](seed, n_classes)
    X = rows_of(model, seed)
    answer = model.counterfactual(X, norm=norm, time_limit=20.0)
    assert answer.optimal.all()
    found = np.isfinite(answer.distance)
    assert (model.predict(np.asarray(answer.rows)[found]) == answer.target[found]).all()
    assert (answer.target != answer.before)[found].all()
    domain = make_domain([f"x{k}" for k in range(X.shape[1])], norm=norm)
    rng = np.random.default_rng(seed)
    for x, before, bound in zip(X, answer.before, np.minimum(answer.bound, 20.0)):
        Z = x + 1.02 * bound * rng.uniform(-1, 1, size=(4000, len(x)))
        other = Z[model.predict(Z) != before]
        assert domain.distance(other, x).min(initial=np.inf) >= bound * (1 - 1e-9)


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_the_nearest_of_all_classes_is_the_best_of_each(kind):
    model = MODELS[kind](3)
    X = rows_of(model, 0, 5)
    answer = model.counterfactual(X, time_limit=20.0)
    each = [model.counterfactual(X, target=label, time_limit=20.0) for label in range(3)]
    distances = np.array([one.distance for one in each])
    distances[answer.before, np.arange(len(X))] = np.inf
    np.testing.assert_allclose(distances.min(axis=0), answer.distance, rtol=1e-5)
    np.testing.assert_allclose(model.certificate(X, time_limit=20.0), answer.distance, rtol=1e-5)
    assert all(one.optimal.all() for one in each)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", sorted(MODELS))
def test_integers_and_categories_are_the_best_of_all_combinations(kind, norm):
    """Against an enumeration: each combination is a problem with bounds only."""
    model = MODELS[kind](7, n_features=4)
    x = np.array([[0.3, 1.0, 0.0, 1.0]])
    limits = {"integer": [1], "categories": [[2, 3]], "bounds": {1: (-1, 2), 0: (-2, 2)}}
    answer = model.counterfactual(x, norm=norm, time_limit=20.0, **limits)
    assert answer.optimal.all()
    best = np.inf
    for count, hot in itertools.product(range(-1, 3), ((1, 0), (0, 1))):
        fixed = {1: (count, count), 2: (hot[0], hot[0]), 3: (hot[1], hot[1]), 0: (-2, 2)}
        # The class exists, so that there is an answer in every box of which the bounds are not too narrow.
        try:
            best = min(best, model.counterfactual(x, target=answer.target[0], norm=norm, bounds=fixed).distance[0])
        except ValueError:
            continue
    assert np.isfinite(best)
    assert answer.distance[0] == pytest.approx(best, rel=1e-5)
    assert np.asarray(answer.rows)[0, 2:].tolist() in ([0.0, 1.0], [1.0, 0.0])
    assert model.predict(answer.rows)[0] == answer.target[0]


def test_frozen_features_and_bounds_hold():
    model = mixed_class_votes(5, n_features=4)
    X = rows_of(model, 1, 6)
    answer = model.counterfactual(X, frozen=[0], bounds=(-3.0, 3.0), time_limit=5.0)
    found = np.isfinite(answer.distance)
    assert found.any()
    rows = np.asarray(answer.rows)[found]
    np.testing.assert_array_equal(rows[:, 0], X[found, 0])
    assert (np.abs(rows[:, 1:]) <= 3.0).all()
    assert (model.predict(rows) == answer.target[found]).all()


def test_when_the_time_is_over_the_bound_still_holds():
    model = random_class_votes(0, n_members=12, n_features=5)
    X = rows_of(model, 0, 3)
    hurried, proven = model.counterfactual(X, time_limit=0.02), model.counterfactual(X, time_limit=30.0)
    assert proven.optimal.all()
    assert (hurried.bound <= proven.distance * (1 + 1e-9)).all()
    assert (hurried.distance >= proven.distance * (1 - 1e-5)).all()


@few
@given(seeds, st.sampled_from(sorted(MODELS)), st.sampled_from([2, 3, 4]))
def test_the_contributions_sum_to_the_lead(seed, kind, n_classes):
    assume(kind != "votes" or n_classes > 2)
    model = MODELS[kind](seed, n_classes)
    X = rows_of(model, seed, 20)
    explanation = model.explain(X)
    decision = model.decision_function(X)
    ordered = np.sort(decision, axis=1) if n_classes > 2 else np.column_stack([np.zeros(len(X)), decision])
    np.testing.assert_allclose(explanation.decision, ordered[:, -1] - ordered[:, -2], atol=1e-12)
    sparse_rows = model.explain(csr_array(X))
    np.testing.assert_allclose(sparse_rows.contributions.toarray(), explanation.contributions, atol=1e-12)
    attribution = model.attribute(X, np.ones(2))
    difference = decision - model.decision_function(np.ones_like(X))
    np.testing.assert_allclose(attribution.contributions.sum(axis=-1), difference, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [difference_of, mixed_class_votes])
def test_the_attribution_is_the_sum_of_many_steps(make, n_classes):
    model = make(4, n_classes)
    x, baseline = np.random.default_rng(1).normal(size=(2, 2))
    exact = model.attribute(x[None], baseline).contributions[0]
    t = (np.arange(20_000) + 0.5) / 20_000
    points, step = baseline + t[:, None] * (x - baseline), 1e-7
    for feature, e in enumerate(np.eye(2)):
        change = model.decision_function(points + step * e) - model.decision_function(points - step * e)
        slope = change.mean(axis=0) / (2 * step)
        np.testing.assert_allclose(exact[..., feature], slope * (x - baseline)[feature], atol=1e-3)


def test_every_maximum_of_a_class_has_an_active_piece():
    model = difference_of(2, n_pieces=4)
    X = rows_of(model, 0, 10)
    explanation = model.explain(X, pair=(2, 0))
    member = model.model_.members[0]
    active = np.column_stack([values.argmax(axis=1) for values in member.values(X)])
    np.testing.assert_array_equal(explanation.label_piece, active[:, [2, 5]])
    np.testing.assert_array_equal(explanation.rival_piece, active[:, [0, 3]])


def test_an_infinite_bound_of_a_maximum_counts_only_in_the_leads_that_have_it():
    contest = Contest.of(difference_of(0, 3, n_features=2, n_pieces=2).model_, 0)
    up, down = np.ones((1, len(contest.convex))), np.ones((1, len(contest.concave)))
    finite = contest.leads(up, down)
    with np.errstate(all="raise"):
        for g in range(len(contest.convex)):
            above = up.copy()
            above[0, g] = np.inf
            leads = contest.leads(above, down)
            counts = contest.plus[..., g] > 0
            assert counts.any()
            assert (leads[counts] == np.inf).all()
            np.testing.assert_allclose(leads[~counts], finite[~counts])
