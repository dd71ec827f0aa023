"""Missing values: what is learned of them, where they are refused, and what stays as it is."""

import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_classification, make_moons

from ldep import LDEPClassifier, LDEPClassifierCV

X, Y = make_moons(200, noise=0.2, random_state=0)
HOLES = X.copy()
HOLES[np.random.default_rng(0).random(200) < 0.2, 0] = np.nan
QUICK = {"pieces": [(3, 3), (1, 1)], "alphas": [0.1, 1.0], "cv": 3, "random_state": 0}
SINGLE = LDEPClassifier(3, 3, alpha=0.1, random_state=0).fit(HOLES, Y)
VOTING = LDEPClassifierCV(**QUICK).fit(HOLES, Y)
both = pytest.mark.parametrize("model", [SINGLE, VOTING], ids=["single", "voting"])


def informative(m: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """The first feature is missing for nine tenths of one class and a tenth of all others; the values are noise."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(m, 3)), np.arange(m) % n_classes
    rows[rng.random(m) < np.where(y == 1, 0.9, 0.1), 0] = np.nan
    return rows, y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_that_a_value_is_missing_is_learned(n_classes, loss):
    """The best that there is to know: 90 % of two classes, and of three the one whose value is missing."""
    rows, y = informative(900, n_classes)
    model = LDEPClassifier(3, 3, loss=loss, random_state=0).fit(rows[:600], y[:600])
    predicted = model.predict(rows[600:])
    assert np.mean((predicted == 1) == (y[600:] == 1)) > 0.85


def test_a_search_learns_it_too():
    rows, y = informative(600)
    assert LDEPClassifierCV(**QUICK).fit(rows[:300], y[:300]).score(rows[300:], y[300:]) > 0.85


@pytest.mark.parametrize("n_classes", [2, 3])
def test_complete_rows_decide_as_the_maxima_say_and_others_add_what_was_learned(n_classes):
    rows, y = make_classification(200, 4, n_informative=3, n_redundant=0, n_classes=n_classes, random_state=0)
    rows[np.random.default_rng(1).random((200, 4)) < [0.3, 0.0, 0.2, 0.0]] = np.nan
    model = LDEPClassifier(3, 2, alpha=0.1, random_state=0).fit(rows, y)
    (maxima,) = model.model_.members
    assert maxima.missing.features.tolist() == [0, 2]
    is_missing = np.isnan(rows)
    scores = []
    for row, absent in zip(rows, is_missing):
        values = []
        for w, c, added in zip(model.coefs_, model.intercepts_, maxima.missing.added):
            pieces = c + w[:, ~absent] @ row[~absent] + added @ absent[[0, 2]]
            values.append(pieces.max())
        scores.append(maxima.signs @ values)
    scores = np.array(scores)
    expected = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    np.testing.assert_allclose(model.decision_function(rows), expected, atol=1e-10)


def test_the_objective_is_that_of_the_rows_with_indicators():
    """The same problem, stated by hand: the mean in the place of a missing value, and a column that says so."""
    mean = np.nanmean(HOLES[:, 0])
    by_hand = np.column_stack([np.where(np.isnan(HOLES[:, 0]), mean, HOLES[:, 0]), HOLES[:, 1], np.isnan(HOLES[:, 0])])
    model = LDEPClassifier(3, 3, alpha=0.1, random_state=0).fit(by_hand, Y)
    np.testing.assert_allclose(SINGLE.decision_function(HOLES), model.decision_function(by_hand), atol=1e-8)
    assert SINGLE.objective_ == model.objective_


def test_the_place_of_a_missing_value_does_not_depend_on_an_offset():
    """2^20 is added and taken away without a rounding error, so that both fits see the same numbers."""
    shift = np.array([2.0**20, 0.0])
    rows = (HOLES + shift) - shift
    here, there = (LDEPClassifier(3, 3, alpha=0.1, random_state=0).fit(table, Y) for table in (rows, rows + shift))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-3)
    np.testing.assert_allclose(there.decision_function(rows + shift), here.decision_function(rows), atol=0.05)


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_and_repetitions_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    order, weight = rng.permutation(200), rng.integers(0, 3, 200)
    repeated = np.repeat(np.arange(200), weight)
    model = LDEPClassifier(2, 2, alpha=0.1, random_state=0)
    expected = model.fit(HOLES, Y, sample_weight=weight).decision_function(HOLES)
    for rows, weights in ((order, weight[order]), (repeated, None)):
        found = model.fit(HOLES[rows], Y[rows], sample_weight=weights).decision_function(HOLES)
        np.testing.assert_array_equal(found, expected)


class TestNewRows:
    @both
    def test_a_value_that_is_missing_where_none_was_in_training_is_refused(self, model):
        rows = np.array([[0.0, 0.0], [np.nan, 0.0], [0.0, np.nan]])
        with pytest.raises(ValueError, match="Row 2 has NaN in 'x1', which had no missing values in training"):
            model.predict(rows)
        assert len(model.predict(rows[:2])) == 2

    def test_the_feature_is_named(self):
        frame = pd.DataFrame(HOLES, columns=["age", "income"])
        model = LDEPClassifier(2, 2, alpha=0.1, random_state=0).fit(frame, Y)
        with pytest.raises(ValueError, match="Row 0 has NaN in 'income'"):
            model.predict_proba(frame.assign(income=np.nan))

    @both
    def test_infinity_is_not_a_missing_value(self, model):
        with pytest.raises(ValueError, match="infinity"):
            model.predict([[np.inf, 0.0]])

    @both
    def test_complete_sparse_rows_are_answered_and_others_refused(self, model):
        np.testing.assert_allclose(
            model.decision_function(sparse.csr_array(X)), model.decision_function(X), rtol=1e-9, atol=1e-9
        )
        with pytest.raises(ValueError, match=r"A sparse X must not have missing values.*X\.toarray\(\)"):
            model.predict(sparse.csr_array(HOLES))

    @both
    def test_all_values_of_a_row_may_be_missing_if_each_feature_may(self, model):
        rows = np.where(np.random.default_rng(3).random(X.shape) < 0.2, np.nan, X)
        again = LDEPClassifier(2, 2, alpha=0.1, random_state=0).fit(rows, Y)
        assert np.isfinite(again.decision_function([[np.nan, np.nan]])).all()


class TestTraining:
    @pytest.mark.parametrize("estimator", [LDEPClassifier(), LDEPClassifierCV(**QUICK)], ids=["single", "voting"])
    def test_a_column_without_any_value_is_refused(self, estimator):
        frame = pd.DataFrame(X, columns=["age", "income"]).assign(comment=np.nan)
        with pytest.raises(ValueError, match=r"'comment' has no value in any row with positive weight\. Leave"):
            estimator.fit(frame, Y)

    def test_a_column_whose_values_are_in_rows_without_weight_is_refused(self):
        rows = np.column_stack([X, np.where(np.arange(200) < 5, 1.0, np.nan)])
        with pytest.raises(ValueError, match="'x2' has no value in any row with positive weight"):
            LDEPClassifier().fit(rows, Y, sample_weight=(np.arange(200) >= 5).astype(float))

    @pytest.mark.parametrize("estimator", [LDEPClassifier(), LDEPClassifierCV(**QUICK)], ids=["single", "voting"])
    def test_sparse_rows_with_missing_values_are_refused(self, estimator):
        with pytest.raises(ValueError, match=r"A sparse X must not have missing values.*X\.toarray\(\)"):
            estimator.fit(sparse.csr_array(HOLES), Y)

    @pytest.mark.parametrize(
        ("settings", "solver"), [({"penalty": "variance"}, "anneal"), ({"loss": "hinge", "alpha": 0.1}, "ccp")]
    )
    def test_other_penalties_and_solvers_take_them(self, settings, solver):
        model = LDEPClassifier(2, 2, solver=solver, random_state=0, **settings).fit(HOLES, Y)
        assert model.score(HOLES, Y) > 0.8

    def test_features_stay_monotone_where_others_are_missing(self):
        rows = np.column_stack([HOLES, np.random.default_rng(1).normal(size=200)])
        for model in (
            LDEPClassifier(3, 3, alpha=0.1, monotone={1: -1}, random_state=0).fit(rows, Y),
            LDEPClassifierCV(**QUICK, monotone={1: -1}).fit(rows, Y),
        ):
            higher = rows + np.outer(np.random.default_rng(2).exponential(size=200), [0.0, 1.0, 0.0])
            assert (model.decision_function(higher) <= model.decision_function(rows)).all()

    def test_the_feature_that_is_missing_may_be_monotone_itself(self):
        model = LDEPClassifier(3, 3, alpha=0.1, monotone={0: 1}, random_state=0).fit(HOLES, Y)
        higher = HOLES + np.outer(np.random.default_rng(2).exponential(size=200), [1.0, 0.0])
        assert (model.decision_function(higher) >= model.decision_function(HOLES)).all()

    def test_a_fit_without_missing_values_is_the_same_to_the_last_bit_and_takes_none_later(self):
        model = LDEPClassifier(3, 3, alpha=0.1, random_state=0).fit(X, Y)
        assert model.model_.members[0].missing is None
        assert not model.model_.takes_missing.any()
        with pytest.raises(ValueError, match="Row 0 has NaN in 'x0'"):
            model.predict([[np.nan, 0.0]])

    def test_a_score_of_ones_own_sees_the_rows_as_they_are(self):
        shares = []

        def scorer(estimator, rows, labels):
            assert rows.shape[1] == 2
            shares.append(np.isnan(rows).mean(axis=0))
            return float(np.mean(estimator.predict(rows) == labels))

        LDEPClassifierCV(**QUICK, scoring=scorer).fit(HOLES, Y)
        assert all(first > 0 and second == 0 for first, second in shares)


class TestWarmStart:
    def test_a_second_fit_is_no_worse(self):
        model = LDEPClassifier(3, 3, alpha=0.1, warm_start=True, random_state=0).fit(HOLES, Y)
        objective, n_iter = model.objective_, model.n_iter_
        model.fit(HOLES, Y)
        assert model.objective_ <= objective * (1 + 1e-9)
        assert model.n_iter_ <= n_iter // 2

    def test_another_feature_may_be_missing_in_the_second_fit(self):
        model = LDEPClassifier(3, 3, alpha=0.1, warm_start=True, random_state=0).fit(HOLES, Y)
        rows = np.where(np.random.default_rng(3).random(X.shape) < 0.1, np.nan, HOLES)
        model.fit(rows, Y)
        assert model.model_.takes_missing.tolist() == [True, True]
        cold = LDEPClassifier(3, 3, alpha=0.1, random_state=0).fit(rows, Y)
        assert model.objective_ <= 1.1 * cold.objective_

    def test_what_was_learned_stays_where_the_second_fit_has_all_values(self):
        model = LDEPClassifier(3, 3, alpha=0.1, warm_start=True, random_state=0).fit(HOLES, Y)
        model.fit(X, Y)
        assert model.model_.takes_missing.tolist() == [True, False]
        assert np.isfinite(model.decision_function([[np.nan, 0.0]])).all()


@both
class TestAnswers:
    def test_complete_rows_are_explained_and_others_refused(self, model):
        explanation = model.explain(X)
        total = explanation.contributions.sum(axis=1) + explanation.bias
        np.testing.assert_allclose(total, model.decision_function(X), atol=1e-9)
        with pytest.raises(ValueError, match="has NaN in 'x0': fill in the value before asking about the row"):
            model.explain(HOLES)

    def test_exact_answers_are_about_complete_rows(self, model):
        answer = model.counterfactual(X[:3])
        assert (model.predict(answer.rows) != model.predict(X[:3])).all()
        for ask in (model.counterfactual, model.certificate, model.explain_global):
            with pytest.raises(ValueError, match="has NaN in 'x0': fill in the value"):
                ask(HOLES)

    def test_no_piece_is_dropped(self, model):
        with pytest.raises(ValueError, match=r"trained on rows with missing values\..*Fill the values in"):
            model.simplify()

    def test_there_is_no_exported_form(self, model):
        with pytest.raises(ValueError, match="trained on rows with missing values has no exported form"):
            model.to_onnx()

    def test_pickle_and_skops_keep_every_bit(self, model):
        stored = skops.io.dumps(model)
        trusted = [f"ldep.estimators.{name}" for name in ("LDEPClassifier", "LDEPClassifierCV")]
        trusted += [f"ldep.model.{name}" for name in ("FittedModel", "Link", "Maxima", "Missing", "SetLimits")]
        assert set(skops.io.get_untrusted_types(data=stored)) <= set(trusted)
        for copy in (pickle.loads(pickle.dumps(model)), skops.io.loads(stored, trusted=trusted)):
            np.testing.assert_array_equal(copy.decision_function(HOLES), model.decision_function(HOLES))
