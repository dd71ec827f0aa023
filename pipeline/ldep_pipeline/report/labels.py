"""How models and data sets are named and coloured, the same in every table and figure.

The models that the project knows by name have one row each, with title, family and form. `classifiers` in params.yaml
has the class, the parameters and the search of a model under the same name. A model of your own needs no row here: it
is shown by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ldep_pipeline.data import catalogue
from ldep_pipeline.metrics.metric import duration
from ldep_pipeline.report.renderers import Cell

DEFAULT, TUNED, ENSEMBLED = FORMS = ("default", "tuned", "ensembled")
FAMILIES = {
    "ldep": "ℓ-DEP",
    "svc": "support vector classifiers",
    "network": "neural networks",
    "trees": "ensembles of trees",
    "linear": "linear models",
    "relative": "related morphological models",
    "other": "other models",
}


@dataclass(frozen=True)
class KnownModel:
    title: str
    family: str
    """A key of FAMILIES."""
    kind: str | None = None
    """What the model is a form of, if it is compared in three forms: with defaults, tuned, and ensembled."""
    form: str = DEFAULT


def _three_forms(name: str, title: str, family: str) -> dict[str, KnownModel]:
    return {
        name: KnownModel(title[0].upper() + title[1:], family, name, DEFAULT),
        f"{name}_{TUNED}": KnownModel(f"Tuned {title}", family, name, TUNED),
        f"{name}_{ENSEMBLED}": KnownModel(f"Ensembled {title}", family, name, ENSEMBLED),
    }


MODELS = {
    "ldep_paper": KnownModel("ℓ-DEP as in the paper", "ldep"),
    "ldep_default": KnownModel("Default ℓ-DEP", "ldep", "ldep", DEFAULT),
    "ldep": KnownModel("Tuned ℓ-DEP", "ldep", "ldep", TUNED),
    "ldep_ensembled": KnownModel("Ensembled ℓ-DEP", "ldep", "ldep", ENSEMBLED),
    "ldep_cv": KnownModel("Self-tuning ℓ-DEP", "ldep"),
    "linear_svc": KnownModel("Linear SVC", "svc"),
    **_three_forms("rbf_svc", "RBF SVC", "svc"),
    **_three_forms("mlp", "MLP", "network"),
    "maxout": KnownModel("Maxout", "network"),
    **_three_forms("logistic", "logistic regression", "linear"),
    **_three_forms("random_forest", "random forest", "trees"),
    **_three_forms("extra_trees", "extra trees", "trees"),
    **_three_forms("hist_gradient_boosting", "gradient boosting", "trees"),
    **_three_forms("lightgbm", "LightGBM", "trees"),
    **_three_forms("catboost", "CatBoost", "trees"),
    **_three_forms("ebm", "EBM", "trees"),
    "dilation": KnownModel("Dilation", "relative"),
    "erosion": KnownModel("Erosion", "relative"),
    "dep": KnownModel("DEP", "relative"),
    "rdep": KnownModel("r-DEP", "relative"),
}
KINDS = {"ldep": "ℓ-DEP"} | {
    model.kind: model.title for model in MODELS.values() if model.kind not in (None, "ldep") and model.form == DEFAULT
}
# What the report compares: our models, with the rivals in their defaults, and with both forms of each rival.
OURS = ("ldep", "ldep_ensembled", "ldep_cv")
LEADING = ("ldep_ensembled", "ldep_cv", "ldep")  # the first with a result on every data set is shown in detail
RIVALS = ("mlp", "rbf_svc")
BASELINES = ("mlp", "rbf_svc", "rbf_svc_tuned", "mlp_tuned")
# The columns of the paper's table, keyed by our model of the same kind with the same settings.
REPRODUCED = "ldep_paper"
PAPER_COLUMNS = {REPRODUCED: "ldep", **{name: name for name in ("linear_svc", "rbf_svc", "mlp", "maxout")}}


def label(model: str) -> str:
    return MODELS[model].title if model in MODELS else model


def form_of(model: str) -> tuple[str | None, str]:
    """The kind that a model is a form of, and which form; (None, ...) for a model that has one form only."""
    return (MODELS[model].kind, MODELS[model].form) if model in MODELS else (None, DEFAULT)


def family(model: str) -> str:
    return MODELS[model].family if model in MODELS else "other"


def title(dataset: str) -> str:
    """The paper's name of a data set, or the user's."""
    known = catalogue.load()
    return known[dataset].title if dataset in known else dataset


def count_of(number: int, noun: str) -> str:
    """`1 data set`, `2 data sets`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def percent(share: float) -> str:
    """`71 %`; `0.4 %` below one per cent."""
    return f"{100 * share:.1f} %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def p_text(p: float) -> str:
    if p > 0.9995:
        return "1"
    return f"{p:.1e}".replace("e-0", "e-").replace("-", "−") if p < 0.001 else f"{p:.3f}"


def model_cell(model: str) -> Cell:
    return Cell(label(model), family=family(model))


def duration_cell(seconds: float) -> Cell:
    return Cell(duration(seconds) if seconds else "", float(seconds))
