"""Sparse X: trained and predicted without ever being a dense matrix."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from ldep import LDEPClassifier, LDEPClassifierCV

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


def sparse_data(seed: int = 0, m: int = 300, n: int = 20, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Rows with four fifths of zeros, and labels that are not linear in them."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((m, n)) < 0.2, rng.normal(1.0, 1.0, (m, n)), 0.0)
    tau = np.abs(X @ rng.normal(size=n)) + 0.2 * rng.normal(size=m)
    return X, np.digitize(tau, np.quantile(tau, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_the_fit_is_as_good_as_that_of_the_dense_rows(n_classes, alpha, loss):
    """A dense fit also rotates the features: the two take other ways, to objectives that differ by a few percent."""
    X, y = sparse_data(n_classes=n_classes)
    settings = {"r1": 3, "r2": 3, "loss": loss, "alpha": alpha, "n_init": 2, "random_state": 0}
    dense, fitted = LDEPClassifier(**settings).fit(X, y), LDEPClassifier(**settings).fit(sparse.csr_array(X), y)
    assert fitted.objective_ <= 1.1 * dense.objective_ + 0.02 * len(y)
    assert abs(fitted.score(X, y) - dense.score(X, y)) < 0.05


def test_the_objective_is_the_training_problem_of_the_user():
    """The solver's coordinates are centred; the result must not depend on how."""
    X, y = sparse_data()
    model = LDEPClassifier(3, 3, loss="hinge", alpha=0.5, random_state=0).fit(sparse.csr_array(X), y)
    hinge = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X)).sum()
    penalty = 0.5 * (np.square(model.W_).sum() + np.square(model.M_).sum()) / 2
    assert model.objective_ == pytest.approx(hinge + penalty, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_piece_per_maximum_is_as_good_as_the_dense_fit(n_classes, loss):
    """The problem is convex: there is one minimum. The dense hinge of two classes is solved exactly."""
    X, y = make_classification(200, 10, n_informative=5, n_classes=n_classes, random_state=0)
    X[np.abs(X) < 0.5] = 0.0
    settings = {"r1": 1, "r2": 1, "loss": loss, "alpha": "scale", "random_state": 0}
    dense, fitted = (LDEPClassifier(**settings).fit(rows, y) for rows in (X, sparse.csr_array(X)))
    assert fitted.objective_ == pytest.approx(dense.objective_, rel=0.02)


def test_an_offset_of_a_full_column_costs_no_digits():
    """Stored everywhere, it can be centred. The offset is rounded away from the data first."""
    X, y = sparse_data()
    X = np.column_stack([X, (X[:, 0] + y + 1e8) - 1e8])
    shift = np.append(np.zeros(20), 1e8)
    here, there = (LDEPClassifier(3, 3, random_state=0).fit(sparse.csr_array(rows), y) for rows in (X, X + shift))
    assert there.objective_ == pytest.approx(here.objective_, rel=0.05)
    assert abs(there.score(X + shift, y) - here.score(X, y)) < 0.02


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("form", FORMATS)
def test_every_sparse_format_gives_the_same_bits(container, form):
    X, y = sparse_data(m=60)
    expected = LDEPClassifier(2, 2, random_state=0).fit(sparse.csr_array(X), y)
    rows = container(X).asformat(form)
    model = LDEPClassifier(2, 2, random_state=0).fit(rows, y)
    np.testing.assert_array_equal(model.decision_function(rows), expected.decision_function(sparse.csr_array(X)))


@pytest.mark.parametrize(
    ("solver", "loss", "n_classes"),
    [("anneal", "logistic", 2), ("anneal", "logistic", 3), ("anneal", "hinge", 3), ("ccp", "hinge", 2)],
)
@pytest.mark.parametrize("offset", [0.0, 1e6], ids=["no offset", "an offset"])
def test_a_model_gives_sparse_and_dense_rows_the_same_answer(solver, loss, n_classes, offset):
    X, y = sparse_data(m=60, n=5, n_classes=n_classes)
    X[:, 0] += offset  # beyond the size at which a fitted model is centred
    model = LDEPClassifier(2, 2, loss=loss, solver=solver, random_state=0).fit(X, y)
    decision, expected = model.decision_function(sparse.csr_array(X)), model.decision_function(X)
    np.testing.assert_allclose(decision, expected, rtol=1e-9, atol=1e-9 * max(1.0, offset))
    np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), model.predict(X))


def test_explicit_zeros_and_repeated_entries_count_by_their_sums():
    X, y = sparse_data(m=60)
    expected = LDEPClassifier(2, 2, random_state=0).fit(sparse.csr_array(X), y)
    halves, columns = np.repeat(X.ravel() / 2, 2), np.repeat(np.tile(np.arange(X.shape[1]), 60), 2)
    stored = sparse.csr_array((halves, columns, np.arange(0, 2 * X.size + 1, 2 * X.shape[1])), shape=X.shape)
    assert stored.nnz > np.count_nonzero(X)
    entries = stored.nnz
    model = LDEPClassifier(2, 2, random_state=0).fit(stored, y)
    np.testing.assert_array_equal(model.W_, expected.W_)
    np.testing.assert_allclose(model.decision_function(stored), expected.decision_function(X), rtol=1e-12, atol=1e-12)
    assert stored.nnz == entries


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_values_that_are_not_numbers_or_too_large_are_refused(bad):
    X, y = sparse_data(m=60)
    X[3, 4] = bad
    message = {
        "nan": r"sparse X must not have missing values.*X\.toarray\(\)",
        "inf": "infinity",
        "1e+200": r"X\[3, 4\] is 1e\+200",
    }[str(bad)]
    with pytest.raises(ValueError, match=message):
        LDEPClassifier().fit(sparse.csr_array(X), y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "ccp"}, r"'ccp' needs a dense X.*X\.toarray\(\).*solver='anneal'"),
        ({"solver": "dccp"}, r"'dccp' needs a dense X"),
        ({"penalty": "variance"}, r"penalty='variance' needs a dense X.*X\.toarray\(\).*penalty='norm'"),
        ({"solver_options": {"polish": True}}, "'anneal' needs a dense X.*without polish"),
    ],
    ids=repr,
)
def test_what_needs_dense_rows_says_so(settings, message):
    X, y = sparse_data(m=60)
    with pytest.raises(ValueError, match=message):
        LDEPClassifier(**settings).fit(sparse.csr_array(X), y)


@pytest.mark.parametrize(
    "X",
    [sparse.csr_array((20, 3)), sparse.csr_array(np.ones((20, 2))), sparse.csr_array(np.eye(20)[:, :1])],
    ids=["nothing is stored", "nothing varies", "one entry"],
)
def test_useless_columns_leave_the_decision_finite(X):
    model = LDEPClassifier(2, 2, random_state=0).fit(X, np.arange(20) % 2)
    assert np.isfinite(model.decision_function(X)).all()


def test_the_order_of_the_rows_and_repetitions_do_not_matter():
    X, y = sparse_data(m=60)
    X = sparse.csr_array(np.round(X))
    weight, order = np.random.default_rng(0).integers(1, 4, 60), np.random.default_rng(1).permutation(60)
    again = np.repeat(np.arange(60), weight)
    one = LDEPClassifier(2, 2, random_state=0).fit(X, y, sample_weight=weight)
    for rows, labels, weights in ((X[order], y[order], weight[order]), (X[again], y[again], None)):
        other = LDEPClassifier(2, 2, random_state=0).fit(rows, labels, sample_weight=weights)
        np.testing.assert_array_equal(one.W_, other.W_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_contributions_of_sparse_rows_are_sparse_and_sum_to_the_decision_value(n_classes):
    X, y = sparse_data(m=60, n_classes=n_classes)
    rows = sparse.csr_array(X)
    model = LDEPClassifier(2, 2, random_state=0).fit(rows, y)
    explanation, expected = model.explain(rows), model.explain(X)
    assert sparse.issparse(explanation.contributions)
    np.testing.assert_allclose(explanation.contributions.toarray(), expected.contributions, rtol=1e-9, atol=1e-12)
    for name in ("bias", "decision", "label", "rival", "label_piece", "rival_piece"):
        np.testing.assert_allclose(getattr(explanation, name), getattr(expected, name), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("ensemble", [True, False])
class TestSelfTuning:
    """LDEPClassifierCV, which tries only the penalty that keeps rows sparse."""

    def fitted(self, n_classes, ensemble):
        X, y = sparse_data(n_classes=n_classes)
        settings = {"pieces": [(3, 3), (1, 1)], "alphas": [0.1, 1.0], "cv": 3, "ensemble": ensemble, "random_state": 0}
        return LDEPClassifierCV(**settings).fit(sparse.csr_array(X), y), X, y

    def test_it_learns_and_answers_sparse_and_dense_rows_alike(self, n_classes, ensemble):
        model, X, y = self.fitted(n_classes, ensemble)
        assert {params["penalty"] for params in model.cv_results_["params"]} == {"norm"}
        assert model.score(sparse.csr_array(X), y) > (0.85 if n_classes == 2 else 0.7)
        for method in (model.decision_function, model.predict_proba):
            np.testing.assert_allclose(method(sparse.csr_array(X)), method(X), rtol=1e-9, atol=1e-9)

    def test_its_contributions_are_sparse(self, n_classes, ensemble):
        model, X, _ = self.fitted(n_classes, ensemble)
        explanation, expected = model.explain(sparse.csr_array(X[:20])), model.explain(X[:20])
        assert sparse.issparse(explanation.contributions)
        np.testing.assert_allclose(explanation.contributions.toarray(), expected.contributions, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(explanation.decision, expected.decision, rtol=1e-9, atol=1e-9)


def test_self_tuning_by_the_variance_penalty_alone_needs_dense_rows():
    X, y = sparse_data(m=60)
    with pytest.raises(ValueError, match=r"penalties=\['variance'\].* with a sparse X.*X\.toarray\(\), or add 'norm'"):
        LDEPClassifierCV(penalties=["variance"]).fit(sparse.csr_array(X), y)


def test_text_goes_through_a_pipeline():
    good = ["a fine day", "fine and good", "good day", "so fine"] * 3
    bad = ["a bad day", "bad and sad", "sad day", "so sad"] * 3
    model = make_pipeline(TfidfVectorizer(), LDEPClassifier(2, 2, alpha=0.1, random_state=0))
    assert model.fit(good + bad, [1] * 12 + [0] * 12).score(good + bad, [1] * 12 + [0] * 12) == 1.0


@pytest.mark.parametrize(
    ("shape", "megabytes"),
    [((5_000, 40_000), 400), pytest.param((20_000, 50_000), 600, marks=pytest.mark.slow)],
    ids=["1.6 GB if dense", "8 GB if dense"],
)
def test_a_large_sparse_matrix_fits_in_a_fraction_of_its_dense_size(shape, megabytes):
    """One in a thousand entries is stored. A process of its own measures its peak."""
    script = f"""
        import pathlib, re, warnings
        import numpy as np
        from scipy import sparse
        from ldep import LDEPClassifier
        X = sparse.random_array({shape}, density=0.001, format="csr", rng=np.random.default_rng(0))
        y = X @ np.random.default_rng(1).normal(size=X.shape[1]) > 0
        warnings.simplefilter("ignore")
        model = LDEPClassifier(2, 2, n_init=1, max_iter=6, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.9
        assert model.explain(X[:100]).contributions.shape == (100, X.shape[1])
        # Not getrusage, whose peak includes that of the process that started this one.
        print(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 1000 * megabytes
