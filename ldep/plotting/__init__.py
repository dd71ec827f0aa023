"""Pictures of exact answers. They need matplotlib, which is imported when a picture is drawn."""

from ldep.plotting.arrows import plot_counterfactual
from ldep.plotting.bars import plot_importance
from ldep.plotting.region_map import plot_regions
from ldep.plotting.waterfall import plot_attribution

__all__ = ["plot_attribution", "plot_counterfactual", "plot_importance", "plot_regions"]
