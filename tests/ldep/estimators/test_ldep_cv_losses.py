"""LDEPClassifierCV with models of both losses, and scores that decide settings and votes."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from ldep import LDEPClassifierCV
from ldep.model import fit_decisions

QUICK = {"pieces": [(3, 3), (1, 1)], "alphas": [0.1, 10.0], "random_state": 0}
X, Y = make_classification(240, 6, n_informative=4, flip_y=0.2, weights=[0.75], random_state=0)
SPLITS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
VOTE = {"hinge": 1.0, "logistic": 0.25}


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("ensemble", [True, False])
def test_one_loss_alone(loss, ensemble):
    model = LDEPClassifierCV(**QUICK, losses=[loss], cv=3, ensemble=ensemble).fit(X, Y)
    assert {params["loss"] for params in model.cv_results_["params"]} == {loss}
    assert {member.loss for member in model.estimators_} == {loss}
    assert model.best_params_["loss"] == loss
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


def test_a_model_of_the_logistic_loss_in_the_vote_has_its_own_probabilities():
    model = LDEPClassifierCV(**QUICK, losses=["logistic"], cv=3).fit(X, Y)
    for member in model.estimators_:
        np.testing.assert_allclose(member.predict_proba(X)[:, 1], 1 / (1 + np.exp(-member.decision_function(X))))


def test_a_model_of_the_hinge_in_the_vote_has_none():
    model = LDEPClassifierCV(**QUICK, losses=["hinge"], cv=3).fit(X, Y)
    assert not any(hasattr(member, "predict_proba") for member in model.estimators_)


def out_of_fold_votes(model: LDEPClassifierCV) -> np.ndarray:
    """The votes of each selected setting for rows that its models have not seen, one row of votes per setting."""
    votes = np.zeros((len(model.estimators_) // 3, len(Y)))
    for number, member in enumerate(model.estimators_):
        test = SPLITS[number % 3][1]
        votes[number // 3, test] = np.clip(VOTE[member.loss] * member.decision_function(X[test]), -1.0, 1.0)
    return votes


def negative_log_loss(votes: np.ndarray) -> float:
    link, _ = fit_decisions(votes, Y, np.ones(len(Y)), "identity")
    return -log_loss(Y, link.probabilities(votes))


@pytest.mark.parametrize(
    ("scoring", "score"),
    [
        ("roc_auc", lambda votes: roc_auc_score(Y, votes)),
        ("average_precision", lambda votes: average_precision_score(Y, votes)),
        ("neg_log_loss", negative_log_loss),
    ],
)
def test_a_score_decides_the_best_setting_and_the_votes(scoring, score):
    """The votes of the selection are at least as good as those of each setting in it, and as the default's."""
    model = LDEPClassifierCV(**QUICK, cv=SPLITS, scoring=scoring).fit(X, Y)
    results = model.cv_results_
    assert model.best_score_ == results["mean_test_score"].max()
    votes, shares = out_of_fold_votes(model), results["weight"][results["weight"] > 0]
    reached = score(shares @ votes)
    assert all(reached >= score(one) - 1e-12 for one in votes)
    plain = LDEPClassifierCV(**QUICK, cv=SPLITS).fit(X, Y)
    by_default = plain.cv_results_["weight"][plain.cv_results_["weight"] > 0] @ out_of_fold_votes(plain)
    assert reached >= score(by_default) - 0.005


def test_probabilities_count_in_a_score_without_an_ensemble():
    model = LDEPClassifierCV(**QUICK, cv=SPLITS, scoring="neg_log_loss", ensemble=False).fit(X, Y)
    assert -np.log(2) < model.best_score_ < 0
    assert {params["loss"] for params in model.cv_results_["params"]} == {"hinge", "logistic"}
