"""Training input that cannot be used is refused by a sentence that says what is wrong and what to do."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from ldep import LDEPClassifier, LDEPClassifierCV, StreamingLDEPClassifier

X, Y = make_moons(60, noise=0.2, random_state=0)
THREE_X, THREE = make_blobs(90, centers=3, random_state=0)
QUICK = {"pieces": [(2, 2)], "alphas": [1.0], "cv": 3, "random_state": 0}


class TestLoss:
    @pytest.mark.parametrize("estimator", [LDEPClassifier, StreamingLDEPClassifier])
    @pytest.mark.parametrize("loss", ["log_loss", "squared", None, 1])
    def test_an_unknown_loss_is_refused_with_those_that_exist(self, estimator, loss):
        message = f"'loss' parameter of {estimator.__name__} must be a str among {{.*'hinge'.*}}"
        with pytest.raises(ValueError, match=message):
            estimator(loss=loss).fit(X, Y)

    @pytest.mark.parametrize(
        ("losses", "message"),
        [
            ("hinge", "must be an array-like or a str among {'auto'}. Got 'hinge'"),
            ([], "losses must be a sequence"),
            (["hinge", "log_loss"], "losses: 'log_loss' is not one of hinge, logistic"),
        ],
        ids=repr,
    )
    def test_a_search_names_the_wrong_loss(self, losses, message):
        with pytest.raises(ValueError, match=message):
            LDEPClassifierCV(**QUICK, losses=losses).fit(X, Y)

    @pytest.mark.parametrize("settings", [{"solver": "ccp"}, {"solver": "dccp"}, {"solver_options": {"polish": True}}])
    def test_a_solver_of_the_hinge_says_so(self, settings):
        with pytest.raises(ValueError, match=r"needs loss='hinge', and the loss is another one\. Pass loss='hinge'"):
            LDEPClassifier(2, 2, **settings).fit(X, Y)

    @pytest.mark.parametrize("settings", [{"solver": "ccp"}, {"solver": "dccp"}, {"solver_options": {"polish": True}}])
    def test_a_solver_of_two_classes_says_so(self, settings):
        with pytest.raises(ValueError, match=r"needs two classes, and there are more\. Use solver='anneal'"):
            LDEPClassifier(2, 2, loss="hinge", **settings).fit(THREE_X, THREE)

    @pytest.mark.parametrize("rows", [0, -5])
    def test_hot_rows_must_be_positive(self, rows):
        with pytest.raises(ValueError, match=f"hot_rows={rows} is not a positive number of rows"):
            LDEPClassifier(solver_options={"hot_rows": rows}).fit(X, Y)


class TestClasses:
    @pytest.mark.parametrize("estimator", [LDEPClassifier(2, 2, random_state=0), LDEPClassifierCV(**QUICK)])
    def test_one_class_is_refused(self, estimator):
        with pytest.raises(ValueError, match="needs samples of two classes, but y holds the one class 1"):
            estimator.fit(X, np.ones(60, dtype=int))

    def test_a_fold_of_one_class_is_refused_by_its_number(self):
        ones = np.flatnonzero(Y == 1)
        splits = [(np.arange(30), np.arange(30, 60)), (ones, np.flatnonzero(Y == 0))]
        with pytest.raises(ValueError, match="training part 1 has no samples, or samples of one class only"):
            LDEPClassifierCV(**QUICK | {"cv": splits}).fit(X, Y)

    @pytest.mark.parametrize("loss", ["hinge", "logistic"])
    def test_a_class_with_one_row_is_trained(self, loss):
        """There is nothing to hold out of it: alpha is that of "scale"."""
        rows, y = np.vstack([X, [[9.0, 9.0]]]), np.append(Y, 2)
        model = LDEPClassifier(3, 3, loss=loss, random_state=0).fit(rows, y)
        assert model.predict([[9.0, 9.0]]) == [2]
        assert model.alpha_ == LDEPClassifier(3, 3, loss=loss, alpha="scale", random_state=0).fit(rows, y).alpha_
        two = (Y == 0) | (np.cumsum(Y == 1) == 1) & (Y == 1)
        assert set(LDEPClassifier(2, 2, loss=loss, alpha=0.01, random_state=0).fit(X[two], Y[two]).classes_) == {0, 1}

    @pytest.mark.parametrize("estimator", [LDEPClassifier(2, 2, random_state=0), LDEPClassifierCV(**QUICK)])
    def test_weights_that_empty_a_class_are_refused_by_its_name(self, estimator):
        labels = np.array(["no", "yes"])[Y]
        with pytest.raises(ValueError, match="every sample of class 'yes' has weight zero"):
            estimator.fit(X, labels, sample_weight=(Y == 0).astype(float))
        with pytest.raises(ValueError, match="every sample of class 2 has weight zero"):
            estimator.fit(THREE_X, THREE, sample_weight=(THREE < 2).astype(float))

    def test_class_weights_that_empty_a_class_are_refused_too(self):
        with pytest.raises(ValueError, match="every sample of class 1 has weight zero"):
            LDEPClassifier(class_weight={0: 1.0, 1: 0.0}).fit(X, Y)


class TestScoring:
    def test_a_score_of_two_classes_for_three_is_refused(self):
        with pytest.raises(ValueError, match=r"scoring failed on 3 classes; .* such as roc_auc_ovr"):
            LDEPClassifierCV(**QUICK, scoring="precision").fit(THREE_X, THREE)

    def test_a_score_of_a_class_that_is_not_there_is_refused(self):
        """f1 asks for the class 1."""
        with pytest.raises(ValueError, match=r"scoring failed on 2 classes.*pos_label=1"):
            LDEPClassifierCV(**QUICK, scoring="f1").fit(X, np.array(["no", "yes"])[Y])

    def test_a_callable_that_needs_a_fitted_attribute_fails_by_itself(self):
        def scorer(estimator, rows, labels):
            return estimator.coefs_[0].sum()

        with pytest.raises(AttributeError, match="coefs_"):
            LDEPClassifierCV(**QUICK, scoring=scorer).fit(X, Y)


class TestBudgets:
    @pytest.mark.parametrize("max_fits", [0, -1, 2.5])
    def test_a_budget_that_is_no_positive_number_is_refused(self, max_fits):
        with pytest.raises(ValueError, match="'max_fits' parameter of LDEPClassifierCV must be"):
            LDEPClassifierCV(**QUICK, max_fits=max_fits).fit(X, Y)

    def test_a_budget_below_one_setting_names_the_least(self):
        with pytest.raises(ValueError, match=r"max_fits=2 is too small: one setting takes 3 fits, .* at least 3\."):
            LDEPClassifierCV(**QUICK, max_fits=2).fit(X, Y)

    @pytest.mark.parametrize("estimator", [LDEPClassifier, LDEPClassifierCV])
    @pytest.mark.parametrize(("parameter", "value"), [("max_iter", 0), ("tol", 0.0), ("tol", -1.0)])
    def test_iterations_and_tolerances_must_be_positive(self, estimator, parameter, value):
        with pytest.raises(ValueError, match=f"'{parameter}' parameter of {estimator.__name__} must be"):
            estimator(**{parameter: value}).fit(X, Y)
