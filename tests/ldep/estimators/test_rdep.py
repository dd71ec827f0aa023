"""The reduced DEP: a DEP on the decision values of support vector classifiers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.exceptions import DataConversionWarning
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.svm import SVC

from ldep import DEPClassifier, RDEPClassifier
from ldep.estimators._rdep import bootstrap


def moons(m=120):
    return make_moons(m, noise=0.2, random_state=0)


def test_is_a_dep_on_decision_values():
    X, y = moons()
    model = RDEPClassifier(random_state=0).fit(X, y)
    rho = np.column_stack([svc.decision_function(X) for svc in model.estimators_])
    tau = model.beta_ * (rho + model.a_).max(axis=1) + (1 - model.beta_) * (rho + model.b_).min(axis=1)
    np.testing.assert_allclose(model.decision_function(X), tau, atol=1e-12)
    assert [svc.kernel for svc in model.estimators_] == ["linear", "rbf", "poly"]


def test_learns_what_a_dep_cannot():
    """The moons have no order that the features share; decision values have."""
    X, y = moons()
    assert DEPClassifier(random_state=0).fit(X, y).score(X, y) < 0.85
    assert RDEPClassifier(random_state=0).fit(X, y).score(X, y) > 0.93


def test_is_no_worse_than_the_best_of_its_ensemble():
    """In the hinge loss on the training data: a DEP can pass one value through. 1 % is for where the solver stops."""
    X, y = moons()
    model = RDEPClassifier(random_state=0).fit(X, y)
    losses = [np.maximum(0, 1 - (2 * y - 1) * svc.decision_function(X)).sum() for svc in model.estimators_]
    assert model.objective_ <= 1.01 * min(losses)


def test_the_loss_is_that_of_the_dep_on_the_decision_values():
    X, y = moons()
    model = RDEPClassifier(loss="logistic", random_state=0).fit(X, y)
    assert model.dep_.loss == "logistic"
    margins = (2 * y - 1) * model.decision_function(X)
    assert model.objective_ == pytest.approx(np.logaddexp(0.0, -margins).sum(), rel=1e-10)
    with pytest.raises(ValueError, match="'loss' parameter of RDEPClassifier must be"):
        RDEPClassifier(loss="squared").fit(X, y)


def test_the_members_of_a_bag_differ():
    X, y = moons()
    model = RDEPClassifier("bagging", n_estimators=4, random_state=0).fit(X, y)
    values = {svc.decision_function(X[:1])[0] for svc in model.estimators_}
    assert len(model.estimators_) == len(values) == 4
    assert model.score(X, y) > 0.93


def test_the_users_estimators_are_used_in_turn():
    X, y = moons()
    mine = [SVC(kernel="linear"), SVC(C=10.0)]
    assert [svc.C for svc in RDEPClassifier(estimators=mine).fit(X, y).estimators_] == [1.0, 10.0]
    bag = RDEPClassifier("bagging", estimators=mine, n_estimators=3).fit(X, y)
    assert [svc.kernel for svc in bag.estimators_] == ["linear", "rbf", "linear"]
    assert not hasattr(mine[0], "support_")


def test_large_features_are_standardised_with_a_warning():
    """Without it the linear SVC does not end on a column around 1920."""
    X, y = moons()
    years = np.column_stack([X, np.random.default_rng(0).integers(1890, 1950, len(X))])
    with pytest.warns(DataConversionWarning, match="column 2 of X has the root mean square 19"):
        model = RDEPClassifier(random_state=0).fit(years, y)
    assert model.score(years, y) > 0.9
    np.testing.assert_allclose(model.center_, years.mean(axis=0))
    np.testing.assert_allclose(model.scale_, years.std(axis=0))


def test_ordinary_features_are_used_unchanged():
    model = RDEPClassifier(random_state=0).fit(*moons())
    assert not model.center_.any()
    assert (model.scale_ == 1.0).all()


def test_the_default_classifiers_are_bounded():
    assert all(svc.max_iter == 1_000_000 for svc in RDEPClassifier().fit(*moons()).estimators_)


@given(st.lists(st.floats(0.01, 50.0), min_size=4, max_size=30), st.integers(0, 2**32 - 1))
def test_a_bootstrap_keeps_the_weight_of_each_class(weight, seed):
    """So that no class is ever missing. Tolerance: rounding of the sums."""
    weight = np.array(weight)
    signs = np.where(np.arange(len(weight)) % 3, 1.0, -1.0)
    drawn = bootstrap(signs, weight, np.random.default_rng(seed))
    for sign in (-1.0, 1.0):
        assert drawn[signs == sign].sum() == pytest.approx(weight[signs == sign].sum(), rel=1e-12)


def test_a_bootstrap_leaves_out_about_a_third():
    """(1 - 1/m)^m is close to 1/e; 0.03 is three standard errors of the share of 1000 rows."""
    drawn = bootstrap(np.repeat([-1.0, 1.0], 500), np.ones(1000), np.random.default_rng(0))
    assert np.mean(drawn == 0) == pytest.approx(np.exp(-1), abs=0.03)


class Unweighted(NearestCentroid):
    def decision_function(self, X):
        return X[:, 0]


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ([], "the list is empty"),
        ([GaussianNB()], "GaussianNB has no decision_function"),
        ([SVC(), Unweighted()], "the fit of Unweighted does not take sample_weight"),
    ],
)
def test_unsuitable_estimators_are_refused(estimators, message):
    with pytest.raises(ValueError, match=message):
        RDEPClassifier(estimators=estimators).fit(*moons())


def test_a_feature_far_from_0_beside_its_spread_is_standardised_with_a_warning():
    X, y = moons()
    with pytest.warns(DataConversionWarning, match="column 0 of X has the root mean square 1 and the standard deviat"):
        model = RDEPClassifier(random_state=0).fit(1 + 1e-5 * X, y)
    assert model.score(1 + 1e-5 * X, y) > 0.9


@pytest.mark.filterwarnings("ignore:Solver terminated early")
def test_weights_that_make_the_decision_values_huge_are_refused_with_their_mean():
    X = np.array([[-1.0], [-0.9], [0.9], [1.0], [0.95], [-0.95]])
    y = np.array([0, 0, 1, 1, 0, 1])
    with pytest.raises(ValueError, match=r"lost to rounding\. The weights of the samples have the mean 1e\+40: divide"):
        RDEPClassifier(random_state=0).fit(X, y, sample_weight=np.full(6, 1e40))
