"""The morphological perceptrons and the lattice they live on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ldep import DEPClassifier, DilationPerceptron, ErosionPerceptron
from ldep.estimators._dep import CHUNK, dilate, erode

ALL = [DilationPerceptron, ErosionPerceptron, DEPClassifier]
all_three = pytest.mark.parametrize("perceptron", ALL)

reals = st.floats(-1e6, 1e6)
rows = arrays(float, (6, 3), elements=reals)
offsets = arrays(float, 3, elements=reals)


@given(rows, offsets)
def test_a_dilation_commutes_with_the_supremum(X, a):
    """To the last bit: adding rounds monotonically."""
    assert dilate(X.max(axis=0, keepdims=True), a) == dilate(X, a).max()


@given(rows, offsets)
def test_an_erosion_commutes_with_the_infimum(X, b):
    assert erode(X.min(axis=0, keepdims=True), b) == erode(X, b).min()


@given(rows, offsets)
def test_erosion_and_dilation_are_dual(X, b):
    np.testing.assert_array_equal(erode(X, b), -dilate(-X, -b))


def test_rows_beyond_a_chunk_count():
    X = np.random.default_rng(0).normal(size=(2 * CHUNK + 3, 4))
    np.testing.assert_array_equal(dilate(X, np.arange(4.0)), (X + np.arange(4.0)).max(axis=1))


def boxed(perceptron, m=300):
    """Normal features, tau of a model of this kind, and its sign as the class, with a tenth of the labels turned."""
    rng = np.random.default_rng(0)
    X = 2.0 * rng.normal(size=(m, 3))
    a, b = np.array([-1.0, 0.0, -2.0]), np.array([1.0, 2.0, 0.5])
    tau = {
        DilationPerceptron: dilate(X, a),
        ErosionPerceptron: erode(X, b),
        DEPClassifier: 0.4 * dilate(X, a) + 0.6 * erode(X, b),
    }[perceptron]
    return X, (tau >= 0) ^ (rng.random(m) < 0.1), tau


def hinge(y, tau, weight=1.0):
    return np.sum(weight * np.maximum(0.0, 1.0 - np.where(y, 1, -1) * tau))


@all_three
def test_learns_what_it_can_represent(perceptron):
    """The loss is no higher than that of the model that made the labels."""
    X, y, tau = boxed(perceptron)
    assert perceptron(random_state=0).fit(X, y).objective_ <= hinge(y, tau)


@all_three
def test_classes_apart_by_the_margin_have_no_loss(perceptron):
    """The two classes lie apart by the margin in every feature: the hinge loss is zero."""
    X = np.vstack([np.random.default_rng(0).uniform(-3, -1, (40, 3)), np.random.default_rng(1).uniform(1, 3, (40, 3))])
    model = perceptron(random_state=0).fit(X, np.repeat([0, 1], 40))
    assert model.objective_ < 1e-3


def logistic(y, tau, weight=1.0):
    return np.sum(weight * np.logaddexp(0.0, np.where(y, -1, 1) * tau))


@all_three
@pytest.mark.parametrize(
    ("solver", "loss", "value"), [("anneal", "hinge", hinge), ("ccp", "hinge", hinge), ("anneal", "logistic", logistic)]
)
def test_the_objective_is_the_loss_of_tau(perceptron, solver, loss, value):
    X, y, _ = boxed(perceptron, m=120)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    model = perceptron(loss=loss, solver=solver, random_state=0).fit(X, y, weight)
    assert model.objective_ == pytest.approx(value(y, model.decision_function(X), weight), rel=1e-10)


@all_three
def test_each_loss_is_lower_in_the_model_that_was_trained_with_it(perceptron):
    """Up to local minima, which differ by less than 1 %."""
    X, y, _ = boxed(perceptron)
    by_hinge, by_logistic = (
        perceptron(loss=loss, random_state=0).fit(X, y).decision_function(X) for loss in ("hinge", "logistic")
    )
    assert (by_hinge != by_logistic).any()
    assert hinge(y, by_hinge) <= 1.01 * hinge(y, by_logistic)
    assert logistic(y, by_logistic) <= 1.01 * logistic(y, by_hinge)


@all_three
def test_a_loss_that_is_unknown_or_not_that_of_the_solver_is_refused(perceptron):
    X, y, _ = boxed(perceptron, m=20)
    with pytest.raises(ValueError, match=f"'loss' parameter of {perceptron.__name__} must be"):
        perceptron(loss="squared").fit(X, y)
    with pytest.raises(ValueError, match="'ccp' needs loss='hinge', and the loss is another one"):
        perceptron(loss="logistic", solver="ccp").fit(X, y)


@all_three
def test_the_convex_concave_procedure_descends(perceptron):
    X, y, _ = boxed(perceptron, m=120)
    course = perceptron(solver="ccp", init="random", n_init=1, random_state=0).fit(X, y).history_["objective"]
    assert np.all(np.diff(course) <= 0)


def test_tau_is_the_convex_combination():
    X, y, _ = boxed(DEPClassifier)
    model = DEPClassifier(random_state=0).fit(X, y)
    assert 0.0 < model.beta_ < 1.0
    expected = model.beta_ * (X + model.a_).max(axis=1) + (1 - model.beta_) * (X + model.b_).min(axis=1)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-14)


@pytest.mark.parametrize(("operator", "beta", "idle"), [(erode, 0.0, "a_"), (dilate, 1.0, "b_")])
def test_at_the_ends_of_beta_the_idle_offsets_are_zero(operator, beta, idle):
    """Classes nearer to each other than the margin: the operator that tells them apart wants all of the slope."""
    X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    y = operator(X, np.zeros(2)) > 0
    model = DEPClassifier(random_state=0).fit(X, y)
    assert model.beta_ == beta
    assert not getattr(model, idle).any()
    assert model.objective_ == pytest.approx(hinge(y, model.decision_function(X)), rel=1e-10)


@all_three
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_larger_features_never_lower_tau(perceptron, seed):
    """The order that a lattice model presupposes, whatever the labels say."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    model = perceptron(max_iter=40, random_state=0).fit(X, y)
    assert (model.decision_function(X + rng.uniform(0, 1, X.shape)) >= model.decision_function(X)).all()


@all_three
def test_reversed_classes_cannot_be_learned(perceptron):
    """No sign is changed silently: the best it can do is to predict the majority."""
    X = np.vstack([np.full((20, 2), 2.0), np.full((30, 2), -2.0)]) + np.random.default_rng(0).normal(0, 0.1, (50, 2))
    y = np.repeat([0, 1], [20, 30])
    assert perceptron(random_state=0).fit(X, y).score(X, y) == 0.6
    assert perceptron(random_state=0).fit(-X, y).score(-X, y) == 1.0


@all_three
def test_moving_the_data_moves_the_offsets(perceptron):
    """Tolerance: the solver's float32."""
    X, y, _ = boxed(perceptron)
    shift = np.array([100.0, -50.0, 3.0])
    here = perceptron(init="box").fit(X, y)
    there = perceptron(init="box").fit(X + shift, y)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-2)
    np.testing.assert_allclose(there.decision_function(X + shift), here.decision_function(X), atol=0.1)


def test_dilation_and_erosion_train_as_duals():
    """-X and the other class: the same objective, up to the order of the float32 sums."""
    X, y, _ = boxed(ErosionPerceptron)
    erosion = ErosionPerceptron(init="box").fit(X, y)
    dilation = DilationPerceptron(init="box").fit(-X, ~y)
    assert dilation.objective_ == pytest.approx(erosion.objective_, rel=1e-2)


@all_three
def test_a_spread_beside_which_the_margin_is_lost_is_refused(perceptron):
    X, y, _ = boxed(perceptron)
    X[0, 1] = 1e30
    with pytest.raises(ValueError, match=r"spread 1e\+30 of column 1 .* Standardise"):
        perceptron().fit(X, y)


def test_an_unknown_option_of_the_solver_is_refused():
    X, y, _ = boxed(DEPClassifier, m=20)
    with pytest.raises(ValueError, match="'anneal' has no option 'engine'"):
        DEPClassifier(solver_options={"engine": "highs"}).fit(X, y)
