"""An ℓ-DEP that tunes itself: what it selects, how it averages, what it explains."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedKFold

from ldep import LDEPClassifier, LDEPClassifierCV

QUICK = {"pieces": [(3, 3), (1, 1), (6, 6)], "alphas": [0.1, 1.0, 10.0], "cv": 3, "random_state": 0}
# What a model votes with, as a multiple of its decision value.
VOTE = {"hinge": 1.0, "logistic": 0.25}


def moons(m=90):
    return make_moons(m, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return LDEPClassifierCV(**QUICK).fit(*moons())


class TestEnsemble:
    def test_decision_is_the_weighted_mean_of_clipped_votes(self, fitted):
        X, _ = moons(200)
        votes = [np.clip(VOTE[model.loss] * model.decision_function(X), -1, 1) for model in fitted.estimators_]
        np.testing.assert_allclose(
            fitted.decision_function(X), fitted.weights_ @ votes - fitted.model_.threshold, atol=1e-12
        )

    def test_weights_are_a_share_per_model(self, fitted):
        assert fitted.weights_.sum() == pytest.approx(1.0)
        assert (fitted.weights_ > 0).all()
        assert len(fitted.weights_) == len(fitted.estimators_)
        assert len(fitted.estimators_) == 3 * np.count_nonzero(fitted.cv_results_["weight"])

    def test_members_are_fitted_classifiers(self, fitted):
        X, y = moons()
        for model in fitted.estimators_:
            assert isinstance(model, LDEPClassifier)
            assert model.score(X, y) > 0.7
            assert model.objective_ > 0

    def test_members_see_their_training_part_only(self):
        """Changing the labels of a test part leaves the models of its training part as they are."""
        X, y = moons()
        splits = list(StratifiedKFold(2).split(X, y))
        settings = {"pieces": [(3, 3)], "alphas": [1.0], "penalties": ["norm"], "losses": ["hinge"], "cv": splits}
        settings["random_state"] = 0
        changed = y.copy()
        changed[splits[0][1]] = 1 - changed[splits[0][1]]
        one, other = LDEPClassifierCV(**settings).fit(X, y), LDEPClassifierCV(**settings).fit(X, changed)
        np.testing.assert_array_equal(one.estimators_[0].W_, other.estimators_[0].W_)
        assert (one.estimators_[1].W_ != other.estimators_[1].W_).any()

    def test_it_is_better_than_one_setting_on_noisy_data(self):
        """Half of the features are noise, and one label in ten is wrong: without a choice of alpha a model overfits."""
        X, y = make_classification(600, 20, n_informative=4, flip_y=0.1, random_state=0)
        tuned = LDEPClassifierCV(random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:])
        single = LDEPClassifier(alpha="scale", random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:])
        assert tuned > single + 0.01


class TestSingleModel:
    def test_it_is_the_classifier_with_the_best_setting(self):
        X, y = moons()
        single = LDEPClassifierCV(**QUICK, ensemble=False).fit(X, y)
        (model,) = single.estimators_
        own = LDEPClassifier(**single.best_params_, random_state=model.random_state).fit(X, y)
        tau = own.decision_function(X)
        np.testing.assert_array_equal(model.decision_function(X), tau)
        np.testing.assert_allclose(single.decision_function(X), tau - single.model_.threshold, atol=1e-12)
        assert single.n_fits_ == single.n_splits_ * len(single.cv_results_["params"]) + 1

    def test_the_best_setting_has_the_best_score(self, fitted):
        results = fitted.cv_results_
        assert fitted.best_score_ == results["mean_test_score"].max()
        assert results["rank_test_score"][fitted.best_index_] == 1
        assert results["params"][fitted.best_index_] == fitted.best_params_


class TestResults:
    def test_scores_are_those_of_the_splits(self, fitted):
        results = fitted.cv_results_
        splits = np.array([results[f"split{number}_test_score"] for number in range(3)])
        np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
        np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0))
        assert set(results["param_penalty"]) == {"norm", "variance"}
        assert (results["mean_fit_time"] > 0).all()
        assert results["weight"].sum() == pytest.approx(1.0)
        assert fitted.n_fits_ == 3 * len(results["params"])

    def test_a_score_is_the_accuracy_on_the_test_part(self):
        X, y = moons()
        split = next(StratifiedKFold(3).split(X, y))
        model = LDEPClassifierCV(**QUICK | {"cv": [split], "pieces": [(3, 3)], "alphas": [1.0]}).fit(X, y)
        selected = model.cv_results_["weight"] > 0
        scores = [member.score(X[split[1]], y[split[1]]) for member in model.estimators_]
        np.testing.assert_array_equal(model.cv_results_["split0_test_score"][selected], scores)


class TestProbabilities:
    def test_they_agree_with_the_prediction(self, fitted):
        X, _ = moons(300)
        table = fitted.predict_proba(X)
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
        np.testing.assert_array_equal(table.argmax(axis=1), fitted.predict(X))

    @pytest.mark.parametrize("ensemble", [True, False])
    def test_they_are_better_than_the_class_shares_and_calibrated(self, ensemble):
        """On fresh rows. The mean probability is within three standard errors, 0.05, of the share of the class."""
        X, y = make_classification(1200, 8, n_informative=4, flip_y=0.2, weights=[0.7], random_state=1)
        model = LDEPClassifierCV(**QUICK, ensemble=ensemble).fit(X[:400], y[:400])
        probability = model.predict_proba(X[400:])
        share = y[:400].mean()
        assert log_loss(y[400:], probability) < log_loss(y[400:], np.tile([1 - share, share], (800, 1)))
        assert probability[:, 1].mean() == pytest.approx(y[400:].mean(), abs=0.05)


class TestExplanation:
    @pytest.mark.parametrize("ensemble", [True, False])
    def test_it_sums_to_the_decision(self, ensemble):
        """Tolerance: rounding, of values up to about 100."""
        X, y = moons()
        model = LDEPClassifierCV(**QUICK, ensemble=ensemble).fit(X, y)
        rows = np.random.default_rng(0).normal(0, 5, (50, 2))
        explained = model.explain(rows)
        np.testing.assert_allclose(
            explained.contributions.sum(axis=1) + explained.bias, model.decision_function(rows), atol=1e-10
        )
        np.testing.assert_array_equal(explained.decision, explained.contributions.sum(axis=1) + explained.bias)
        assert explained.label_piece.shape == ((50, len(model.estimators_)) if ensemble else (50,))

    def test_a_frame_is_explained_by_a_frame(self, fitted):
        X, y = moons()
        frame = pd.DataFrame(X, columns=["length", "width"], index=np.arange(90) + 7)
        model = LDEPClassifierCV(**QUICK).fit(frame, y)
        explained = model.explain(frame).to_frame()
        assert list(explained.columns[:4]) == ["length", "width", "bias", "decision"]
        np.testing.assert_allclose(explained[["length", "width", "bias"]].sum(axis=1), model.decision_function(frame))
        np.testing.assert_array_equal(model.decision_function(frame), fitted.decision_function(X))


class TestScoring:
    @pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "f1", "balanced_accuracy"])
    def test_scores_of_scikit_learn(self, scoring):
        X, y = moons()
        model = LDEPClassifierCV(**QUICK, scoring=scoring).fit(X, y)
        assert np.isfinite(model.cv_results_["mean_test_score"]).all()
        assert model.score(X, y) > 0.85

    def test_a_scorer_of_probabilities_without_an_ensemble(self):
        X, y = moons()
        model = LDEPClassifierCV(**QUICK, scoring="neg_brier_score", ensemble=False).fit(X, y)
        assert -0.2 < model.best_score_ < 0

    def test_a_callable_sees_the_rows_and_labels(self):
        X, y = moons()
        seen = []

        def scorer(estimator, rows, labels):
            seen.append((rows.shape[1], *sorted(set(labels))))
            return roc_auc_score(labels, estimator.decision_function(rows))

        LDEPClassifierCV(**QUICK, scoring=scorer).fit(X, np.where(y, "yes", "no"))
        assert set(seen) == {(2, "no", "yes")}

    def test_weights_reach_the_scorer(self):
        X, y = moons()
        totals = []

        def metric(truth, predicted, sample_weight=None):
            totals.append(0.0 if sample_weight is None else sample_weight.sum())
            return 0.0

        LDEPClassifierCV(**QUICK, scoring=make_scorer(metric)).fit(X, y, np.linspace(1, 2, 90))
        assert min(totals) > 0

    def test_an_unknown_score_is_refused(self):
        with pytest.raises(ValueError, match="scoring"):
            LDEPClassifierCV(scoring="beauty").fit(*moons())


class TestSplits:
    @pytest.mark.parametrize(("minority", "splits"), [(7, 5), (5, 5), (3, 3), (2, 2)])
    def test_a_rare_class_reduces_the_folds(self, minority, splits):
        X = np.random.default_rng(0).normal(size=(30, 2))
        y = (np.arange(30) < minority).astype(int)
        assert LDEPClassifierCV(**QUICK | {"cv": 5}).fit(X, y).n_splits_ == splits

    def test_a_class_with_one_row_gets_the_default_classifier_and_a_warning(self):
        X = np.random.default_rng(0).normal(size=(30, 2))
        y = (np.arange(30) < 1).astype(int)
        with pytest.warns(UserWarning, match="cannot cross-validate, because too few samples"):
            model = LDEPClassifierCV(**QUICK).fit(X, y)
        assert model.n_splits_ == 0
        assert model.best_params_ == {"r1": 20, "r2": 20, "penalty": "norm", "loss": "logistic", "alpha": "auto"}
        np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))

    def test_rows_of_weight_zero_are_in_no_fold(self):
        X, y = moons(40)
        weight = np.ones(40)
        weight[np.flatnonzero(y)[:17]] = 0.0
        weighted = LDEPClassifierCV(**QUICK | {"cv": 5}).fit(X, y, weight)
        removed = LDEPClassifierCV(**QUICK | {"cv": 5}).fit(X[weight > 0], y[weight > 0])
        assert weighted.n_splits_ == 3
        np.testing.assert_array_equal(weighted.decision_function(X), removed.decision_function(X))

    def test_splitters_are_used_unchanged(self):
        X, y = moons(12)
        assert LDEPClassifierCV(**QUICK | {"cv": LeaveOneOut()}).fit(X, y).n_splits_ == 12

    def test_rows_that_no_split_tests_have_no_say(self):
        X, y = moons()
        split = next(StratifiedKFold(3).split(X, y))
        model = LDEPClassifierCV(**QUICK | {"cv": [split]}).fit(X, y)
        assert model.n_splits_ == 1
        assert model.score(X, y) > 0.85

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ([(np.arange(0, 90, 2), np.arange(1, 90, 2)), (np.arange(3), np.arange(3, 90))], "training part 1"),
            ([(np.arange(90), np.arange(0))], "test part 0 has no samples"),
            ([], "there are no splits"),
        ],
    )
    def test_unusable_parts_are_refused(self, parts, message):
        """The rows are sorted by class, so that the first three are of one class."""
        X, y = moons()
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
        with pytest.raises(ValueError, match=message):
            LDEPClassifierCV(**QUICK | {"cv": parts}).fit(X, y)

    def test_weights_that_empty_a_part_are_refused(self):
        X, y = moons()
        splits = list(StratifiedKFold(3).split(X, y))
        weight = np.ones(90)
        weight[splits[1][1]] = 0.0
        with pytest.raises(ValueError, match="test part 1 has no samples with positive weight"):
            LDEPClassifierCV(**QUICK | {"cv": splits}).fit(X, y, weight)

    def test_groups_go_through_an_iterable(self):
        X, y = moons()
        groups = np.arange(90) // 10
        splits = GroupKFold(3).split(X, y, groups)
        assert LDEPClassifierCV(**QUICK | {"cv": splits}).fit(X, y).n_splits_ == 3


class TestBudget:
    @pytest.mark.parametrize(("max_fits", "n_fits"), [(3, 3), (10, 9), (30, 30), (10_000, 42)])
    def test_fits_stay_within_the_budget(self, max_fits, n_fits):
        model = LDEPClassifierCV(**QUICK, max_fits=max_fits).fit(*moons())
        assert model.n_fits_ <= n_fits
        assert model.n_fits_ % 3 == 0

    def test_the_smallest_budget_tries_the_middle_alpha(self):
        model = LDEPClassifierCV(**QUICK, max_fits=3).fit(*moons())
        assert model.cv_results_["params"] == [{"r1": 3, "r2": 3, "penalty": "norm", "loss": "hinge", "alpha": 1.0}]

    @pytest.mark.parametrize(("ensemble", "least"), [(True, 3), (False, 4)])
    def test_a_budget_below_one_setting_is_refused(self, ensemble, least):
        with pytest.raises(ValueError, match=f"at least {least}"):
            LDEPClassifierCV(**QUICK, max_fits=least - 1, ensemble=ensemble).fit(*moons())


def test_progress_is_printed(capsys):
    LDEPClassifierCV(**QUICK, verbose=1).fit(*moons())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[LDEPClassifierCV] ")
    assert "of 33 fits" in lines[0]
    assert "best: {'r1'" in lines[-1]


def test_fits_that_do_not_converge_are_reported_once():
    with pytest.warns(ConvergenceWarning, match="did not converge") as caught:
        LDEPClassifierCV(**QUICK, tol=1e-9, max_iter=10).fit(*moons())
    assert len(caught) == 1


def test_a_default_fit_does_not_warn(recwarn):
    X, y = moons(120)
    LDEPClassifierCV(random_state=0).fit(X, y)
    assert not recwarn.list


def test_labels_of_mixed_types_are_refused():
    X, _ = moons()
    with pytest.raises((TypeError, ValueError)):
        LDEPClassifierCV(**QUICK).fit(X, np.array([1, "a"] * 45, dtype=object))
