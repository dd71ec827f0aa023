"""A promise is proven for every row of the ranges, or broken by rows that break it."""

from fractions import Fraction

import numpy as np
import pytest

from ldep import LDEPClassifier
from ldep.prove import promise, verify
from tests.support.proven_models import Stated, random_model

KINDS = [(2, 1), (3, 1), (2, 2)]


def rows(seed: int, n: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (50, n))


def assert_evidence(verdict) -> None:
    assert verdict.kept
    for part in verdict.certificate.get("parts", [verdict.certificate]):
        assert part["claims"]
        assert all(holds for holds, _ in verify.check(part))


@pytest.mark.parametrize(("classes", "members"), KINDS)
def test_a_column_without_influence_never_changes_the_class(classes, members):
    model = Stated(random_model(np.random.default_rng(1), 4, 3, classes, members, without=2))
    assert_evidence(promise(model, rows(0), never_changes={"column": "x2"}))


@pytest.mark.parametrize(("classes", "members"), KINDS)
def test_a_column_with_influence_is_shown_to_change_the_class(classes, members):
    model = Stated(random_model(np.random.default_rng(1), 4, 3, classes, members))
    verdict = promise(model, rows(0), never_changes={"column": "x2"})
    assert not verdict.kept
    assert verdict.decided
    first, second = verdict.rows
    assert {name for name in first if first[name] != second[name]} == {"x2"}
    assert len(set(model.numbers(verdict.rows))) == 2


def test_where_keeps_to_the_stated_ranges():
    """The column has influence, but not where another one decides."""
    model = random_model(np.random.default_rng(1), 4, 2, without=2)
    for member in model.members:
        member.slopes[1][:, 2], member.slopes[0][:, 0] = 0.1, -50.0
    stated = Stated(model)
    assert not promise(stated, rows(0), never_changes={"column": "x2"}).kept
    assert_evidence(promise(stated, rows(0), never_changes={"column": "x2", "where": {"x0": [0.5, 1.0]}}))


def test_monotone_models_are_proven_to_be_monotone():
    X = rows(0)
    y = (X[:, 0] + X[:, 1] ** 2 > 0.3).astype(int)
    model = LDEPClassifier(3, 3, monotone={0: 1}, random_state=0).fit(X, y)
    assert_evidence(promise(model, X, monotone={"x0": "up"}))
    falling = promise(model, X, monotone={"x0": "down"})
    values = model.decision_function([list(row.values()) for row in falling.rows])
    assert falling.rows[0]["x0"] > falling.rows[1]["x0"]
    assert values[0] > values[1]


def test_a_range_is_the_range_of_the_decision_values():
    model, X = Stated(random_model(np.random.default_rng(1), 4, 3)), rows(0)
    values = model.decision_function(np.random.default_rng(2).uniform(X.min(axis=0), X.max(axis=0), (10_000, 4)))
    assert_evidence(promise(model, X, range={"decision": [-50.0, 50.0]}))
    verdict = promise(model, X, range={"decision": [-50.0, float(values.max()) - 0.1]})
    assert model.decision_function([list(verdict.rows[0].values())])[0] > values.max() - 0.1


@pytest.mark.parametrize("by", [0.3, 0.999])
def test_the_probability_of_two_rows_differs_by_at_most(by):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = LDEPClassifier(2, 2, random_state=0).fit(X, (X[:, 0] + 0.3 * X[:, 2] > 0).astype(int))
    verdict = promise(model, X, never_changes={"column": "x2", "probability": by, "where": {"x2": [-0.2, 0.2]}})
    if verdict.kept:
        assert_evidence(verdict)
    else:
        p = model.predict_proba([list(row.values()) for row in verdict.rows])[:, 1]
        assert p[1] - p[0] > by
    assert verdict.kept == (by > 0.9)


def test_the_stable_share_is_that_of_the_certificates():
    """The radius in the maximum norm, with the other columns frozen, says the same row by row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = LDEPClassifier(3, 3, random_state=0).fit(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    radius = model.certificate(X, norm="linf", frozen=[1, 2])
    verdict = promise(model, X, stable={"within": {"x0": 0.2}, "share": 0.5})
    assert verdict.share == pytest.approx((radius > 0.2).mean())
    assert_evidence(verdict)


def test_a_missing_number_does_not_rise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (200, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    X[rng.random(200) < 0.3, 0] = np.nan
    model = LDEPClassifier(2, 2, monotone={0: 1}, random_state=0).fit(X, y)
    kept = promise(model, X, monotone={"x0": "up"})
    assert_evidence(kept)
    assert {entry["name"] for entry in kept.certificate["inputs"]} == {"x0", "x1", "rise of x0"}
    broken = promise(model, X, monotone={"x0": "down"})
    high, low = (row["x0"] for row in broken.rows)
    assert np.nanmin(X[:, 0]) <= low < high <= np.nanmax(X[:, 0]) + 1e-9


@pytest.mark.parametrize(
    "stated",
    [{"range": {"decision": [-1e3, 1e3]}}, {"stable": {"within": {"x0": 1e-6}}}, {"agree_with": {"within": 1e3}}],
)
def test_what_only_floating_point_proves_is_not_proven(stated, monkeypatch):
    model = Stated(random_model(np.random.default_rng(1), 4, 3))
    other = Stated(random_model(np.random.default_rng(2), 4, 3))
    assert promise(model, rows(0)[:3], other=other, **stated).share in (None, 1.0)
    monkeypatch.setattr("ldep.prove._search.proven_bound", lambda problem, claim: Fraction(1000))
    assert not promise(model, rows(0)[:3], other=other, **stated).kept


def test_missing_values_are_one_more_value():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(200) < 0.3, 0] = np.nan
    y[np.isnan(X[:, 0])] = 1
    model = LDEPClassifier(2, 2, random_state=0).fit(X, y)
    verdict = promise(model, X, range={"decision": [-1e-3, 1e9], "where": {"x1": [0.0, 0.1]}})
    assert not verdict.kept
    highest = promise(model, X, range={"decision": [-1e9, 1e-3], "where": {"x1": [0.0, 0.1]}})
    assert not highest.kept
    tau = model.decision_function(np.array([[np.nan, 0.05]]))[0]
    assert promise(model, X, range={"decision": [-1e9, tau - 1.0], "where": {"x1": [0.05, 0.05]}}).kept is False


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"never_changes": {"column": "size"}}, "'size' is not a column"),
        ({"never_changes": {"column": "x0", "where": {"x1": [2, 1]}}}, "the smaller one first"),
        ({"monotone": {"x0": "higher"}}, "must be up or down"),
        ({"range": {"probability": [0.1, 0.9], "class": "other"}}, "is not a class"),
        ({"range": {}}, "either probability or decision"),
        ({"stable": {"within": {"x0": -1}}}, "must be a positive number"),
        ({"never": {}}, "one promise is needed"),
    ],
)
def test_bad_promises_are_refused_with_a_sentence(stated, message):
    model = Stated(random_model(np.random.default_rng(0), 4, 2))
    with pytest.raises(ValueError, match=message):
        promise(model, rows(0), **stated)
