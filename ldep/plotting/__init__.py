"""Pictures of exact answers. They need matplotlib, which is imported when a picture is drawn."""

from ldep.plotting._plots import plot_counterfactual, plot_explanation, plot_importance, plot_regions

__all__ = ["plot_counterfactual", "plot_explanation", "plot_importance", "plot_regions"]
