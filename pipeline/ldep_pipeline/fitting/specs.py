"""The sections of params.yaml that decide how a model is fitted: their types and defaults.

`budget` limits the CPU time of a fit, which is estimated from the size of the problem alone. A clock would give another
table on another machine. An estimate is the same everywhere. Its unit is a second of the machine that it was fitted on:
a 2.6 GHz core, one thread.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ldep_pipeline.metrics.metric import METRICS

Estimate = Callable[[int, int, Mapping[str, Any]], float]
"""Seconds of a fit for a number of rows, of features, and the settings of the model."""

# Exact CCP: seconds per element of the stacked S_k, per flop of their product with the stacked x~ x~^T, and per flop of
# the factorisation. On twelve of the paper's data sets the estimate was within a factor of three, except for separable
# problems, which end early (kr-vs-kp: 16 s estimated, 2 s measured).
ELEMENT, PRODUCT, FACTOR = 3e-8, 1e-11, 6e-11

# EBM: seconds per boosting step of a feature, the same per row, per boosting step of a pair of features, and per pair
# that is ranked. On seven of the paper's data sets, with at most 250 rounds, the estimate was within a fifth, except
# for binary features, whose pairs cost less (kr-vs-kp: 1.9 s estimated, 0.6 s measured).
STEP, STEP_ROW, PAIR_STEP, RANKED_PAIR = 2.5e-5, 4e-9, 4.5e-4, 1e-4


EXACT = ("ccp", "dccp")
NESTED = {"class", "params"}


def ccp_seconds(rows: int, features: int, r1: int, r2: int) -> float:
    """Estimated CPU seconds of one fit by CCP from one start, all subproblems together."""
    pieces, width = r1 + r2, features + 1
    size = pieces * width
    elements = rows * pieces * (pieces + 1) / 2
    step = ELEMENT * elements + PRODUCT * elements * width * (width + 1) + FACTOR * size**3 / 3
    # Few rows per parameter can be separated by the first or second subproblem; many rows take long.
    steps = min(max(150 * rows / size, 30), 1500)
    return steps * step


def ebm_seconds(rows: int, features: int, settings: Mapping[str, Any]) -> float:
    """Estimated CPU seconds of one fit of EBM. With `interactions`, each bag ranks all pairs of features."""
    bags, rounds = settings.get("outer_bags", 14), settings.get("max_rounds", 50_000)
    seconds = rounds * features * (STEP + STEP_ROW * rows)
    boosted = _boosted_pairs(settings.get("interactions", "3x"), features)
    if boosted:
        pairs = features * (features - 1) / 2
        seconds += RANKED_PAIR * pairs + PAIR_STEP * rounds * min(boosted, pairs)
    return float(0.05 + bags * seconds)


def _boosted_pairs(interactions: Any, features: int) -> float:
    """How many pairs EBM adds: it takes a list of them, their number, a share of the features, or 3x of them."""
    if isinstance(interactions, list):
        return len(interactions)
    if isinstance(interactions, str):
        return float(interactions.removesuffix("x")) * features
    return interactions * features if interactions < 1 else interactions


def _ldep_seconds(rows: int, features: int, settings: Mapping[str, Any]) -> float:
    """Only exact CCP can take long: the other solvers fit into any budget."""
    if settings.get("solver") not in EXACT:
        return 0.0
    return ccp_seconds(rows, features, settings.get("r1", 20), settings.get("r2", 20))


ESTIMATES: Mapping[str, Estimate] = {
    "LDEPClassifier": _ldep_seconds,
    "ExplainableBoostingClassifier": ebm_seconds,
}


def has_estimate(class_path: str) -> bool:
    return _name(class_path) in ESTIMATES


def estimated_seconds(class_path: str, rows: int, features: int, settings: Mapping[str, Any]) -> float:
    """Estimated CPU seconds of one fit of a class that has an estimate."""
    return ESTIMATES[_name(class_path)](rows, features, settings)


def takes(class_path: str, settings: Mapping[str, Any], classes: int) -> bool:
    """Whether the settings allow so many classes: exact solvers of the ℓ-DEP take two."""
    return classes == 2 or _name(class_path) != "LDEPClassifier" or settings.get("solver") not in EXACT


def _name(class_path: str) -> str:
    return class_path.rpartition(".")[2]


class Section(BaseModel):
    """Every key is known and has its declared type; nothing is converted silently, nothing is ignored."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Impute(Section):
    strategy: Literal["mean", "median", "most_frequent", "constant"] = "mean"
    fill_value: float = Field(default=0, allow_inf_nan=False)
    scope: Literal["dataset", "fold"] = "dataset"


def _number(value: Any) -> int | float:
    if isinstance(value, str):
        raise ValueError("a number is needed, not text; YAML takes 1e-8 for text, and 1.0e-8 for a number")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError("a finite number is needed")
    return value


Number = Annotated[Any, AfterValidator(_number)]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"the key {reprlib.repr(key)} is not text; write it in quotes")
            _plain(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _plain(item)
    elif value is not None and not isinstance(value, (bool, int, float, str)):
        raise ValueError(f"{reprlib.repr(value)} is neither a number nor text; write it in quotes")
    return value


# A value that JSON can represent: results and journals contain the settings.
Plain = Annotated[Any, AfterValidator(_plain)]


class Space(Section):
    """Where a parameter is searched: `choices`, or a range from `low` to `high`, of whole numbers if both are."""

    choices: list[Plain] | None = Field(default=None, min_length=1)
    low: Number = None
    high: Number = None
    log: bool = False

    @model_validator(mode="after")
    def _one_kind(self) -> Space:
        if self.choices is not None:
            if (self.low, self.high, self.log) != (None, None, False):
                raise ValueError("give either choices, or low and high")
            return self
        if self.low is None or self.high is None:
            raise ValueError("give either choices, or low and high")
        if self.low >= self.high:
            raise ValueError("low must be below high")
        if self.log and self.low <= 0:
            raise ValueError("on a log scale low must be above 0")
        return self


class Budget(Section):
    """The estimated CPU seconds that a fit may take, and the parameters to use instead if it would take longer."""

    seconds: float = Field(gt=0, allow_inf_nan=False)
    instead: dict[str, Plain]


class Classifier(Section):
    class_: str = Field(alias="class", pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")
    params: dict[str, Plain] = {}
    search: dict[str, Space] = {}
    first: list[dict[str, Plain]] = []
    while_tuning: dict[str, Plain] = {}
    trials: int | None = Field(default=None, ge=1, le=100_000)
    budget: Budget | None = None
    ensemble: str | None = None
    """The tuned model whose trials vote together; everything else is then that model's."""

    @property
    def is_tuned(self) -> bool:
        """Whether the model has a study of its own."""
        return bool(self.search) and self.ensemble is None

    @model_validator(mode="after")
    def _parts_fit(self) -> Classifier:
        if self.budget is not None and not has_estimate(self.class_):
            classes = ", ".join(ESTIMATES)
            raise ValueError(f"budget: there is no estimate of the time of {self.class_}, only of {classes}; remove it")
        if not self.search and (self.first or self.while_tuning or self.trials):
            raise ValueError("first, while_tuning and trials need a search")
        for number, settings in enumerate(self.first):
            for name in sorted({*settings} ^ {*self.search}):
                reason = "has no value for" if name in self.search else "sets what `search` does not have:"
                raise ValueError(f"first.{number} {reason} {reprlib.repr(name)}")
        return self


def is_nested(value: Any) -> bool:
    """Whether the value of a parameter is an estimator: {class: ..., params: ...}."""
    return isinstance(value, dict) and isinstance(value.get("class"), str) and set(value) <= NESTED


def classes(entry: Classifier) -> list[str]:
    """Every class that a model may be built of: its own, and those inside its parameters."""
    mappings = [entry.params, entry.while_tuning, *entry.first, entry.budget.instead if entry.budget else {}]
    values = [value for mapping in mappings for value in mapping.values()]
    choices = [space.choices for space in entry.search.values()]
    return sorted({entry.class_, *_nested([*values, *choices])})


def _nested(value: Any) -> Iterator[str]:
    if is_nested(value):
        yield value["class"]
        yield from _nested(list((value.get("params") or {}).values()))
    elif isinstance(value, list):
        for item in value:
            yield from _nested(item)


def _metric(name: str) -> str:
    if name not in METRICS:
        raise ValueError(f"it is one of {', '.join(METRICS)}")
    return name


MetricName = Annotated[str, AfterValidator(_metric)]


class Costs(Section):
    """The cost of each kind of error. Of two classes the rarer one is the positive one."""

    false_positive: float = Field(ge=0, allow_inf_nan=False)
    false_negative: float = Field(ge=0, allow_inf_nan=False)


class Tuning(Section):
    trials: int = Field(default=20, ge=1, le=100_000)
    seconds: float = Field(default=3600, gt=0, allow_inf_nan=False)
    folds: int = Field(default=3, ge=2, le=100)
    sampler: Literal["tpe", "random"] = "tpe"
    behind: float = Field(default=0.01, ge=0, le=1)
