"""The models that the project knows by name: one row each, with title, family and form.

`classifiers` in params.yaml has the class, the parameters and the search of a model under the same name. A model of
your own needs no row here: it is shown by its name.
"""

from __future__ import annotations

from dataclasses import dataclass

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
