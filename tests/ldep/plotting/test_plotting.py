"""The pictures show the numbers that they are of, and matplotlib is imported only to draw."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

from ldep import LDEPClassifierCV
from ldep.plotting import plot_counterfactual, plot_explanation, plot_importance, plot_regions
from tests.support.fitted_models import random_average, random_model, random_of_three_classes

mpl.use("Agg")
X = np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def ink(ax) -> float:
    """Spread of the pixels of a picture: 0 if it is empty."""
    ax.figure.canvas.draw()
    return float(np.asarray(ax.figure.canvas.buffer_rgba())[..., :3].std())


def test_the_bars_of_a_waterfall_lead_from_the_baseline_to_the_decision():
    attribution = random_model(0).attribute(X, np.zeros(3))
    ax = plot_explanation(attribution, 4, max_features=2)
    bars = ax.patches
    assert len(bars) == 3
    assert bars[0].get_x() == pytest.approx(attribution.bias[4])
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(attribution.decision[4])
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "1 other features"
    assert ink(ax) > 10


def test_a_waterfall_of_three_classes_is_of_one_of_them():
    attribution = random_of_three_classes(0).attribute(X, np.zeros(3))
    with pytest.raises(ValueError, match="say by target which score to draw"):
        plot_explanation(attribution)
    bars = plot_explanation(attribution, target=2).patches
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(attribution.decision[0, 2])


def test_the_arrows_of_a_counterfactual_name_both_values():
    answer = random_model(0).counterfactual(X[:2])
    ax = plot_counterfactual(answer, 1)
    texts = [text.get_text() for text in ax.texts if "→" in text.get_text()]
    assert len(texts) == len(answer.changes[1])
    change = max(answer.changes[1], key=lambda change: abs(change.after - change.before))
    assert f"{change.before:.4g} → {change.after:.4g}" in texts
    assert ax.get_title() == f"{answer.before[1]} → {answer.target[1]}"
    assert ink(ax) > 10


def test_the_bars_of_the_importance_are_sorted():
    summary = random_average(0, n_features=3).explain_global(X)
    ax = plot_importance(summary)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(summary.importance, reverse=True)
    assert ink(ax) > 10


def fitted_search(seed: int) -> LDEPClassifierCV:
    """A search on three classes, whose models share their votes."""
    labels = np.digitize(X[:, 0] + X[:, 2], [-0.7, 0.7])
    search = LDEPClassifierCV(pieces=((2, 2),), alphas=(0.1, 1.0), penalties=("norm",), cv=2, random_state=seed)
    return search.fit(X, labels)


@pytest.mark.parametrize("make", [random_model, random_of_three_classes, fitted_search])
def test_the_map_has_the_colours_of_the_predicted_classes(make):
    model = make(1)
    ax = plot_regions(model, X, ("x0", 2))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x2")
    drawn = sum(len(points.get_offsets()) for points in ax.collections if points.get_label().startswith("predicted"))
    assert drawn == len(X)
    labels = {points.get_label() for points in ax.collections if points.get_label().startswith("predicted")}
    assert labels == {f"predicted: {label}" for label in model.classes_}
    assert ink(ax) > 10
    with pytest.raises(ValueError, match="features names 'age', which is not a feature of the model"):
        plot_regions(model, X, ("age", 1))


def test_results_draw_themselves_as_the_functions_draw_them():
    model = random_model(0)
    attribution, answer, summary = model.attribute(X, np.zeros(3)), model.counterfactual(X[:2]), model.explain_global(X)
    for ax, same in (
        (model.explain(X).plot(1), plot_explanation(model.explain(X), 1)),
        (attribution.plot(3), plot_explanation(attribution, 3)),
        (answer.plot(1), plot_counterfactual(answer, 1)),
        (summary.plot(max_features=2), plot_importance(summary, max_features=2)),
    ):
        assert ax.get_xlabel() == same.get_xlabel()
        shown, expected = ([text.get_text() for text in one.texts] for one in (ax, same))
        assert shown == expected != []


def test_without_matplotlib_the_library_works_and_a_plot_says_what_is_missing():
    code = """
import sys
sys.modules["matplotlib"] = None
import ldep, ldep.plotting
from tests.support.fitted_models import random_model
answer = random_model(0).counterfactual([[0.0, 0.0, 0.0]])
try:
    ldep.plotting.plot_counterfactual(answer)
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Plots need matplotlib: pip install matplotlib."
