"""The rule that selects which model of a data set is registered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import STANDARD_ERROR, Params
from ldep_pipeline.execution import results
from ldep_pipeline.fitting import models
from ldep_pipeline.fitting.specs import Classifier
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.registry.skill import Judge, Skill, standard_error


@dataclass(frozen=True)
class Selection:
    """The selected model, the mean of each of its metrics over the folds, and the ranking of all candidates."""

    model: str
    metrics: dict[str, float]
    ranking: dict[str, float]
    values: np.ndarray
    """Its value of the metric that decides, on each fold."""
    errors: Mapping[str, float] = field(default_factory=dict)
    """The standard error of the mean of each of its metrics; infinite for a single fold."""
    skills: Mapping[str, Skill] = field(default_factory=dict)
    """How each candidate compares with guessing."""
    others: Sequence[Selection] = ()
    """What is selected instead if the model, fitted on all rows, turns out to be useless; the best first."""

    @property
    def has_skill(self) -> bool:
        return not self.skills[self.model].problem

    def why_not(self, name: str) -> str:
        """Why nothing is registered, with the best model by the metric of this name."""
        metric = METRICS[name]
        value, problem = metric.text(self.metrics[name]) + metric.unit, self.skills[self.model].problem
        return f"no model beats guessing; the best, {self.model}, has {metric.noun} {value}: {problem}"

    def comparison(self) -> dict[str, Any]:
        """The comparison with guessing, for the record of the stage."""
        guesses = [skill.guess for skill in self.skills.values() if np.isfinite(skill.guess)]
        return {
            "guess": guesses[0] if guesses else None,
            "models": {
                model: {"gain": _known(skill.gain), "standard_error": _known(skill.error), "problem": skill.problem}
                for model, skill in self.skills.items()
            },
        }


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None


def select(dataset: str, table: pd.DataFrame, params: Params, data: TrainingData, decisions: pd.DataFrame) -> Selection:
    """The best candidate, by its mean over the folds, that beats guessing; the best of all if none does.

    Candidates within `register.tolerance` of the best count as equal to it: within one standard error of the
    difference, or within a number. Of these, the simplest that explains its decisions is selected.
    """
    candidates = [model for model in params.models if model in (params.register_.candidates or params.models)]
    metric, rows = params.metric, {model: table[table["model"] == model] for model in candidates}
    means = {model: _means(rows[model]) for model in candidates}
    eligible = [model for model in candidates if metric in means[model]]
    if not eligible:
        raise UserError(
            f"{dataset}: no candidate ({', '.join(candidates) or 'the list is empty'}) has a value of {metric} for "
            f"every fold in results/{dataset}; run `ldep train {dataset}`, or change register.candidates."
        )
    judge = Judge.of(metric, data, params.costs, len(eligible))
    values = {model: means[model][metric] for model in eligible}
    ranking = {model: values[model] for model in METRICS[metric].ranked(values)}
    skills = {
        model: _degenerate(rows[model]) or judge.skill(rows[model], results.decisions_of(model, decisions))
        for model in ranking
    }
    skilled = [model for model in ranking if not skills[model].problem]
    by_fold = {model: _by_fold(rows[model], metric) for model in ranking}
    order = _preferred(skilled, by_fold, params, data)

    def selection(model: str, others: Sequence[Selection] = ()) -> Selection:
        errors = {name: standard_error(_by_fold(rows[model], name), data) for name in means[model]}
        return Selection(model, means[model], ranking, by_fold[model], errors, skills, others)

    if not order:
        varying = [model for model in ranking if (rows[model]["status"] == "ok").all()]
        return selection(next(iter([*varying, *ranking])))
    return selection(order[0], [selection(model) for model in order[1:]])


def _preferred(skilled: list[str], by_fold: Mapping[str, np.ndarray], params: Params, data: TrainingData) -> list[str]:
    """The skilled models in the order in which they are tried; `skilled` has the best first."""
    tolerance = params.register_.tolerance

    def is_equal(model: str) -> bool:
        lead = by_fold[skilled[0]] - by_fold[model]
        behind = float(np.mean(lead if METRICS[params.metric].higher_is_better else -lead))
        return behind <= (standard_error(lead, data) if tolerance == STANDARD_ERROR else tolerance)

    found = {model: _kind(params.classifiers[model], len(np.unique(data.y))) for model in skilled}
    kinds = {model: kind for model, kind in found.items() if kind is not None and is_equal(model)}
    first = sorted(kinds, key=kinds.__getitem__)[:1]  # stable: of one kind the best comes first
    return [*first, *(model for model in skilled if model not in first)]


def _kind(entry: Classifier, n_classes: int) -> int | None:
    """0 for a linear model, 1 for a single ℓ-DEP, 2 for a vote of them; None for a model that has no explanations."""
    if entry.ensemble is not None:
        return None
    if models.may_be_linear(entry, n_classes):
        return 0
    model_class = models.resolve(entry.class_)
    if not hasattr(model_class, "explain"):
        return None
    return 1 if hasattr(model_class, "rules") else 2


def _degenerate(rows: pd.DataFrame) -> Skill | None:
    """The verdict on a model of which a fit says the same about every row."""
    count = int((rows.drop_duplicates("fold")["status"] != "ok").sum())
    if not count:
        return None
    nan = float("nan")
    return Skill(nan, nan, nan, f"on {count} of {rows['fold'].nunique()} folds it says the same about every row")


def _means(rows: pd.DataFrame) -> dict[str, float]:
    """The mean of each metric that has a value for every fold; none if a fold failed."""
    if (rows["status"] == "failed").any():
        return {}
    values = rows.pivot(index="fold", columns="metric", values="value").mean(skipna=False)
    return {metric: float(values[metric]) for metric in METRICS if pd.notna(values.get(metric))}


def _by_fold(rows: pd.DataFrame, metric: str) -> np.ndarray:
    return rows[rows["metric"] == metric].sort_values("fold")["value"].to_numpy(dtype=np.float64)
