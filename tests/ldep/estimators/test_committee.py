"""A committee is the mean of its members, in tau and in its explanation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid

from ldep import LDEPClassifier, LDEPCommittee

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = LDEPClassifier(r1=3, r2=3, n_init=1, max_iter=40, tol=1e-2)


def moons(m=80):
    return make_moons(m, noise=0.2, random_state=0)


def test_tau_is_the_mean_of_the_members():
    X, y = moons()
    committee = LDEPCommittee(QUICK, cv=4, random_state=0).fit(X, y)
    assert len(committee.estimators_) == 4
    taus = [member.decision_function(X) for member in committee.estimators_]
    np.testing.assert_allclose(committee.decision_function(X), np.mean(taus, axis=0), rtol=1e-14)
    assert (committee.predict(X) == (committee.decision_function(X) >= 0)).all()


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_explanation_sums_to_tau(seed):
    """Tolerance: rounding, of values up to about 100."""
    X, y = moons(40)
    committee = LDEPCommittee(QUICK, cv=2, random_state=0).fit(X, y)
    rows = np.random.default_rng(seed).normal(0, 3, (20, 2))
    explained = committee.explain(rows)
    np.testing.assert_allclose(
        explained.contributions.sum(axis=1) + explained.bias, committee.decision_function(rows), atol=1e-10
    )
    assert explained.dilation.shape == explained.erosion.shape == (20, 2)


def test_a_frame_is_explained_by_a_frame():
    X, y = moons()
    frame = pd.DataFrame(X, columns=["length", "width"], index=np.arange(80) + 7)
    committee = LDEPCommittee(QUICK, cv=2, random_state=0).fit(frame, y)
    explained = committee.explain(frame)
    assert list(explained.columns[:4]) == ["length", "width", "bias", "decision"]
    assert {"dilation_piece_0", "dilation_piece_1", "erosion_piece_0", "erosion_piece_1"} < set(explained.columns)
    np.testing.assert_allclose(explained[["length", "width", "bias"]].sum(axis=1), committee.decision_function(frame))
    assert (explained.index == frame.index).all()


def test_members_that_cannot_explain_leave_the_committee_without_explain():
    X, y = moons()
    committee = LDEPCommittee(LogisticRegression(), random_state=0)
    assert not hasattr(committee, "explain")
    assert not hasattr(committee.fit(X, y), "explain")
    assert hasattr(LDEPCommittee(), "explain")


def test_each_member_sees_its_training_part_and_has_its_own_seed():
    X, y = moons(50)
    splits = list(StratifiedKFold(5).split(X, y))
    committee = LDEPCommittee(QUICK, cv=splits, random_state=0).fit(X, y)
    assert len({member.random_state for member in committee.estimators_}) == 5
    for member, (train, _) in zip(committee.estimators_, splits):
        alone = LDEPClassifier(**member.get_params()).fit(X[train], y[train])
        np.testing.assert_array_equal(alone.decision_function(X), member.decision_function(X))


def test_a_splitter_is_used_unchanged():
    X, y = moons(12)
    assert len(LDEPCommittee(QUICK, cv=LeaveOneOut(), random_state=0).fit(X, y).estimators_) == 12


@pytest.mark.parametrize(("minority", "members"), [(7, 5), (5, 5), (3, 3), (2, 2), (1, 1)])
def test_a_rare_class_reduces_the_folds(minority, members):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (np.arange(30) < minority).astype(int)
    committee = LDEPCommittee(QUICK, random_state=0).fit(X, y)
    assert len(committee.estimators_) == members


def test_a_row_of_weight_zero_is_in_no_fold():
    """It does not count towards the number of folds either."""
    X, y = moons(40)
    weight = np.ones(40)
    weight[np.flatnonzero(y)[:17]] = 0.0
    weighted = LDEPCommittee(QUICK, random_state=0).fit(X, y, weight)
    removed = LDEPCommittee(QUICK, random_state=0).fit(X[weight > 0], y[weight > 0])
    assert len(weighted.estimators_) == 3
    np.testing.assert_array_equal(weighted.decision_function(X), removed.decision_function(X))


def test_a_training_part_of_one_class_is_refused():
    X, y = moons(40)
    with pytest.raises(ValueError, match="training part 1 has samples of one class"):
        LDEPCommittee(QUICK, cv=[(np.arange(40), []), (np.flatnonzero(y), [])]).fit(X, y)


def test_members_need_a_decision_function():
    with pytest.raises(ValueError, match="decision_function"):
        LDEPCommittee(GaussianNB()).fit(*moons())


def test_weights_are_refused_when_the_members_do_not_take_them():
    X, y = moons()

    class Unweighted(NearestCentroid):
        def decision_function(self, X):
            return X[:, 0]

    LDEPCommittee(Unweighted()).fit(X, y)
    with pytest.raises(ValueError, match=r"Unweighted\.fit does not take it"):
        LDEPCommittee(Unweighted()).fit(X, y, np.ones(len(y)))
