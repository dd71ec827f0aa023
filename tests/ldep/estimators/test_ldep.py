"""The ℓ-DEP: what its tau, its explanation and its training promise."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ldep import LDEPClassifier
from ldep.estimators._dep import dilate, erode
from ldep.model import FittedModel, Maxima
from tests.support.fitted_models import fitted

MOONS = make_moons(200, noise=0.15, random_state=0)
seeds = st.integers(0, 2**32 - 1)


def model_of(W, c, M, d) -> LDEPClassifier:
    """A fitted model with these pieces."""
    maxima = Maxima.of_classes([M, W], [d, c], np.zeros(W.shape[1]))
    return fitted(LDEPClassifier(len(W), len(M)), FittedModel.single(maxima), np.array([0, 1]))


def random_model(seed: int) -> tuple[LDEPClassifier, np.ndarray]:
    rng = np.random.default_rng(seed)
    r1, r2, n, m = rng.integers(1, 6, 4)
    model = model_of(rng.normal(size=(r1, n)), rng.normal(size=r1), rng.normal(size=(r2, n)), rng.normal(size=r2))
    return model, rng.normal(size=(m, n))


@given(seeds)
def test_the_difference_of_maxima_is_the_dilation_erosion_form(seed):
    model, X = random_model(seed)
    beta = model.beta_
    paper = beta * dilate(X @ model.R1_.T, model.a_) + (1 - beta) * erode(X @ model.R2_.T, model.b_)
    # Halving and doubling are exact: what is left is the order of additions.
    np.testing.assert_allclose(paper, model.decision_function(X), rtol=1e-12, atol=1e-12)


@given(seeds)
def test_the_order_of_the_pieces_does_not_matter(seed):
    model, X = random_model(seed)
    rng = np.random.default_rng(seed)
    i, j = rng.permutation(len(model.W_)), rng.permutation(len(model.M_))
    shuffled = model_of(model.W_[i], model.c_[i], model.M_[j], model.d_[j])
    np.testing.assert_allclose(shuffled.decision_function(X), model.decision_function(X), rtol=1e-12, atol=1e-12)


@given(seeds)
def test_swapping_dilation_and_erosion_negates_tau(seed):
    model, X = random_model(seed)
    swapped = model_of(model.M_, model.d_, model.W_, model.c_)
    np.testing.assert_array_equal(swapped.decision_function(X), -model.decision_function(X))


@given(seeds)
def test_one_affine_function_added_to_all_pieces_leaves_tau(seed):
    model, X = random_model(seed)
    v, b = np.random.default_rng(seed).normal(size=X.shape[1]), 0.7
    moved = model_of(model.W_ + v, model.c_ + b, model.M_ + v, model.d_ + b)
    np.testing.assert_allclose(moved.decision_function(X), model.decision_function(X), rtol=1e-9, atol=1e-9)


@given(seeds)
def test_the_explanation_sums_to_tau(seed):
    model, X = random_model(seed)
    explanation = model.explain(X)
    tau = model.decision_function(X)
    np.testing.assert_allclose(explanation.contributions.sum(axis=1) + explanation.bias, tau, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(explanation.decision, tau, rtol=1e-9, atol=1e-9)
    slopes = model.W_[explanation.label_piece] - model.M_[explanation.rival_piece]
    np.testing.assert_array_equal(explanation.contributions, slopes * X)


@pytest.mark.parametrize("offset", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_an_offset_of_the_features_costs_the_explanation_no_digits(offset, alpha):
    """The offset is rounded away from the data first, so that both fits see the same numbers."""
    shift = np.array([offset, -3 * offset])
    X = (MOONS[0] + shift) - shift
    shifted = LDEPClassifier(alpha=alpha, random_state=0).fit(X + shift, MOONS[1])
    tau = shifted.decision_function(X + shift)
    explanation = shifted.explain(X + shift)
    error = explanation.contributions.sum(axis=1) + explanation.bias - tau
    assert (np.abs(error) <= 1e-9 * np.maximum(np.abs(tau), 1)).all()
    np.testing.assert_array_equal(shifted.center_ != 0, [True, True])
    loss = np.logaddexp(0.0, (1 - 2 * MOONS[1]) * tau).sum()
    penalty = alpha * (np.square(shifted.W_).sum() + np.square(shifted.M_).sum()) / 2
    assert shifted.objective_ == pytest.approx(loss + penalty, rel=1e-9)


def test_ordinary_features_are_not_centred():
    assert not LDEPClassifier(random_state=0).fit(MOONS[0] + 5.0, MOONS[1]).center_.any()


def test_the_explanation_is_the_gradient_inside_a_region():
    model = LDEPClassifier(3, 3, random_state=0).fit(*MOONS)
    x = MOONS[0][:1]
    step = 1e-7
    explanation = model.explain(x)
    for feature in range(2):
        moved = x.copy()
        moved[0, feature] += step
        slope = (model.decision_function(moved) - model.decision_function(x))[0] / step
        assert slope * x[0, feature] == pytest.approx(explanation.contributions[0, feature], rel=1e-4)


def test_a_frame_is_explained_by_a_frame():
    X = pd.DataFrame(MOONS[0], columns=["left", "bias"], index=np.arange(200) + 1000)
    model = LDEPClassifier(random_state=0).fit(X, MOONS[1])
    frame = model.explain(X.iloc[:5]).to_frame()
    assert list(frame.columns) == ["left", "bias", "bias_", "decision", "label", "rival", "label_piece", "rival_piece"]
    assert list(frame.index) == [1000, 1001, 1002, 1003, 1004]
    np.testing.assert_allclose(frame[["left", "bias", "bias_"]].sum(axis=1), model.decision_function(X.iloc[:5]))


@pytest.mark.parametrize("penalty", ["norm", "variance"])
def test_the_default_alpha_gives_the_same_model_in_other_units(penalty):
    model = LDEPClassifier(penalty=penalty, random_state=0).fit(*MOONS)
    in_other_units = LDEPClassifier(penalty=penalty, random_state=0).fit(1024.0 * MOONS[0], MOONS[1])
    np.testing.assert_allclose(
        in_other_units.decision_function(1024.0 * MOONS[0]), model.decision_function(MOONS[0]), rtol=1e-6, atol=1e-9
    )


def test_the_scaled_alpha_of_standardised_features_is_a_multiple_of_their_number():
    X = np.column_stack([StandardScaler().fit_transform(MOONS[0]), np.full(len(MOONS[0]), 3.0)])
    for penalty in ("norm", "variance"):
        model = LDEPClassifier(2, 2, alpha="scale", penalty=penalty, random_state=0).fit(X, MOONS[1])
        assert model.alpha_ == pytest.approx(0.15 * 2)
    assert LDEPClassifier(2, 2, alpha=0.7).fit(X, MOONS[1]).alpha_ == 0.7


@pytest.mark.parametrize(
    ("loss", "of_margins"),
    [
        ("hinge", lambda margins: np.maximum(0.0, 1.0 - margins)),
        ("logistic", lambda margins: np.log1p(np.exp(-margins))),
    ],
)
def test_the_fitted_attributes_have_their_shapes_and_the_objective_is_F(loss, of_margins):
    model = LDEPClassifier(3, 2, loss=loss, random_state=0).fit(*MOONS)
    assert model.W_.shape == (3, 2)
    assert model.c_.shape == (3,)
    assert model.M_.shape == (2, 2)
    assert model.d_.shape == (2,)
    assert len(model.history_["objective"]) == len(model.history_["seconds"]) == model.n_iter_
    total = of_margins((2 * MOONS[1] - 1) * model.decision_function(MOONS[0])).sum()
    penalty = model.alpha_ * (np.square(model.W_).sum() + np.square(model.M_).sum()) / 2
    # The objective is computed in the solver's coordinates.
    assert model.objective_ == pytest.approx(total + penalty, rel=1e-9)


@pytest.mark.parametrize(
    ("solver", "loss"), [("anneal", "logistic"), ("anneal", "hinge"), ("ccp", "hinge"), ("dccp", "hinge")]
)
def test_every_solver_learns_what_is_not_linear(solver, loss):
    X, y = make_circles(80, noise=0.05, factor=0.4, random_state=0)
    model = LDEPClassifier(4, 4, loss=loss, alpha=0.1, solver=solver, n_init=1, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_one_piece_per_maximum_is_the_linear_svc(alpha):
    """W - M is the SVC's slope at C = 2 / alpha: the cheapest way to a difference v is w = v/2, m = -v/2."""
    X, y = MOONS
    model = LDEPClassifier(1, 1, loss="hinge", alpha=alpha).fit(X, y)
    svc = SVC(kernel="linear", C=2 / alpha, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.W_[0] - model.M_[0], svc.coef_[0], rtol=1e-4)
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_one_piece_per_maximum_and_the_logistic_loss_are_the_logistic_regression(alpha):
    """W - M is its slope at C = 2 / alpha, and so are the probabilities. The tolerance is that of the descent."""
    X, y = MOONS
    model = LDEPClassifier(1, 1, alpha=alpha, tol=1e-6).fit(X, y)
    regression = LogisticRegression(C=2 / alpha, tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.W_[0] - model.M_[0], regression.coef_[0], rtol=0.02, atol=0.02)
    np.testing.assert_allclose(model.predict_proba(X), regression.predict_proba(X), atol=0.01)


def test_the_variance_penalty_is_the_same_in_all_affine_coordinates():
    X, y = MOONS
    mixed = X @ np.array([[1e3, 2e-3], [-5e2, 4e-3]]) + [7.0, -3e4]
    fits = [LDEPClassifier(4, 4, alpha="scale", penalty="variance", random_state=0).fit(Z, y) for Z in (X, mixed)]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=2e-2)
    assert np.mean(fits[0].predict(X) == fits[1].predict(mixed)) > 0.98


def test_more_penalty_means_smaller_slopes():
    sizes = [
        np.square(LDEPClassifier(alpha=alpha, random_state=0).fit(*MOONS).W_).sum() for alpha in (1e-3, 1e-1, 1e1, 1e3)
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_more_starts_are_no_worse():
    X, y = MOONS
    objectives = [LDEPClassifier(alpha=0.01, n_init=k, random_state=3).fit(X, y).objective_ for k in (1, 2, 4)]
    assert objectives == sorted(objectives, reverse=True)


def test_class_weights_move_the_boundary():
    X, y = make_moons(200, noise=0.4, random_state=1)
    towards = [
        LDEPClassifier(class_weight={0: 1, 1: weight}, random_state=0).fit(X, y).predict(X).mean()
        for weight in (0.05, 1, 20)
    ]
    assert towards[0] < towards[1] < towards[2]


def test_works_in_a_pipeline_and_a_grid_search():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LDEPClassifier(random_state=0)),
        {"ldepclassifier__r1": [1, 5], "ldepclassifier__r2": [1, 5]},
        cv=3,
    ).fit(*MOONS)
    assert search.best_score_ > 0.95


def test_column_names_are_kept_and_checked():
    X = pd.DataFrame(MOONS[0], columns=["east", "north"])
    model = LDEPClassifier(random_state=0).fit(X, MOONS[1])
    assert list(model.feature_names_in_) == ["east", "north"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["north", "east"]])


def test_verbose_prints_iterations_and_starts(capsys):
    LDEPClassifier(2, 2, verbose=1, n_init=2, random_state=0).fit(*MOONS)
    output = capsys.readouterr().out
    assert "iteration 1: objective" in output
    assert "start 2 of 2" in output


class TestBadInput:
    @pytest.mark.parametrize(
        ("parameter", "value"),
        [
            ("r1", 0),
            ("r2", -1),
            ("alpha", -0.1),
            ("solver", "adam"),
            ("init", "zeros"),
            ("n_init", 0),
            ("tol", 0.0),
            ("loss", "log"),
        ],
    )
    def test_a_parameter_out_of_range_is_named(self, parameter, value):
        with pytest.raises(ValueError, match=f"'{parameter}' parameter of LDEPClassifier must be"):
            LDEPClassifier(**{parameter: value}).fit(*MOONS)

    def test_one_class(self):
        with pytest.raises(ValueError, match="needs samples of two classes, but y holds the one class 1"):
            LDEPClassifier().fit(MOONS[0], np.ones(200, int))

    def test_negative_weights(self):
        with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
            LDEPClassifier().fit(*MOONS, sample_weight=np.full(200, -1.0))

    def test_a_class_without_weight(self):
        with pytest.raises(ValueError, match="needs samples of two classes: every sample of class 0 has weight zero"):
            LDEPClassifier().fit(*MOONS, sample_weight=MOONS[1].astype(float))

    def test_infinities(self):
        X = MOONS[0].copy()
        X[3, 1] = np.inf
        with pytest.raises(ValueError, match="contains infinity"):
            LDEPClassifier().fit(X, MOONS[1])

    def test_strings(self):
        with pytest.raises(ValueError, match="could not convert string to float"):
            LDEPClassifier().fit(np.array([["a", "b"], ["c", "d"]]), [0, 1])

    def test_a_solver_has_no_such_option(self):
        message = "'ccp' has no option 'cvx_solver'; it has \\['dccp_up_to', 'engine', 'min_iter', 'n_kicks'\\]"
        with pytest.raises(ValueError, match=message):
            LDEPClassifier(loss="hinge", solver="ccp", solver_options={"cvx_solver": "MOSEK"}).fit(*MOONS)

    def test_not_converged(self):
        with pytest.warns(ConvergenceWarning, match="did not converge in 4 iterations: increase max_iter or tol"):
            LDEPClassifier(max_iter=4, tol=1e-9, n_init=1, init="random", alpha=0.01, random_state=0).fit(*MOONS)


class TestHardInput:
    """Extreme input that a fit must accept."""

    def fit(self, X, y, **params):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return LDEPClassifier(random_state=0, **params).fit(X, y)

    @pytest.mark.parametrize("alpha", [0.0, 1.0])
    @pytest.mark.parametrize("penalty", ["norm", "variance"])
    def test_enormous_values(self, alpha, penalty):
        X, y = MOONS
        model = self.fit(X * 1e30, y, alpha=alpha, penalty=penalty)
        assert np.isfinite(model.W_).all()
        if alpha == 0 or penalty == "variance":
            assert model.score(X * 1e30, y) > 0.95

    def test_values_whose_squares_overflow_are_refused(self):
        X = MOONS[0].copy()
        X[5, 1] = 1e200
        with pytest.raises(ValueError, match=r"values beyond 1e\+150: X\[5, 1\] is 1e\+200"):
            LDEPClassifier().fit(X, MOONS[1])

    @pytest.mark.parametrize(("solver", "loss"), [("anneal", "logistic"), ("anneal", "hinge"), ("ccp", "hinge")])
    def test_fewer_rows_than_pieces(self, solver, loss):
        model = self.fit([[0.0], [1.0], [2.0]], [0, 1, 0], r1=10, r2=10, alpha=1e-3, solver=solver, loss=loss)
        assert list(model.predict([[0.0], [1.0], [2.0]])) == [0, 1, 0]

    @pytest.mark.parametrize("alpha", [0.0, 1.0])
    def test_a_constant_column_gets_no_slope(self, alpha):
        X, y = MOONS
        model = self.fit(np.column_stack([X, np.full(200, 0.1)]), y, alpha=alpha)
        np.testing.assert_allclose(model.W_[:, 2], 0.0, atol=1e-9)
        np.testing.assert_allclose(model.M_[:, 2], 0.0, atol=1e-9)

    def test_a_duplicate_column_shares_the_slope(self):
        X, y = MOONS
        model = self.fit(np.column_stack([X, X[:, 0]]), y)
        np.testing.assert_allclose(model.W_[:, 0], model.W_[:, 2], atol=1e-6)

    @pytest.mark.parametrize(("loss", "of_a_row"), [("hinge", 1.0), ("logistic", np.log(2.0))])
    def test_all_rows_the_same(self, loss, of_a_row):
        with pytest.warns(UserWarning, match="LDEPClassifier has learned next to nothing"):
            model = self.fit(np.ones((10, 3)), [0, 1] * 5, loss=loss)
        assert model.objective_ == pytest.approx(10 * of_a_row)

    def test_the_same_point_in_both_classes(self):
        model = self.fit([[0.0], [0.0], [0.0], [1.0]], [0, 1, 1, 0], alpha=1e-6)
        assert list(model.predict([[0.0], [1.0]])) == [1, 0]
