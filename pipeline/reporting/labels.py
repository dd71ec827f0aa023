"""How models and data sets are named and coloured, the same in every table and figure."""

from __future__ import annotations

from pipeline.config import catalogue

# The families that are compared in three forms: with defaults, tuned, and ensembled. One family per model class.
_CLASSES = {
    "ldep": "ℓ-DEP",
    "rbf_svc": "RBF SVC",
    "mlp": "MLP",
    "logistic": "logistic regression",
    "random_forest": "random forest",
    "extra_trees": "extra trees",
    "hist_gradient_boosting": "gradient boosting",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "ebm": "EBM",
}
_LABELS = {
    "ldep_paper": "ℓ-DEP as in the paper",
    "ldep_default": "Default ℓ-DEP",
    "ldep": "Tuned ℓ-DEP",
    "ldep_cv": "Self-tuning ℓ-DEP",
    "linear_svc": "Linear SVC",
    "maxout": "Maxout",
    "dilation": "Dilation",
    "erosion": "Erosion",
    "dep": "DEP",
    "rdep": "r-DEP",
}
DEFAULT, TUNED, ENSEMBLED = FORMS = ("default", "tuned", "ensembled")
OURS = ("ldep", "ldep_ensembled", "ldep_cv")
# The columns of the paper's table, keyed by our model of the same kind with the same settings.
PAPER_COLUMNS = {
    "ldep_paper": "ldep",
    "linear_svc": "linear_svc",
    "rbf_svc": "rbf_svc",
    "mlp": "mlp",
    "maxout": "maxout",
}
_FAMILIES = {
    "ldep": ("ldep", "ldep_paper", "ldep_cv"),
    "svc": ("linear_svc", "rbf_svc"),
    "network": ("mlp", "maxout"),
    "trees": ("random_forest", "extra_trees", "hist_gradient_boosting", "lightgbm", "catboost", "ebm"),
    "linear": ("logistic",),
    "relative": ("dilation", "erosion", "dep", "rdep"),
}
FAMILY_LABELS = {
    "ldep": "ℓ-DEP",
    "svc": "support vector classifiers",
    "network": "neural networks",
    "trees": "ensembles of trees",
    "linear": "linear models",
    "relative": "related morphological models",
    "other": "other models",
}


def label(model: str) -> str:
    if model in _LABELS:
        return _LABELS[model]
    known, form = form_of(model)
    if known is None:
        return model
    name = _CLASSES[known]
    return f"{form.capitalize()} {name}" if form != DEFAULT else name[0].upper() + name[1:]


def form_of(model: str) -> tuple[str | None, str]:
    """The family that a model is a form of, and which; (None, ...) for a model that has one form only."""
    if model in ("ldep", "ldep_default"):
        return "ldep", TUNED if model == "ldep" else DEFAULT
    for form in (TUNED, ENSEMBLED):
        name = model.removesuffix(f"_{form}")
        if name != model and name in _CLASSES:
            return name, form
    return (model, DEFAULT) if model in _CLASSES else (None, DEFAULT)


def family_label(model_class: str) -> str:
    """The name of a family that has three forms."""
    name = _CLASSES[model_class]
    return name[0].upper() + name[1:]


def family(model: str) -> str:
    name = form_of(model)[0] or model
    return next((kind for kind, members in _FAMILIES.items() if name in members), "other")


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
    if seconds < 0.1:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
