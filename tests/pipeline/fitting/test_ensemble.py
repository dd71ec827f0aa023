"""Ensembles of tuned models: what is selected, that it is made again as it was, and that a kill changes nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ldep.estimators import member_votes
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import check
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import plan
from ldep_pipeline.fitting import ensemble, models, study, trial
from ldep_pipeline.fitting.ensemble import Candidate
from ldep_pipeline.fitting.specs import Classifier, Impute
from ldep_pipeline.fitting.training_data import Partition, TrainingData, stratified_folds
from tests.support import tiny

TREE = {"class": "sklearn.tree.DecisionTreeClassifier", "search": {"max_depth": {"low": 1, "high": 6}}, "trials": 6}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def study_task(root: Path, entry: dict | None = None, state: str = "state") -> study.StudyTask:
    values = tiny.values()
    values["classifiers"] |= {"tuned": entry or values["classifiers"]["ldep"], "voting": {"ensemble": "tuned"}}
    return plan.study_task("tiny", "tuned", 0, check(values), "digest", root / state)


def fitted(work: study.StudyTask, data: TrainingData, selection: dict):
    return ensemble.fit(
        selection, work.entry, work.impute, data, fold=work.fold, wanted_folds=work.tuning.folds, seed=work.seed
    )


@pytest.mark.parametrize("entry", [None, TREE])  # decision values, and probabilities
def test_the_members_vote_again_as_they_did_in_the_study(root, entry):
    """The votes of the fitted members on their inner test parts are those that the selection has seen."""
    work, data = study_task(root, entry), load_training_data("tiny")
    outcome = study.run_study(work, data)
    selection = outcome["ensemble"]
    assert sum(member["weight"] for member in selection["members"]) == pytest.approx(1.0)
    model = fitted(work, data, selection)[-1]
    splits = trial.inner_splits(data, 0, 3, work.seed)
    trials = study.finished_trials(study.open_study(work.journal, work.metric))
    for index, member in enumerate(selection["members"]):
        params = models.as_trial(member["settings"], work.entry.search)
        recorded = next(trial.user_attrs for trial in trials if trial.params == params)
        for number, (_, test) in enumerate(splits):
            pipe = model.members[index * len(splits) + number]
            votes = ensemble.decode_votes(recorded[f"{study.VOTES}{number}"], len(test))
            again = member_votes(pipe, data.X[test], model.classes_)
            np.testing.assert_array_equal(again.astype(ensemble.STORED), votes.astype(ensemble.STORED))


def test_a_study_that_was_cut_off_selects_the_same_ensemble(root):
    whole, data = study_task(root, TREE), load_training_data("tiny")
    expected = study.run_study(whole, data)["ensemble"]
    journal = whole.journal.read_bytes()
    for cut in np.linspace(0, len(journal), 9).astype(int):
        work = study_task(root, TREE, state=f"cut{cut}")
        work.journal.parent.mkdir(parents=True)
        work.journal.write_bytes(journal[:cut])
        assert study.run_study(work, data)["ensemble"] == expected, f"cut at byte {cut}"


def test_a_study_without_an_ensemble_keeps_no_votes(root):
    values = tiny.values()
    values["classifiers"] |= {"alone": values["classifiers"]["ldep"]}  # the package has an ensemble of `ldep`
    work = plan.study_task("tiny", "alone", 0, check(values), "digest", root / "state")
    assert "ensemble" not in study.run_study(work, load_training_data("tiny"))
    assert study.VOTES.encode() not in work.journal.read_bytes()


def test_the_selection_takes_the_mixture_that_is_right_where_no_candidate_is():
    y = np.array(["a", "a", "b", "b", "b"])
    candidates = [
        Candidate({"n": 1}, np.array([-1.0, 1.0, 1.0, 1.0, 1.0])),
        Candidate({"n": 2}, np.array([-1.0, -1.0, 1.0, 1.0, -1.0])),
        Candidate({"n": 3}, np.array([1.0, 1.0, -1.0, -1.0, -1.0])),
    ]
    selection = ensemble.select(candidates, y, np.array(["a", "b"]))
    assert [member["settings"] for member in selection["members"]] == [{"n": 1}, {"n": 2}]
    assert selection["slope"] > 0


def test_three_classes_vote_and_have_probabilities():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["x", "y", "z"])[y]
    folds = stratified_folds(labels, 3, 0)
    data = TrainingData(X, labels, Partition(folds[:, None]), ["a", "b", "c", "d"], "class")
    entry = Classifier.model_validate(TREE)
    splits = trial.inner_splits(data, 0, 3, 7)
    votes = []
    for number, (train, test) in enumerate(splits):
        pipe = trial.fit_inner_model(entry, {"max_depth": 2}, Impute(), data, train, trial.inner_seed(7, number))
        votes.append(member_votes(pipe, X[test], np.unique(labels)))
    seen = labels[np.concatenate([test for _, test in splits])]
    selection = ensemble.select([Candidate({"max_depth": 2}, np.concatenate(votes))], seen, np.unique(labels))
    model = ensemble.fit(selection, entry, Impute(), data, fold=0, wanted_folds=3, seed=7)
    test = data.test_rows(0)
    probabilities = model.predict_proba(X[test])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X[test]))
    assert model.score(X[test], labels[test]) > 0.85


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"ensemble": "svc"}, "classifiers.voting.ensemble: 'svc' is not tuned; name a model with a search"),
        ({"ensemble": "lpde"}, "classifiers.voting.ensemble: 'lpde' is not one of classifiers"),
        ({"ensemble": "ldep", "trials": 3}, "classifiers.voting: an ensemble has no other key; remove trials"),
    ],
)
def test_an_ensemble_of_nothing_is_refused(entry, message):
    values = tiny.values()
    values["classifiers"]["voting"] = entry
    with pytest.raises(UserError, match=message):
        check(values)
