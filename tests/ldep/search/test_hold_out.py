"""alpha="auto": rows that are held out decide between the usual penalty, a weaker and a stronger one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_moons

from ldep import LDEPClassifier
from ldep.search import Errors, choose_factor, hold_out
from ldep.search._hold_out import MOST_ROWS_PER_CLASS, OF_MANY, OF_TWO, STRONGER

MOONS = make_moons(300, noise=0.1, random_state=0)


def waves(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sixty points of a line; the class is the sign of a small bump in it. The usual penalty hides the bump."""
    rng = np.random.default_rng(seed)
    place, sign = rng.uniform(10, 50, rows), rng.choice([-1.0, 1.0], rows)
    bump = np.exp(-0.5 * np.square((np.arange(60) - place[:, None]) / 2.0))
    X = rng.normal(size=(rows, 1)) * 3.0 + 0.3 * sign[:, None] * bump
    return X / X.std(axis=0), (sign > 0).astype(int)


class TestChoice:
    @pytest.mark.parametrize(
        ("usual", "tried", "other", "chosen"),
        [
            (Errors(0.00, 0.019), None, None, 1.0),
            (Errors(0.20, 0.300), OF_TWO.weaker, Errors(0.00, 0.10), OF_TWO.weaker),
            (Errors(0.20, 0.300), OF_TWO.weaker, Errors(0.00, 0.295), 1.0),
            (Errors(0.00, 0.300), STRONGER, Errors(0.05, 0.20), STRONGER),
            (Errors(0.00, 0.300), STRONGER, Errors(0.05, 0.40), 1.0),
        ],
    )
    def test_one_direction_is_tried_and_taken_if_it_gains(self, usual, tried, other, chosen):
        asked = []

        def errors(factor: float, tol: float) -> Errors:
            asked.append(factor)
            return usual if factor == 1.0 else other

        assert choose_factor(errors, 2) == chosen
        assert asked == [1.0] + [tried] * (tried is not None)

    @pytest.mark.parametrize(
        ("usual", "weaker", "stronger", "chosen"),
        [
            (0.019, None, None, 1.0),
            (0.300, 0.10, 0.20, OF_MANY.weaker),
            (0.300, 0.20, 0.10, STRONGER),
            (0.300, 0.295, 0.40, 1.0),
        ],
    )
    def test_both_directions_are_tried_with_more_than_two_classes(self, usual, weaker, stronger, chosen):
        tests = {1.0: usual, OF_MANY.weaker: weaker, STRONGER: stronger}
        asked = []

        def errors(factor: float, tol: float) -> Errors:
            asked.append(factor)
            return Errors(0.0, tests[factor])

        assert choose_factor(errors, 3) == chosen
        assert asked == ([1.0] if weaker is None else [1.0, OF_MANY.weaker, STRONGER])


class TestSplit:
    @pytest.mark.parametrize("counts", [(60, 19), (200, 1), (100_000, 20)])
    def test_too_few_rows_of_a_class_or_in_all_give_none(self, counts):
        own = np.repeat(np.arange(len(counts)), counts)
        assert hold_out(own, np.random.default_rng(0)) is None

    @pytest.mark.parametrize("counts", [(60, 20), (3000, 3000), (40, 40, 40), (2000, 2000, 2000)])
    def test_the_parts_are_disjoint_and_have_all_classes(self, counts):
        own = np.repeat(np.arange(len(counts)), counts)
        train, test = hold_out(own, np.random.default_rng(0))
        assert not np.intersect1d(train, test).size
        assert set(own[train]) == set(own[test]) == set(range(len(counts)))
        n_rows = min(len(own), MOST_ROWS_PER_CLASS * len(counts))
        assert len(test) == round(0.25 * n_rows)
        assert len(train) == n_rows - len(test)


class TestEstimator:
    def test_noise_gets_a_stronger_penalty(self):
        X, y = make_classification(400, 20, n_informative=3, flip_y=0.3, random_state=1)
        auto, scale = (LDEPClassifier(alpha=alpha, random_state=0).fit(X, y).alpha_ for alpha in ("auto", "scale"))
        assert auto == pytest.approx(STRONGER * scale)

    def test_a_penalty_that_hides_the_classes_becomes_weaker(self):
        (X, y), (X_test, y_test) = waves(800, 0), waves(800, 1)
        auto, scale = (LDEPClassifier(alpha=alpha, random_state=0).fit(X, y) for alpha in ("auto", "scale"))
        assert auto.alpha_ == pytest.approx(OF_TWO.weaker * scale.alpha_)
        assert auto.score(X_test, y_test) > scale.score(X_test, y_test) + 0.1

    @pytest.mark.parametrize("data", [MOONS, make_classification(400, 20, flip_y=0.3, random_state=1)])
    def test_the_model_is_that_of_the_chosen_alpha_to_the_last_bit(self, data):
        auto = LDEPClassifier(random_state=0).fit(*data)
        same = LDEPClassifier(alpha=auto.alpha_, random_state=0).fit(*data)
        np.testing.assert_array_equal(auto.W_, same.W_)

    def test_a_weight_is_a_repetition(self):
        X, y = make_classification(150, 20, n_informative=3, flip_y=0.3, random_state=1)
        weight = np.arange(150) % 3
        weighted = LDEPClassifier(random_state=0).fit(X, y, sample_weight=weight)
        repeated = LDEPClassifier(random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_array_equal(weighted.W_, repeated.W_)

    @pytest.mark.parametrize(
        ("params", "X"),
        [
            ({"solver": "ccp", "max_iter": 2}, MOONS[0]),
            ({}, MOONS[0][:79]),
            ({}, sparse.random_array((300, 601), density=0.02, rng=0, format="csr")),
        ],
    )
    def test_it_is_scale_where_a_choice_is_too_dear_or_too_noisy(self, params, X):
        y = MOONS[1][: X.shape[0]]
        auto, scale = (LDEPClassifier(2, 2, alpha=a, random_state=0, **params).fit(X, y) for a in ("auto", "scale"))
        assert auto.alpha_ == scale.alpha_

    def test_warm_start_keeps_the_choice(self):
        X, y = make_classification(400, 20, n_informative=3, flip_y=0.3, random_state=1)
        model = LDEPClassifier(warm_start=True, random_state=0).fit(X, y)
        first = model.alpha_
        assert model.fit(X[:200], y[:200]).alpha_ == first

    def test_three_classes_and_sparse_rows(self):
        X, y = make_classification(400, 10, n_informative=3, n_classes=3, flip_y=0.3, random_state=0)
        dense = LDEPClassifier(4, 4, random_state=0).fit(X, y)
        scale = LDEPClassifier(4, 4, alpha="scale", random_state=0).fit(X, y).alpha_
        assert min(abs(dense.alpha_ / scale - factor) for factor in (OF_MANY.weaker, 1.0, STRONGER)) < 1e-9
        as_sparse = LDEPClassifier(4, 4, random_state=0).fit(sparse.csr_array(X), y)
        assert as_sparse.alpha_ == pytest.approx(dense.alpha_)
