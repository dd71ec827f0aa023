"""An ℓ-DEP that tunes itself, with more than two classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.model import open_votes, sparsemax

# What a model votes with, as a multiple of its scores.
VOTE = {"hinge": 1.0, "logistic": 0.25}

QUICK = {"pieces": [(3, 3), (1, 1), (2, 1)], "alphas": [0.1, 1.0], "penalties": ["norm"], "cv": 3, "random_state": 0}
QUICK["losses"] = ["hinge", "logistic"]
NAMES = np.array(["ash", "beech", "oak", "yew"])
POINTS, CLUSTERS = make_blobs(240, centers=8, n_features=3, cluster_std=1.5, random_state=0)
X, CODES = POINTS[:160], CLUSTERS[:160] % 4
Y = NAMES[CODES]
FRESH, FRESH_Y = POINTS[160:], NAMES[CLUSTERS[160:] % 4]


@pytest.fixture(scope="module")
def voting():
    return LDEPClassifierCV(**QUICK).fit(X, Y)


@pytest.fixture(scope="module")
def single():
    return LDEPClassifierCV(**QUICK, ensemble=False).fit(X, Y)


@pytest.fixture(params=["voting", "single"])
def model(request):
    return request.getfixturevalue(request.param)


def test_it_predicts_classes_by_their_largest_decision_value_and_probability(model):
    decision, table = model.decision_function(FRESH), model.predict_proba(FRESH)
    assert decision.shape == table.shape == (80, 4)
    np.testing.assert_array_equal(model.predict(FRESH), NAMES[decision.argmax(axis=1)])
    np.testing.assert_array_equal(model.predict(FRESH), NAMES[table.argmax(axis=1)])
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert model.score(FRESH, FRESH_Y) > 0.85


def test_probabilities_are_far_better_than_the_class_shares(model):
    assert log_loss(FRESH_Y, model.predict_proba(FRESH)) < 0.5 * np.log(4)


def test_the_decision_is_the_mean_of_the_sparsemax_votes(voting):
    votes = [sparsemax(VOTE[member.loss] * member.decision_function(FRESH)) for member in voting.estimators_]
    mean = np.tensordot(voting.weights_, votes, axes=1)
    np.testing.assert_allclose(voting.decision_function(FRESH), voting.model_.factors * open_votes(mean), atol=1e-12)


def test_a_single_model_is_the_classifier_with_the_best_setting(single):
    (member,) = single.estimators_
    own = LDEPClassifier(**single.best_params_, random_state=member.random_state).fit(X, Y)
    np.testing.assert_array_equal(single.decision_function(X), own.decision_function(X))


def test_all_pairs_and_both_losses_are_tried(voting):
    tried = voting.cv_results_["params"]
    assert {(setting["r1"], setting["r2"]) for setting in tried} == {(3, 3), (1, 1), (2, 1)}
    assert {setting["loss"] for setting in tried} == {"hinge", "logistic"}
    assert voting.best_score_ == voting.cv_results_["mean_test_score"].max()


def test_by_default_the_logistic_loss_and_few_pieces_are_tried(voting):
    settings = {name: value for name, value in QUICK.items() if name not in ("pieces", "losses")}
    tried = LDEPClassifierCV(**settings).fit(X, Y).cv_results_["params"]
    assert {(setting["r1"], setting["r2"], setting["loss"]) for setting in tried} == {
        (10, 10, "logistic"),
        (1, 1, "logistic"),
    }


def test_at_most_two_settings_vote(voting):
    assert np.count_nonzero(voting.cv_results_["weight"]) <= 2
    assert len(voting.estimators_) <= 2 * voting.n_splits_


def test_the_selection_has_the_lowest_squared_error_of_any_single_setting(voting):
    """Of the out-of-fold votes: the mean of the selected settings is at least as close as each of them."""
    splits = list(StratifiedKFold(3).split(X, Y))
    chosen = LDEPClassifierCV(**QUICK | {"cv": splits}).fit(X, Y)
    count = np.count_nonzero(chosen.cv_results_["weight"])
    votes = np.zeros((count, len(X), 4))
    for number, member in enumerate(chosen.estimators_):
        test = splits[number % 3][1]
        votes[number // 3, test] = sparsemax(VOTE[member.loss] * member.decision_function(X[test]))
    errors = np.square(votes - np.eye(4)[CODES]).sum(axis=(1, 2))
    mean = np.tensordot(chosen.cv_results_["weight"][chosen.cv_results_["weight"] > 0], votes, axes=1)
    assert np.square(mean - np.eye(4)[CODES]).sum() <= errors.min() + 1e-9


def test_an_integer_weight_is_a_repetition():
    """The repetitions of a row are in the same fold."""
    weight = np.random.default_rng(0).integers(1, 3, len(X))
    again = np.repeat(np.arange(len(X)), weight)
    folds = np.arange(len(X)) % 3
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    repeated = [(np.flatnonzero(folds[again] != k), np.flatnonzero(folds[again] == k)) for k in range(3)]
    weighted = LDEPClassifierCV(**QUICK | {"cv": splits}).fit(X, Y, weight)
    other = LDEPClassifierCV(**QUICK | {"cv": repeated}).fit(X[again], Y[again])
    np.testing.assert_array_equal(other.decision_function(X), weighted.decision_function(X))


class TestExplain:
    def test_shares_sum_to_the_difference_of_two_decision_values(self, model):
        decision = model.decision_function(FRESH)
        for pair in (("oak", "ash"), ("ash", "yew")):
            k, other = NAMES.tolist().index(pair[0]), NAMES.tolist().index(pair[1])
            explanation = model.explain(FRESH, pair)
            total = explanation.contributions.sum(axis=1) + explanation.bias
            np.testing.assert_allclose(total, decision[:, k] - decision[:, other], atol=1e-9)
            np.testing.assert_array_equal(explanation.label, [pair[0]] * 80)
            np.testing.assert_array_equal(explanation.rival, [pair[1]] * 80)

    def test_by_default_the_predicted_class_is_compared_with_the_runner_up(self, model):
        order = np.argsort(-model.decision_function(FRESH), axis=1)
        explanation = model.explain(FRESH)
        np.testing.assert_array_equal(explanation.label, NAMES[order[:, 0]])
        np.testing.assert_array_equal(explanation.rival, NAMES[order[:, 1]])
        assert (explanation.decision >= 0).all()

    def test_whole_votes_have_shares_too(self, voting):
        """Where all models are certain, the votes are constant, but the features are still the reason."""
        explanation = voting.explain(FRESH)
        votes = [sparsemax(VOTE[member.loss] * member.decision_function(FRESH)) for member in voting.estimators_]
        certain = (np.max(votes, axis=2) == 1.0).all(axis=0)
        assert certain.any()
        assert (np.abs(explanation.contributions[certain]).max(axis=1) > 0.1).all()

    def test_a_frame_gets_a_frame(self, voting):
        frame = pd.DataFrame(FRESH, columns=["x", "y", "z"])
        named = LDEPClassifierCV(**QUICK).fit(pd.DataFrame(X, columns=["x", "y", "z"]), Y).explain(frame).to_frame()
        assert list(named.columns[:7]) == ["x", "y", "z", "bias", "decision", "label", "rival"]
        assert {"label_piece_0", "rival_piece_0"} <= set(named.columns)

    @pytest.mark.parametrize("pair", [("oak", "elm"), "oak", ("oak", "oak")])
    def test_a_pair_must_be_two_of_the_classes(self, model, pair):
        with pytest.raises(ValueError, match="pair must be two different classes"):
            model.explain(FRESH, pair)

    def test_a_pair_of_two_classes_is_the_decision_value_or_its_negative(self):
        two = CODES < 2
        binary = LDEPClassifierCV(**QUICK).fit(X[two], Y[two])
        tau, plain = binary.decision_function(X), binary.explain(X)
        forward, backward = binary.explain(X, ("beech", "ash")), binary.explain(X, ("ash", "beech"))
        np.testing.assert_allclose(forward.decision, tau, atol=1e-9)
        np.testing.assert_allclose(backward.decision, -tau, atol=1e-9)
        np.testing.assert_array_equal(forward.label_piece, plain.label_piece)
        np.testing.assert_array_equal(backward.label_piece, plain.rival_piece)
        assert set(backward.label) == {"ash"}


class TestScoring:
    @pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr"])
    @pytest.mark.parametrize("ensemble", [True, False])
    def test_scores_for_many_classes(self, scoring, ensemble):
        model = LDEPClassifierCV(**QUICK, scoring=scoring, ensemble=ensemble).fit(X, Y)
        assert np.isfinite(model.cv_results_["mean_test_score"]).all()
        assert model.score(FRESH, FRESH_Y) > 0.8

    @pytest.mark.parametrize("scoring", ["roc_auc", "f1"])
    def test_a_score_for_two_classes_is_refused_before_any_fit(self, scoring, monkeypatch):
        monkeypatch.setattr("ldep.search._cross_validation.CrossValidation.run", lambda *_: pytest.fail("a fit"))
        with pytest.raises(ValueError, match=r"scoring failed on 4 classes; .* such as roc_auc_ovr"):
            LDEPClassifierCV(**QUICK, scoring=scoring).fit(X, Y)

    def test_a_score_that_needs_all_classes_names_the_class_that_a_test_part_lacks(self):
        rare = np.where(np.arange(len(X)) < 2, "rare", Y)
        with pytest.raises(ValueError, match="a test part that has no sample of class 'rare'"):
            LDEPClassifierCV(**QUICK, scoring="roc_auc_ovr").fit(X, rare)


class TestRareClasses:
    @pytest.mark.parametrize("count", [1, 2])
    def test_a_class_with_fewer_rows_than_folds_leaves_the_others_their_folds(self, count, recwarn):
        rare = np.append(Y, ["zelkova"] * count)
        rows = np.vstack([X, np.full((count, 3), 40.0)])
        model = LDEPClassifierCV(**QUICK | {"cv": 5}).fit(rows, rare)
        assert model.n_splits_ == 5
        assert all(len(member.coefs_) == 10 for member in model.estimators_)
        assert set(model.predict(rows[-count:])) == {"zelkova"}
        assert model.score(FRESH, FRESH_Y) > 0.85
        assert not recwarn.list

    def test_classes_of_one_row_each_get_the_default_classifier_and_a_warning(self):
        with pytest.warns(UserWarning, match="cannot cross-validate, because too few samples"):
            model = LDEPClassifierCV(**QUICK).fit(np.eye(3), ["a", "b", "c"])
        assert model.n_splits_ == 0
        assert list(model.predict(np.eye(3))) == ["a", "b", "c"]
        np.testing.assert_array_equal(model.predict_proba(np.eye(3)).argmax(axis=1), [0, 1, 2])

    def test_a_training_part_without_a_class_is_refused(self):
        keep = np.flatnonzero(CODES != 2)
        with pytest.raises(ValueError, match="training part 0 has no samples of class 'oak'"):
            LDEPClassifierCV(**QUICK | {"cv": [(keep, np.arange(20))]}).fit(X, Y)

    def test_weights_may_not_remove_a_class(self):
        with pytest.raises(ValueError, match="every sample of class 'oak' has weight zero"):
            LDEPClassifierCV(**QUICK).fit(X, Y, (CODES != 2).astype(float))


def test_labels_of_mixed_types_are_refused():
    with pytest.raises(ValueError, match="must be of one type, but there are int, str"):
        LDEPClassifierCV(**QUICK).fit(X, np.array([1, "a", "b", 2] * 40, dtype=object))
