"""How models and data sets are named and coloured, the same in every table and figure."""

from __future__ import annotations

from pipeline.config import catalogue

_LABELS = {
    "ldep_paper": "ℓ-DEP as in the paper",
    "ldep": "Tuned ℓ-DEP",
    "ldep_cv": "Self-tuning ℓ-DEP",
    "linear_svc": "Linear SVC",
    "rbf_svc": "RBF SVC",
    "mlp": "MLP",
    "maxout": "Maxout",
    "dilation": "Dilation",
    "erosion": "Erosion",
    "dep": "DEP",
    "rdep": "r-DEP",
    "rbf_svc_tuned": "Tuned RBF SVC",
    "mlp_tuned": "Tuned MLP",
    "logistic": "Logistic regression",
    "extra_trees": "Extra trees",
    "random_forest": "Random forest",
    "hist_gradient_boosting": "Gradient boosting",
}
OURS = ("ldep", "ldep_cv")
# The columns of the paper's table, keyed by our model of the same kind with the same settings.
PAPER_COLUMNS = {
    "ldep_paper": "ldep",
    "linear_svc": "linear_svc",
    "rbf_svc": "rbf_svc",
    "mlp": "mlp",
    "maxout": "maxout",
}
_FAMILIES = {
    "ldep": ("ldep_paper", "ldep", "ldep_cv"),
    "svc": ("linear_svc", "rbf_svc", "rbf_svc_tuned"),
    "network": ("mlp", "maxout", "mlp_tuned"),
    "relative": ("dilation", "erosion", "dep", "rdep"),
}
FAMILY_LABELS = {
    "ldep": "ℓ-DEP",
    "svc": "support vector classifiers",
    "network": "neural networks",
    "relative": "related morphological models",
    "other": "other models",
}


def label(model: str) -> str:
    return _LABELS.get(model, model)


def family(model: str) -> str:
    return next((name for name, members in _FAMILIES.items() if model in members), "other")


def title(dataset: str) -> str:
    """The paper's name of a data set, or the user's."""
    known = catalogue.load()
    return known[dataset].title if dataset in known else dataset


def count_of(number: int, noun: str) -> str:
    """`1 data set`, `2 data sets`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def percent(share: float) -> str:
    """`71 %`; `0.4 %` below one per cent."""
    return f"{100 * share:.1f} %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def duration(seconds: float) -> str:
    """Seconds in a convenient unit."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
