"""How models and sets are called and coloured, the same in every table and picture."""

from __future__ import annotations

from pipeline.config import catalogue

LABELS = {
    "ldep_paper": "ℓ-DEP as in the paper",
    "ldep": "Tuned ℓ-DEP",
    "ldep_committee": "ℓ-DEP committee",
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
}
OURS = ("ldep", "ldep_committee")
# The columns of the paper's table, by our models of the same kind and settings.
PAPERS = {"ldep_paper": "ldep", "linear_svc": "linear_svc", "rbf_svc": "rbf_svc", "mlp": "mlp", "maxout": "maxout"}
_FAMILIES = {
    "ldep": ("ldep_paper", "ldep", "ldep_committee"),
    "svc": ("linear_svc", "rbf_svc", "rbf_svc_tuned"),
    "network": ("mlp", "maxout", "mlp_tuned"),
    "relative": ("dilation", "erosion", "dep", "rdep"),
}
FAMILY_LABELS = {
    "ldep": "ℓ-DEP",
    "svc": "support vector classifiers",
    "network": "networks",
    "relative": "morphological relatives",
    "other": "others",
}


def label(model: str) -> str:
    return LABELS.get(model, model)


def family(model: str) -> str:
    return next((name for name, members in _FAMILIES.items() if model in members), "other")


def title(dataset: str) -> str:
    """The paper's name of a set, or the user's."""
    known = catalogue.load()
    return known[dataset].title if dataset in known else dataset
