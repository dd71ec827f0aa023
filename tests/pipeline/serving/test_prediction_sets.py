"""The output `set`: calibrated on unseen rows for every model, the same from Python, MLflow and `ldep score`."""

import json

import mlflow
import numpy as np
import pandas as pd
import pytest

from ldep.model import class_scores
from ldep_pipeline.commands import score
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.registry import download
from ldep_pipeline.serving import prediction_sets
from ldep_pipeline.serving.prediction_sets import ServedSets
from tests.support import registered

LDEP, SVC = f"models:/ldep-{registered.NAME}@champion", f"models:/ldep-{registered.BASELINE}@champion"


def of_three_classes(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Shares of votes, and classes that are drawn with these probabilities."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([0.7, 0.7, 0.7], count)
    return shares, np.array(["a", "b", "c"])[(rng.random((count, 1)) > shares.cumsum(axis=1)).sum(axis=1)]


@pytest.mark.parametrize("uri", [LDEP, SVC])
def test_the_coverage_of_a_registered_model_is_near_the_nominal_one(registered_project, uri):
    """With 150 rows for the calibration, the coverage has a standard deviation of 2.4 points."""
    served, rows = download.load(uri, registered_project), registered.rows(2000, seed=5)
    for coverage in (0.8, 0.9):
        answers = served.predict(rows, {"output": "set", "coverage": coverage})
        covered = np.mean([label in answer["set"] for label, answer in zip(rows["sold"], answers)])
        assert abs(covered - coverage) < 0.08


def test_python_mlflow_and_score_agree(registered_project, tmp_path):
    rows = registered.rows(80, seed=6)
    params = {"output": "set", "coverage": 0.8}
    served = download.load(LDEP, registered_project)
    expected = served.predict(rows, params)
    assert [answer["class"] for answer in expected] == served.predict(rows)
    assert {len(answer["set"]) for answer in expected} >= {1}
    with download.checked_copy(LDEP, registered_project) as folder:
        assert mlflow.pyfunc.load_model(str(folder)).predict(rows, params=params) == expected
    rows.to_csv(tmp_path / "in.csv", index=False)
    score.run(LDEP, tmp_path / "in.csv", tmp_path / "out.csv", coverage=0.8, root=registered_project)
    table = pd.read_csv(tmp_path / "out.csv")
    for label in served.classes:
        assert table[f"set_contains_{label}"].tolist() == [label in answer["set"] for answer in expected]


def test_classwise_sets_have_limits_of_their_own(registered_project):
    served, rows = download.load(LDEP, registered_project), registered.rows(300, seed=7)
    plain, classwise = (
        served.predict(rows, {"output": "set", "coverage": 0.8, "classwise": by}) for by in (False, True)
    )
    assert plain != classwise


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"coverage": 1.0}, "params.coverage is 1.0; it must be a number above 0 and at most 0.999"),
        ({"coverage": "0.9"}, "params.coverage is '0.9'"),
        ({"classwise": 1}, "params.classwise is 1; it must be true or false"),
    ],
)
def test_wrong_parameters_are_refused(registered_project, params, message):
    served = download.load(LDEP, registered_project)
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        served.predict(registered.rows(3), {"output": "set", **params})


def test_a_model_without_sets_says_so(registered_project, tmp_path):
    served = download.load(LDEP, registered_project)
    served.sets = None
    (answer,) = served.predict(registered.rows(1), {"output": "set"})
    assert answer["set"] == {"not_available": prediction_sets.NONE}


def test_score_refuses_a_coverage_that_cannot_be(registered_project, tmp_path):
    registered.rows(5).to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(UserError, match="--sets: coverage is 90"):
        score.run(LDEP, tmp_path / "in.csv", tmp_path / "out.csv", coverage=90.0, root=registered_project)
    assert not (tmp_path / "out.csv").exists()


def test_shares_of_votes_count_by_their_logarithms():
    shares, y = of_three_classes(400)
    sets = ServedSets.fit(shares, y, np.array(["a", "b", "c"]))
    assert sets.shares
    new, truth = of_three_classes(4000, seed=1)
    contains = sets.contains(new, 0.9)
    np.testing.assert_array_equal(contains, class_scores(np.log(new)) <= sets.limits.at(0.9))
    assert abs(contains[np.arange(4000), np.searchsorted(["a", "b", "c"], truth)].mean() - 0.9) < 0.05
    assert not ServedSets.fit(shares - 0.1, y, np.array(["a", "b", "c"])).shares


def test_rows_that_no_fold_tests_are_left_out():
    shares, y = of_three_classes(300)
    with_gap = shares.copy()
    with_gap[:100] = np.nan
    classes = np.array(["a", "b", "c"])
    expected = ServedSets.fit(shares[100:], y[100:], classes).limits.overall
    np.testing.assert_array_equal(ServedSets.fit(with_gap, y, classes).limits.overall, expected)


def test_the_threshold_of_the_answer_says_nothing_about_the_sets():
    tau = np.random.default_rng(0).normal(size=200)
    y = np.where(tau + np.random.default_rng(1).normal(size=200) > 0, "yes", "no")
    columns, classes = np.column_stack([-tau, tau]) / 2, np.array(["no", "yes"])
    plain, moved = (ServedSets.fit(columns, y, classes, threshold) for threshold in (0.0, 0.7))
    np.testing.assert_array_equal(plain.contains(tau, 0.9), moved.contains(tau - 0.7, 0.9))


def test_what_is_stored_is_what_is_read():
    shares, y = of_three_classes(60)
    sets = ServedSets.fit(shares, y, np.array(["a", "b", "c"]), 0.5)
    assert np.isinf(sets.limits.overall).any()
    read = prediction_sets.from_json(json.loads(json.dumps(prediction_sets.to_json(sets), allow_nan=False)))
    np.testing.assert_array_equal(read.limits.overall, sets.limits.overall)
    np.testing.assert_array_equal(read.limits.by_class, sets.limits.by_class)
    assert read[1:] == sets[1:]
