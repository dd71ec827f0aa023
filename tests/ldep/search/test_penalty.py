"""The weight of the penalty of a single model: which rows are held out, and which factor is chosen."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from ldep import LDEPClassifier
from ldep.search import PENALTY_TOL, PenaltyPath, choose_penalty
from ldep.search._penalty import FACTORS, FEWEST_ROWS, MANY_ROWS, MOST_ROWS_PER_CLASS, choose_factor, parts_of
from ldep.training import LOSSES, Samples


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def losses_of(means, noise: float = 0.0, m: int = 400) -> np.ndarray:
    """Losses of m rows for each factor: these means, and noise of this size that is not shared between factors."""
    table = np.repeat(np.array(means, dtype=float)[:, None], m, axis=1)
    extra = rng().normal(size=table.shape)
    return table + noise * (extra - extra.mean(axis=1, keepdims=True))


class TestChooseFactor:
    weight = np.ones(400)

    def test_the_lowest_loss_is_chosen_where_the_difference_is_certain(self):
        for best in range(6):
            means = [0.5 + 0.01 * abs(number - best) for number in range(6)]
            assert choose_factor(losses_of(means), self.weight) == FACTORS[best]

    def test_of_equal_losses_the_strongest_penalty_is_chosen(self):
        assert choose_factor(losses_of([0.5] * 6), self.weight) == FACTORS[-1]

    @pytest.mark.parametrize(("excess", "chosen"), [(0.4, 3.0), (0.6, 1.0)])
    def test_a_loss_within_half_a_standard_error_counts_as_equal(self, excess, chosen):
        """The standard error of the mean difference of 400 rows, with a deviation of 1, is 1/20."""
        difference = rng().normal(size=400)
        difference = (difference - difference.mean()) / difference.std()
        losses = losses_of([9.0, 9.0, 9.0, 0.5, 0.5, 9.0])
        losses[4] += difference + excess / 20
        assert choose_factor(losses, self.weight) == chosen

    def test_rows_that_are_not_tested_and_rows_without_weight_do_not_count(self):
        losses = losses_of([0.9, 0.5, 0.9, 0.9, 0.9, 0.9])
        losses[1, :100] = 99.0
        weight = np.where(np.arange(400) < 100, 0.0, 1.0)
        assert choose_factor(losses, weight) == FACTORS[1]
        losses[:, :100] = np.nan
        assert choose_factor(losses, self.weight) == FACTORS[1]


class TestParts:
    def test_few_rows_are_tested_in_three_folds(self):
        own = np.arange(90) % 3
        parts = parts_of(own, rng())
        assert len(parts) == 3
        np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in parts])), np.arange(90))
        for train, test in parts:
            assert not np.intersect1d(train, test).size
            assert set(own[train]) == set(own[test]) == {0, 1, 2}

    def test_a_class_of_two_rows_is_tested_in_two_folds(self):
        own = np.array([0] * 50 + [1] * 2)
        assert len(parts_of(own, rng())) == 2

    @pytest.mark.parametrize(
        "own", [np.arange(FEWEST_ROWS - 1) % 2, np.array([0] * 50 + [1])], ids=["too few rows", "a class of one row"]
    )
    def test_there_is_no_part_where_a_choice_would_be_noise(self, own):
        assert parts_of(own, rng()) == []

    def test_of_many_rows_a_third_of_a_sample_is_held_out_once(self):
        own = np.arange(5 * MANY_ROWS) % 2
        ((train, test),) = parts_of(own, rng())
        assert len(train) + len(test) == 2 * MOST_ROWS_PER_CLASS
        assert len(test) == 2 * MOST_ROWS_PER_CLASS // 3
        assert not np.intersect1d(train, test).size

    def test_a_rare_class_of_many_rows_is_in_both_parts_or_there_is_none(self):
        for rare in (2, 3, 200):
            own = (np.arange(10 * MANY_ROWS) < rare).astype(int)
            for train, test in parts_of(own, rng()):
                assert set(own[train]) == set(own[test]) == {0, 1}


def data(m: int, n_classes: int) -> Samples:
    X, y = make_classification(m, 6, n_informative=4, n_classes=n_classes, flip_y=0.2, random_state=0)
    codes = np.where(y > 0, 1.0, -1.0) if n_classes == 2 else y.astype(float)
    return Samples(X, codes, np.ones(m))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_losses_are_the_log_losses_of_rows_that_a_model_has_not_seen(n_classes, loss):
    """For the logistic loss: those of a fit with that penalty on the training part, which differ a little by path."""
    rows = data(240, n_classes)
    sizes = (3, 3) if n_classes == 2 else (3,) * 6
    path = PenaltyPath(sizes, loss, "norm", 1.0, None, PENALTY_TOL, None)
    own = rows.y.astype(int) if n_classes > 2 else (rows.y > 0).astype(int)
    parts = parts_of(own, rng())
    losses = path.losses(rows, parts, n_classes, rng())
    assert losses.shape == (len(FACTORS), 240)
    assert np.isfinite(losses).all()
    assert (losses >= 0).all()
    # Noise in a fifth of the labels makes the weakest penalty overfit.
    means = losses.mean(axis=1)
    assert means.min() < means[0]
    assert means.min() < np.log(n_classes)
    if loss == "logistic":
        (train, test), k = parts[0], len(FACTORS) - 1
        model = LDEPClassifier(3, 3, alpha=FACTORS[k], tol=1e-3, random_state=0).fit(rows.X[train], own[train])
        by_model = log_loss(own[test], model.predict_proba(rows.X[test]))
        assert losses[k, test].mean() == pytest.approx(by_model, rel=0.1)


def test_with_too_few_rows_the_usual_penalty_stays():
    rows = data(FEWEST_ROWS - 1, 2)
    path = PenaltyPath((2, 2), "logistic", "norm", 0.7, None, PENALTY_TOL, None)
    assert choose_penalty(rows, path, 2, rng()) == 0.7


@pytest.mark.parametrize(
    ("settings", "wide"),
    [({}, True), ({"loss": "hinge", "solver": "ccp", "solver_options": {"n_kicks": 0}}, False)],
    ids=["more than 600 features", "a solver that is not fast"],
)
def test_alpha_is_that_of_scale_where_a_choice_would_cost_too_much(settings, wide):
    X = rng().normal(size=(60, 601 if wide else 2))
    y = (X[:, 0] > 0).astype(int)
    chosen, scaled = (
        LDEPClassifier(2, 2, alpha=alpha, max_iter=4, tol=0.5, random_state=0, **settings).fit(X, y).alpha_
        for alpha in ("auto", "scale")
    )
    assert chosen == scaled


@pytest.mark.parametrize("loss", LOSSES)
def test_the_chosen_model_is_that_of_the_same_alpha_given_as_a_number(loss):
    X, y = make_classification(150, 5, random_state=0)
    chosen = LDEPClassifier(3, 3, loss=loss, random_state=0).fit(X, y)
    scale = LDEPClassifier(3, 3, loss=loss, alpha="scale", random_state=0).fit(X, y).alpha_
    assert chosen.alpha_ / scale in [pytest.approx(factor) for factor in FACTORS]
    given = LDEPClassifier(3, 3, loss=loss, alpha=chosen.alpha_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(given.decision_function(X), chosen.decision_function(X))


def test_noise_asks_for_a_strong_penalty_and_a_clear_boundary_for_a_weak_one():
    X = rng().normal(size=(300, 8))
    noise = LDEPClassifier(random_state=0).fit(X, rng(1).integers(0, 2, 300))
    clear = LDEPClassifier(random_state=0).fit(X, (np.abs(X[:, 0]) > 0.7).astype(int))
    assert noise.alpha_ > clear.alpha_
