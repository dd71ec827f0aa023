"""A model that says the same of all training rows says so when it is trained."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from ldep import LDEPClassifier, LDEPClassifierCV, StreamingLDEPClassifier

MOONS = make_moons(100, noise=0.2, random_state=0)
THREE = make_blobs(120, centers=3, random_state=0)
QUIET = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("data", [MOONS, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_penalty_that_leaves_nothing_is_reported_where_fit_was_called(loss, data):
    with pytest.warns(UserWarning, match="LDEPClassifier has learned next to nothing") as caught:
        model = LDEPClassifier(2, 2, loss=loss, alpha=1e12, random_state=0).fit(*data)
    assert np.ptp(model.decision_function(data[0]), axis=0).max() < 1e-6
    assert [record.filename for record in caught] == [__file__]


def test_features_that_do_not_vary_are_reported():
    with pytest.warns(UserWarning, match="LDEPClassifier has learned next to nothing"):
        LDEPClassifier(random_state=0).fit(np.ones((20, 2)), np.arange(20) % 2)


def test_the_hinge_is_constant_where_a_class_is_rare_and_the_logistic_loss_is_not():
    """Two in a hundred rows are positive, among the others: giving up on them costs less than any slope."""
    rng = np.random.default_rng(0)
    hidden, X = rng.normal(size=(2, 400, 1))
    y = (hidden[:, 0] >= np.sort(hidden[:, 0])[-8]).astype(int)
    X = X + 0.3 * hidden
    with pytest.warns(UserWarning, match=r"has learned next to nothing.*class_weight='balanced'.*logistic loss"):
        LDEPClassifier(1, 1, loss="hinge", alpha=10.0, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LDEPClassifier(1, 1, alpha=10.0, random_state=0).fit(X, y)
    assert np.ptp(model.decision_function(X)) > 0.1


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_search_reports_a_vote_that_does_not_vary(ensemble):
    search = LDEPClassifierCV(pieces=[(2, 2)], alphas=[1e12], cv=2, ensemble=ensemble, random_state=0)
    with pytest.warns(UserWarning, match="has learned next to nothing"):
        search.fit(*MOONS)


def test_a_stream_reports_it():
    with pytest.warns(UserWarning, match="has learned next to nothing"):
        StreamingLDEPClassifier(2, 2, alpha=1e12, random_state=0).fit_batches([MOONS])


@QUIET
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_small_and_large_features_are_no_reason(scale):
    X, y = MOONS
    for loss in ("hinge", "logistic"):
        LDEPClassifier(2, 2, loss=loss, random_state=0).fit(scale * X, y)
    LDEPClassifierCV(pieces=[(2, 2)], alphas=[1.0], penalties=["variance"], cv=2, random_state=0).fit(scale * X, y)
