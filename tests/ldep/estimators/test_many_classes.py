"""The ℓ-DEP with more than two classes: one difference of two maxima per class."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from ldep import DEPClassifier, LDEPClassifier, StreamingLDEPClassifier

IRIS = load_iris(return_X_y=True)
BLOBS = make_blobs(300, centers=12, n_features=3, cluster_std=1.2, random_state=0)
XOR = BLOBS[0], BLOBS[1] % 4  # three clusters per class
NAMES = np.array(["ash", "beech", "oak", "yew"])


def small(**settings) -> LDEPClassifier:
    return LDEPClassifier(**{"r1": 3, "r2": 3, "alpha": 0.1, "n_init": 1, "random_state": 0} | settings)


def hinge(scores: np.ndarray, y: np.ndarray) -> float:
    """The sum of max(0, 1 + max_{l != y} s_l - s_y), one row at a time."""
    return sum(max(0.0, 1.0 + np.delete(row, own).max() - row[own]) for row, own in zip(scores, y))


def logistic(scores: np.ndarray, y: np.ndarray) -> float:
    """The sum of log(sum_l exp(s_l - s_y)), one row at a time."""
    return sum(np.log(np.exp(row - row[own]).sum()) for row, own in zip(scores, y))


LOSSES = pytest.mark.parametrize(("loss", "value"), [("hinge", hinge), ("logistic", logistic)])


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_each_class_gets_its_clusters(loss):
    assert small(loss=loss).fit(*XOR).score(*XOR) > 0.85


def test_a_class_between_two_others_needs_its_subtracted_maximum():
    """Three classes on a line: the score of the middle one is high between the others and low on both sides."""
    X = np.repeat([-2.0, 0.0, 2.0], 30)[:, None] + 0.2 * np.random.default_rng(0).normal(size=(90, 1))
    y = np.repeat([0, 1, 2], 30)
    model = LDEPClassifier(1, 2, alpha=0.1, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    line = np.array([[-4.0], [0.0], [4.0]])
    left, middle, right = model.decision_function(line)[:, 1]
    assert middle > left
    assert middle > right


def test_the_shapes_and_the_prediction():
    model = small(r2=2).fit(XOR[0], NAMES[XOR[1]])
    scores = model.decision_function(XOR[0])
    assert scores.shape == (300, 4)
    np.testing.assert_array_equal(model.classes_, NAMES)
    np.testing.assert_array_equal(model.predict(XOR[0]), NAMES[scores.argmax(axis=1)])
    assert [slopes.shape for slopes in model.coefs_] == [(3, 3)] * 4 + [(2, 3)] * 4
    maxima = [(XOR[0] @ w.T + c).max(axis=1) for w, c in zip(model.coefs_, model.intercepts_)]
    for k in range(4):
        np.testing.assert_allclose(scores[:, k], maxima[k] - maxima[4 + k], rtol=1e-12, atol=1e-12)


@LOSSES
@pytest.mark.parametrize("r2", [3, 1])
def test_the_objective_is_the_loss_plus_the_penalty(loss, value, r2):
    model = small(alpha=0.3, loss=loss, r2=r2).fit(*XOR)
    total = value(model.decision_function(XOR[0]), XOR[1])
    penalty = 0.3 / 2 * sum(np.square(slopes).sum() for slopes in model.coefs_)
    assert model.objective_ == pytest.approx(total + penalty, rel=1e-6)


def test_one_piece_each_is_the_linear_svc_of_crammer_and_singer():
    """The cheapest way to a slope v of a class is v/2 and -v/2, which costs half: alpha is twice that of liblinear.

    The descent stops within 1 % of liblinear's solution, which shrinks the intercepts a little too.
    """
    X = StandardScaler().fit_transform(IRIS[0])
    model = LDEPClassifier(1, 1, loss="hinge", alpha=1.0, tol=1e-4, random_state=0).fit(X, IRIS[1])
    svc = LinearSVC(C=2.0, multi_class="crammer_singer", intercept_scaling=10, tol=1e-6, max_iter=100_000)
    scores = svc.fit(X, IRIS[1]).decision_function(X)
    other = hinge(scores, IRIS[1]) + 0.25 * np.square(svc.coef_).sum()
    assert model.objective_ == pytest.approx(other, rel=0.01)


def test_one_piece_each_and_the_logistic_loss_are_the_logistic_regression():
    X = StandardScaler().fit_transform(IRIS[0])
    model = LDEPClassifier(1, 1, alpha=1.0, tol=1e-6, random_state=0).fit(X, IRIS[1])
    regression = LogisticRegression(C=2.0, tol=1e-8, max_iter=1000).fit(X, IRIS[1])
    np.testing.assert_allclose(model.predict_proba(X), regression.predict_proba(X), atol=0.01)
    other = logistic(regression.decision_function(X), IRIS[1]) + 0.25 * np.square(regression.coef_).sum()
    assert model.objective_ == pytest.approx(other, rel=1e-3)


def test_the_order_of_the_rows_does_not_matter_and_a_weight_is_a_repetition():
    rng = np.random.default_rng(0)
    order, weight = rng.permutation(300), rng.integers(0, 3, 300)
    weighted = small().fit(*XOR, sample_weight=weight)
    repeated = np.repeat(np.arange(300), weight)
    for rows in (order, repeated):
        weights = weight[order] if rows is order else None
        other = small().fit(XOR[0][rows], XOR[1][rows], sample_weight=weights)
        np.testing.assert_array_equal(other.decision_function(XOR[0]), weighted.decision_function(XOR[0]))


def test_a_heavy_class_is_predicted_more_often():
    plain, heavy = small(alpha=10.0).fit(*XOR), small(alpha=10.0, class_weight={0: 1, 1: 1, 2: 50, 3: 1}).fit(*XOR)
    assert (heavy.predict(XOR[0]) == 2).sum() > (plain.predict(XOR[0]) == 2).sum()


def test_a_class_may_have_one_row():
    X, y = np.vstack([XOR[0], [[50.0, 0.0, 0.0]]]), np.append(XOR[1], 9)
    assert small().fit(X, y).predict(X[-1:]) == [9]


def test_two_of_many_classes_are_the_model_of_two_classes():
    """Whatever they are called."""
    chosen = XOR[1] < 2
    one = small().fit(XOR[0][chosen], XOR[1][chosen])
    other = small().fit(XOR[0][chosen], NAMES[XOR[1][chosen]])
    assert one.decision_function(XOR[0]).ndim == 1
    np.testing.assert_array_equal(one.decision_function(XOR[0]), other.decision_function(XOR[0]))
    np.testing.assert_array_equal(one.coefs_[0], one.M_)
    np.testing.assert_array_equal(one.coefs_[1], one.W_)
    np.testing.assert_array_equal(one.intercepts_[0], one.d_)
    np.testing.assert_array_equal(one.intercepts_[1], one.c_)


@pytest.mark.parametrize("letter", ["W_", "c_", "M_", "d_", "beta_", "R1_", "a_", "R2_", "b_"])
def test_the_letters_of_two_classes_are_refused_with_the_reason(letter):
    model = small(tol=0.1).fit(*XOR)
    with pytest.raises(AttributeError, match="belongs to a model with two classes, and this one has 4"):
        getattr(model, letter)


class TestExplain:
    model = small().fit(XOR[0], NAMES[XOR[1]])

    def test_by_default_the_predicted_class_is_compared_with_the_runner_up(self):
        scores = self.model.decision_function(XOR[0])
        explanation = self.model.explain(XOR[0])
        order = np.argsort(-scores, axis=1)
        np.testing.assert_array_equal(explanation.label, NAMES[order[:, 0]])
        np.testing.assert_array_equal(explanation.rival, NAMES[order[:, 1]])
        ordered = np.take_along_axis(scores, order, axis=1)
        np.testing.assert_allclose(explanation.decision, ordered[:, 0] - ordered[:, 1], atol=1e-9)

    def test_the_shares_of_a_pair_sum_to_the_difference_of_its_scores(self):
        scores = self.model.decision_function(XOR[0])
        explanation = self.model.explain(XOR[0], pair=("oak", "ash"))
        total = explanation.contributions.sum(axis=1) + explanation.bias
        np.testing.assert_allclose(total, scores[:, 2] - scores[:, 0], atol=1e-9)
        added, subtracted = explanation.label_piece.T, explanation.rival_piece.T
        coefs = self.model.coefs_
        slopes = coefs[2][added[0]] - coefs[6][added[1]] - (coefs[0][subtracted[0]] - coefs[4][subtracted[1]])
        np.testing.assert_allclose(explanation.contributions, slopes * XOR[0], atol=1e-12)

    def test_features_with_a_large_offset_are_measured_from_the_centre(self):
        X = XOR[0] + [1e7, 0.0, 0.0]
        model = small().fit(X, XOR[1])
        scores, explanation = model.decision_function(X), model.explain(X, pair=(3, 1))
        np.testing.assert_allclose(explanation.decision, scores[:, 3] - scores[:, 1], atol=1e-9)

    def test_a_pair_of_a_model_with_two_classes(self):
        chosen = XOR[1] < 2
        model = small().fit(XOR[0][chosen], XOR[1][chosen])
        tau = model.decision_function(XOR[0])
        np.testing.assert_allclose(model.explain(XOR[0], pair=(1, 0)).decision, tau, atol=1e-9)
        np.testing.assert_allclose(model.explain(XOR[0], pair=(0, 1)).decision, -tau, atol=1e-9)

    def test_a_frame_gets_a_frame(self):
        pd = pytest.importorskip("pandas")
        X = pd.DataFrame(XOR[0], columns=["x", "label", "z"])
        frame = small(tol=0.1).fit(X, NAMES[XOR[1]]).explain(X).to_frame()
        others = ["bias", "decision", "label_", "rival"]
        others += ["label_piece_0", "label_piece_1", "rival_piece_0", "rival_piece_1"]
        assert list(frame.columns) == ["x", "label", "z", *others]
        np.testing.assert_allclose(frame[["x", "label", "z", "bias"]].sum(axis=1), frame["decision"], atol=1e-9)

    @pytest.mark.parametrize("pair", ["oak", ("oak",), ("oak", "oak"), ("oak", "elm"), 3])
    def test_a_pair_that_is_none(self, pair):
        with pytest.raises(ValueError, match=r"two different classes out of \['ash', 'beech', 'oak', 'yew'\]"):
            self.model.explain(XOR[0], pair=pair)


BATCHES = [(XOR[0][first : first + 50], NAMES[XOR[1][first : first + 50]]) for first in range(0, 300, 50)]


class TestStreaming:
    def test_a_sample_of_all_rows_gives_the_model_of_memory(self):
        streamed = StreamingLDEPClassifier(3, 3, alpha=0.1, n_init=1, random_state=0).fit_batches(BATCHES)
        model = LDEPClassifier(3, 3, alpha=0.1, n_init=1, random_state=0, init="auto", penalty="norm")
        model.fit(XOR[0], NAMES[XOR[1]])
        np.testing.assert_array_equal(streamed.decision_function(XOR[0]), model.decision_function(XOR[0]))

    def test_a_smaller_sample_is_refined_on_all_rows(self):
        model = StreamingLDEPClassifier(3, 3, alpha=0.1, sample_size=150, random_state=0).fit_batches(BATCHES)
        assert model.n_iter_ > 0
        assert model.score(XOR[0], NAMES[XOR[1]]) > 0.85
        assert len(model.coefs_) == 8

    def test_a_class_without_a_row_is_never_predicted(self):
        model = StreamingLDEPClassifier(3, 3, alpha=0.1, random_state=0)
        for label in range(4):
            rows = XOR[1] == label
            model.partial_fit(XOR[0][rows], NAMES[XOR[1][rows]], classes=NAMES)
            assert set(model.predict(XOR[0])) == set(NAMES[: label + 1])
            assert np.isfinite(model.decision_function(XOR[0])).all()
        assert model.score(XOR[0], NAMES[XOR[1]]) > 0.8


class TestBadInput:
    @pytest.mark.parametrize("solver", ["ccp", "dccp"])
    def test_solvers_for_two_classes(self, solver):
        with pytest.raises(ValueError, match=f"'{solver}' needs two classes, and there are more"):
            LDEPClassifier(2, 2, loss="hinge", solver=solver).fit(*XOR)

    def test_one_class(self):
        with pytest.raises(ValueError, match="needs samples of two classes, but y holds the one class 'a' only"):
            LDEPClassifier().fit(XOR[0], ["a"] * 300)

    def test_labels_of_mixed_types(self):
        labels = np.array([1, "a", "b"] * 100, dtype=object)
        with pytest.raises(ValueError, match="must be of one type, but there are int, str"):
            LDEPClassifier().fit(XOR[0], labels)

    def test_a_class_without_weight(self):
        with pytest.raises(ValueError, match="samples of all classes: every sample of class 2 has weight zero"):
            LDEPClassifier().fit(*XOR, sample_weight=(XOR[1] != 2).astype(float))

    def test_several_outputs_and_continuous_targets(self):
        with pytest.raises(ValueError, match="1d array"):
            LDEPClassifier().fit(XOR[0], np.column_stack([XOR[1]] * 2))
        with pytest.raises(ValueError, match="continuous"):
            LDEPClassifier().fit(XOR[0], XOR[0][:, 0])

    def test_an_estimator_for_two_classes_says_so(self):
        with pytest.raises(ValueError, match="Only binary classification is supported"):
            DEPClassifier().fit(*XOR)
