"""Which settings are tried."""

import pytest

from ldep.search import Path, Plan, check_grid, within_budget

ALPHAS = [0.01, 0.1, 1.0, 10.0, 100.0]
BEST = {"alpha": 1.0, "penalty": "norm", "loss": "hinge"}


def plan(
    pieces=((10, 10), (1, 1), (40, 40)),
    alphas=ALPHAS,
    penalties=("norm", "variance"),
    losses=("hinge", "logistic"),
    n_features=5,
):
    return Plan(list(pieces), list(alphas), list(penalties), list(losses), n_features)


def test_the_first_pair_is_tried_with_everything_except_the_hinge_with_variance():
    assert plan().first_paths() == [
        Path(10, 10, "norm", "hinge", tuple(ALPHAS)),
        Path(10, 10, "norm", "logistic", tuple(ALPHAS)),
        Path(10, 10, "variance", "logistic", tuple(ALPHAS)),
        Path(1, 1, "norm", "hinge", (1e-6,)),
        Path(1, 1, "norm", "logistic", (1e-6,)),
    ]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_one_loss_is_tried_with_all_penalties(loss):
    assert plan(losses=[loss, loss]).first_paths() == [
        Path(10, 10, "norm", loss, tuple(ALPHAS)),
        Path(10, 10, "variance", loss, tuple(ALPHAS)),
        Path(1, 1, "norm", loss, (1e-6,)),
    ]


def test_both_losses_are_tried_with_variance_where_it_is_the_only_penalty():
    kinds = [(path.penalty, path.loss) for path in plan(pieces=[(2, 2)], penalties=["variance"]).first_paths()]
    assert kinds == [("variance", "hinge"), ("variance", "logistic")]


@pytest.mark.parametrize(
    ("alpha", "near"), [(1.0, (0.1, 1.0, 10.0)), (0.01, (0.01, 0.1)), (100.0, (10.0, 100.0)), (1e-6, (0.01, 0.1))]
)
def test_later_pairs_are_tried_near_the_best(alpha, near):
    """1e-6 is the alpha of the linear model."""
    best = {"r1": 10, "r2": 10, "alpha": alpha, "penalty": "variance", "loss": "logistic"}
    assert plan().later_paths(best) == [Path(40, 40, "variance", "logistic", near)]


def test_the_numbers_of_a_pair_may_differ():
    asymmetric = plan(pieces=[(20, 1), (1, 20)], losses=["hinge"])
    assert {(path.r1, path.r2) for path in asymmetric.first_paths()} == {(20, 1)}
    assert [(path.r1, path.r2) for path in asymmetric.later_paths(BEST)] == [(1, 20)]


def test_the_variance_of_many_features_is_left_out_unless_asked_for_alone():
    assert {path.penalty for path in plan(n_features=601).first_paths()} == {"norm"}
    assert {path.penalty for path in plan(n_features=601, penalties=["variance"]).first_paths()} == {"variance"}


def test_alphas_are_sorted_and_repetitions_dropped():
    repeated = plan(pieces=[(2, 3)] * 2, alphas=[1, 0.1, 1], penalties=["norm"] * 2, losses=["hinge"] * 2)
    assert repeated.first_paths() == [Path(2, 3, "norm", "hinge", (0.1, 1))]
    assert repeated.later_paths(BEST) == []


def test_a_linear_model_alone():
    only = plan(pieces=[(1, 1)], alphas=[1.0], losses=["hinge"])
    assert only.first_paths() == [Path(1, 1, "norm", "hinge", (1e-4,))]
    assert only.later_paths(BEST | {"alpha": 1e-4}) == []
    assert only.smallest_alpha == 1e-4


@pytest.mark.parametrize(("alphas", "smallest"), [([0.0, 1.0], 1.0), ([0.0], 0.0), ([1.0, 3.0], 1e-4)])
def test_the_smallest_alpha_is_positive_if_any_is(alphas, smallest):
    assert plan(alphas=alphas).smallest_alpha == smallest


def test_a_budget_keeps_the_middle_of_a_path():
    paths = [Path(10, 10, penalty, "hinge", tuple(ALPHAS)) for penalty in ("norm", "variance")]
    assert within_budget(paths, 10) == paths
    assert within_budget(paths, 8)[1].alphas == (0.1, 1.0, 10.0)
    assert within_budget(paths, 5) == paths[:1]
    assert within_budget(paths, 1) == [Path(10, 10, "norm", "hinge", (1.0,))]
    assert within_budget(paths, 0) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pieces": []}, "pieces must be a sequence with at least one value"),
        ({"pieces": [5]}, r"pieces: 5 is not a pair"),
        ({"pieces": [(5, 0)]}, r"pieces: \(5, 0\) is not a pair"),
        ({"pieces": [(5, 2.5)]}, r"pieces: \(5, 2.5\) is not a pair"),
        ({"alphas": []}, "alphas must be a sequence"),
        ({"alphas": [1.0, -1.0]}, "alphas: -1.0 is not a nonnegative number"),
        ({"alphas": [float("nan")]}, "alphas: nan"),
        ({"alphas": ["1"]}, "alphas: '1'"),
        ({"penalties": "norm"}, "penalties must be a sequence"),
        ({"penalties": ["l1"]}, "penalties: 'l1' is not one of norm, variance"),
        ({"losses": "hinge"}, "losses must be a sequence"),
        ({"losses": ["hinge", "log"]}, "losses: 'log' is not one of hinge, logistic"),
    ],
)
def test_a_wrong_grid_is_refused_with_the_reason(change, message):
    grid = {"pieces": [(2, 2)], "alphas": [1.0], "penalties": ["norm"], "losses": ["hinge"]} | change
    with pytest.raises(ValueError, match=message):
        check_grid(**grid)
