"""What a proof is about: a model with the space of its rows, a question with its claims, and the verdict.

Decision values are compared up to `MARGIN`, a share of their range: rounding decides about rows that are nearer to the
border of their class than that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldep._utils import feature_names
from ldep.answers import TableModel
from ldep.explain import Deadline
from ldep.export import fitted_model
from ldep.model import FittedModel
from ldep.prove._certificate import Inputs, Question, condition, numbers_of, written
from ldep.prove._search import Search
from ldep.prove._space import Rows, Space

MARGIN = 1e-6
# Votes of more classes than this are not examined: their sparsemax has a piece for each set of classes.
MOST_VOTING_CLASSES = 6


@dataclass(frozen=True)
class Subject:
    """A model with the space of its rows, and the probability of its second class as a function of tau."""

    model: FittedModel
    space: Space
    classes: list[str]
    probability: Callable[[float], float] | None = None

    @classmethod
    def of(cls, model: Any, X: Any) -> Subject:
        """The subject that is a TableModel with the raw training rows, or an estimator with its training rows."""
        if isinstance(model, TableModel):
            fitted, space = model.fitted, Space.of_tables([model.raw], X)
            estimator = model.model
        else:
            fitted, estimator = fitted_or_missing(model), model
            space = Space.of_features(feature_names(model), rows_of(model, X), [fitted])
        check_votes(fitted)
        probability = None
        if fitted.link is not None and fitted.n_classes == 2:
            probability = lambda tau: float(fitted.probabilities(np.array([tau]))[0, 1])  # noqa: E731
        return cls(fitted, space, [str(label) for label in estimator.classes_], probability)

    def number(self, label: Any) -> int:
        """The number of a class; ValueError if there is none of this name."""
        if str(label) not in self.classes:
            raise ValueError(f"'{label}' is not a class of the model; it has {', '.join(self.classes)}.")
        return self.classes.index(str(label))


def fitted_or_missing(estimator: Any) -> FittedModel:
    """The fitted ℓ-DEP of an estimator, also one that takes missing values."""
    model = getattr(estimator, "model_", None)
    return model if isinstance(model, FittedModel) else fitted_model(estimator)


def rows_of(estimator: Any, X: Any) -> np.ndarray:
    """Training rows of an estimator as numbers."""
    rows, n_features = np.asarray(X, dtype=float), fitted_or_missing(estimator).n_features
    if rows.ndim != 2 or rows.shape[1] != n_features or not len(rows) or np.isinf(rows).any():
        raise ValueError(f"the training rows must be finite numbers in {n_features} columns.")
    return rows


def check_votes(model: FittedModel) -> None:
    if model.votes and model.n_classes > MOST_VOTING_CLASSES:
        raise ValueError(f"nothing is proven about votes of more than {MOST_VOTING_CLASSES} classes.")


@dataclass
class Verdict:
    """What is known about a promise.

    Attributes
    ----------
    promise : dict
        The promise, as it was stated.
    kept : bool
        Whether it is proven.
    decided : bool
        Whether it is proven or broken; False if the time was over.
    why : str
        A sentence.
    rows : list of dict
        The rows that break it: raw cells by column.
    share : float or None
        For `stable`: the share of the rows that is proven to be stable.
    certificate : dict or None
        The evidence of a proof, for `verify`.
    """

    promise: dict[str, Any]
    kept: bool = False
    decided: bool = True
    why: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    share: float | None = None
    certificate: dict[str, Any] | None = None

    def __str__(self) -> str:
        state = "kept" if self.kept else "broken" if self.decided else "not decided"
        return "\n".join([f"{state}: {self.why}", *(f"  row: {_shown(row)}" for row in self.rows)])


def _shown(row: Mapping[str, Any]) -> str:
    cells = (f"{value:.6g}" if isinstance(value, float) else f"{value}" for value in row.values())
    return ", ".join(f"{name} {cell}" for name, cell in zip(row, cells))


class Case:
    """A question with its claims, as far as they are proven."""

    def __init__(self, subject: Subject, space: Space, deadline: Deadline):
        self.subject, self.space, self.deadline = subject, space, deadline
        self.question = Question([numbers_of(subject.model)], Inputs())
        self.rows = Rows(space, self.question)
        self.claims: list[dict[str, Any]] = []

    def build(self) -> None:
        self.problem = self.question.problem()

    def excludes(self, text: str, conditions: Sequence[dict[str, Any]], ranges=(), **options) -> Search:
        """Look for a row with all conditions positive; if there is none, keep the proof."""
        claim = {"claim": text, "conditions": list(conditions), "ranges": [list(part) for part in ranges]}
        search = Search(self.problem, claim, self.deadline, **options)
        search.decide(MARGIN)
        if search.excluded:
            bound = search.exact_bound()
        if search.excluded:
            self.claims.append({**claim, "bound": written(bound) if bound is not None else 0, "tree": search.tree})
        return search

    def scores(self, search: Search, copy: int) -> dict[int, float]:
        """The scores of the classes of a copy at the row that a search has found."""
        values = search.arrays.values(search.x[None])[0] if search.x is not None else np.zeros(search.arrays.width)
        return {label: float(search.arrays.row(form) @ values) for label, form in enumerate(self.problem.scores[copy])}

    def certificate(self) -> dict[str, Any]:
        return {**self.question.to_json(), "claims": self.claims}

    def verdict(self, verdict: Verdict, text: str) -> Verdict:
        verdict.kept, verdict.why, verdict.certificate = True, f"{text}", self.certificate()
        return verdict


def undecided(verdict: Verdict, search: Search, text: str) -> Verdict:
    verdict.decided = False
    verdict.why = f"not decided in time whether {text}; by at most {search.bound:.4g} in the decision value"
    return verdict


def wins(copy: int, label: int, n_classes: int) -> list[dict[str, Any]]:
    """The conditions under which a class is predicted for a copy: it leads over every other class."""
    rivals = [k for k in range(n_classes) if k != label]
    return [condition([(copy, label, 1.0), (copy, rival, -1.0)]) for rival in rivals]


def take(content: Mapping[str, Any], kind: str, *known: str) -> list[Any]:
    unknown = [key for key in content if key not in known]
    if unknown:
        raise ValueError(f"{kind} has no key '{unknown[0]}'; it has {', '.join(known)}.")
    return [content.get(key) for key in known]
