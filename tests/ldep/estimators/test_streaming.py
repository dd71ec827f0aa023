"""Training on batches: the same problem as in memory, whatever the batches, in memory that does not grow."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from ldep import LDEPClassifier, StreamingLDEPClassifier

X, y = make_moons(6000, noise=0.25, random_state=0)
TEST = make_moons(6000, noise=0.25, random_state=1)


def cut(size, X=X, y=y):
    return [(X[k : k + size], y[k : k + size]) for k in range(0, len(X), size)]


def mean_loss(model, X=X, y=y):
    margins = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X)
    losses = np.maximum(0.0, 1.0 - margins) if model.loss == "hinge" else np.logaddexp(0.0, -margins)
    return float(losses.mean())


both_losses = pytest.mark.parametrize("loss", ["hinge", "logistic"])


@both_losses
def test_where_the_sample_holds_all_rows_the_model_is_that_of_LDEPClassifier_to_the_bit(loss):
    whole = LDEPClassifier(3, 3, loss=loss, alpha="scale", random_state=5).fit(X, y)
    streamed = StreamingLDEPClassifier(3, 3, loss=loss, random_state=5).fit_batches(cut(700))
    np.testing.assert_array_equal(whole.decision_function(TEST[0]), streamed.decision_function(TEST[0]))
    assert whole.objective_ == streamed.objective_
    assert streamed.n_iter_ == 0


@both_losses
@pytest.mark.parametrize("penalty", ["norm", "variance"])
def test_the_model_is_fitted_to_all_rows_and_not_only_to_the_sample(penalty, loss):
    settings = {"r1": 4, "r2": 4, "loss": loss, "alpha": "scale", "penalty": penalty, "random_state": 0}
    sample_alone = StreamingLDEPClassifier(**settings, sample_size=100).partial_fit(X, y)
    streamed = StreamingLDEPClassifier(**settings, sample_size=100).fit_batches(cut(1000))
    memory = LDEPClassifier(**settings).fit(X, y)
    assert streamed.n_iter_ > 0
    assert mean_loss(streamed) < mean_loss(sample_alone)
    # Local minima differ by a few per cent.
    assert streamed.objective_ < 1.05 * memory.objective_
    assert streamed.score(*TEST) > memory.score(*TEST) - 0.005


def test_the_order_of_the_rows_hardly_matters():
    """A file sorted by class is the worst case for stochastic steps; here only the sample differs."""
    order = np.lexsort((X[:, 0], y))
    shuffled = StreamingLDEPClassifier(4, 4, sample_size=1000, random_state=0).fit_batches(cut(500))
    by_class = StreamingLDEPClassifier(4, 4, sample_size=1000, random_state=0).fit_batches(cut(500, X[order], y[order]))
    assert abs(shuffled.score(*TEST) - by_class.score(*TEST)) < 0.005
    assert by_class.objective_ == pytest.approx(shuffled.objective_, rel=0.05)


def test_other_batches_of_the_same_rows_give_as_good_a_model():
    """Sums are rounded differently, so the descents end in local minima that differ by a few per cent."""
    one = StreamingLDEPClassifier(3, 3, sample_size=500, random_state=0).fit_batches(cut(4096))
    other = StreamingLDEPClassifier(3, 3, sample_size=500, random_state=0).fit_batches(cut(999))
    assert other.objective_ == pytest.approx(one.objective_, rel=0.03)
    again = StreamingLDEPClassifier(3, 3, sample_size=500, random_state=0).fit_batches(cut(999))
    np.testing.assert_array_equal(other.W_, again.W_)


@both_losses
def test_the_objective_is_that_of_all_rows(loss):
    model = StreamingLDEPClassifier(3, 3, loss=loss, sample_size=500, alpha=2.0, random_state=0)
    model.fit_batches(cut(1000))
    slopes = np.vstack([model.W_, model.M_])
    assert model.objective_ == pytest.approx(len(X) * mean_loss(model) + np.square(slopes).sum(), rel=1e-5)


def test_the_default_alpha_is_that_of_all_rows():
    model = StreamingLDEPClassifier(3, 3, sample_size=500, random_state=0).fit_batches(cut(1000))
    assert model.alpha_ == pytest.approx(0.15 * X.var(axis=0).sum())


def test_a_constant_column_gets_no_slope():
    wide = np.column_stack([X, np.full(len(X), 7.0), X[:, 0]])
    model = StreamingLDEPClassifier(3, 3, sample_size=500, random_state=0).fit_batches(cut(1000, wide))
    assert np.abs(model.W_[:, 2]).max() < 1e-9
    assert model.score(wide, y) > 0.9


def test_many_columns_are_only_scaled():
    noise = np.random.default_rng(0).normal(size=(400, 700))
    noise[:, 0] += 3.0 * y[:400]
    model = StreamingLDEPClassifier(1, 1, sample_size=200, alpha=100.0, random_state=0)
    assert model.fit_batches(cut(100, noise, y[:400])).score(noise, y[:400]) > 0.9


def test_a_generator_is_refused():
    with pytest.raises(TypeError, match="partial_fit"):
        StreamingLDEPClassifier().fit_batches(batch for batch in cut(100))


def test_rows_that_change_between_passes_are_refused():
    class Growing:
        passes = 0

        def __iter__(self):
            self.passes += 1
            return iter(cut(1000) + cut(1000)[: self.passes - 1])

    with pytest.raises(ValueError, match="6000 rows in the first pass and 7000 in a later one"):
        StreamingLDEPClassifier(2, 2, sample_size=500).fit_batches(Growing())


def test_input_that_cannot_be_trained_on_is_refused_with_the_reason():
    model = StreamingLDEPClassifier(2, 2, sample_size=10, random_state=0)
    with pytest.raises(ValueError, match="no batch"):
        model.fit_batches([])
    with pytest.raises(ValueError, match="the one class 0 only"):
        model.fit_batches([(X, np.zeros(len(X), dtype=int))])
    with pytest.raises(ValueError, match="'loss' parameter of StreamingLDEPClassifier must be"):
        StreamingLDEPClassifier(2, 3, loss="log").fit_batches([(X, y)])
    rare = np.zeros(len(X), dtype=int)
    rare[0] = 1
    with pytest.raises(ValueError, match="No row of class 1 is in the sample of 10 rows: increase sample_size"):
        model.fit_batches([(X, rare)])
    with pytest.raises(ValueError, match="features"):
        model.fit_batches([(X, y), (X[:, :1], y)])


def test_partial_fit_learns_as_rows_come():
    model = StreamingLDEPClassifier(4, 4, sample_size=2000, random_state=0)
    scores = [model.partial_fit(*batch, classes=[0, 1]).score(*TEST) for batch in cut(150)]
    assert model.n_samples_seen_ == 6000
    assert len(model.sample_[0]) == 2000
    assert scores[-1] > 0.93
    assert scores[-1] > scores[0]


def test_partial_fit_up_to_the_sample_is_the_fit_of_all_rows():
    model = StreamingLDEPClassifier(3, 3, random_state=0)
    for batch in cut(3000):
        model.partial_fit(*batch)
    whole = LDEPClassifier(3, 3, alpha="scale", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(TEST[0]), whole.decision_function(TEST[0]))


def test_partial_fit_may_start_with_one_class_if_it_is_given_both():
    model = StreamingLDEPClassifier(2, 2, random_state=0).partial_fit(X[y == 1][:50], y[y == 1][:50], classes=[0, 1])
    assert set(model.predict(X)) == {1}
    assert model.partial_fit(X[:500], y[:500]).score(*TEST) > 0.8
    with pytest.raises(ValueError, match="the one class 1 only"):
        StreamingLDEPClassifier().partial_fit(X[y == 1], y[y == 1])
    with pytest.raises(ValueError, match="y contains 7"):
        model.partial_fit(X[:2], [7, 1])
    with pytest.raises(ValueError, match="in the first call"):
        model.partial_fit(X[:2], y[:2], classes=[1, 2])
