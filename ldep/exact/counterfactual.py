"""The nearest row of another class, and the radius within which there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ldep.exact.averages import AverageSearch
from ldep.exact.domain import Domain
from ldep.exact.models import Average, ClassVotes, Maxima
from ldep.exact.nearest import Outcome, SingleSearch

# Shares of the way by which an answer on the border of its class is moved on until `predict` agrees.
HAIRS = 10.0 ** np.arange(-15, -6)
# Distances from the border, in shares of the distance, that are demanded if moving on did not help.
MARGINS = 10.0 ** np.arange(-9, -2)
# Share of a radius that rounding may cost.
ROUNDING = 1e-12


class Question(NamedTuple):
    """What is asked about rows.

    Parameters
    ----------
    model : Maxima or Average
        The model.
    decide : callable
        Returns tau of each row; with more than two classes, one column of scores per class.
    classes : ndarray
        The classes.
    domain : Domain
        The allowed rows.
    time_limit : float
        Seconds per row for an average, and for integer features and choices.
    """

    model: Maxima | Average
    decide: Callable[[np.ndarray], np.ndarray]
    classes: np.ndarray
    domain: Domain
    time_limit: float

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The number of the predicted class of each row."""
        tau = self.decide(X)
        return (tau >= 0).astype(int) if tau.ndim == 1 else tau.argmax(axis=1)

    def surely(self, X: np.ndarray, target: int) -> np.ndarray:
        """Whether the class of each row is the target, however its scores are rounded."""
        tau = self.decide(X)
        if tau.ndim == 1:
            lead = tau if target == 1 else -tau
        else:
            lead = tau[:, target] - np.delete(tau, target, axis=1).max(axis=1)
        return lead > self.model.rounding(X)

    def search(self, target: int) -> SingleSearch | AverageSearch:
        if isinstance(self.model, Average):
            return AverageSearch(self.model, target, self.domain, self.time_limit)
        return SingleSearch(self.model, target, self.domain, self.time_limit)


def searchable(model: Maxima | Average | ClassVotes) -> Maxima | Average:
    """The model, unless there is no search for its nearest rows."""
    if isinstance(model, ClassVotes):
        raise ValueError(
            f"The votes of several models on {len(model.factors)} classes have no counterfactual and no certificate: "
            "a vote that is shared among more than two classes has no bounds from which a proof could follow. Fit "
            "LDEPClassifierCV(ensemble=False), or ask an LDEPClassifier."
        )
    return model


def nearest_of(question: Question, X: np.ndarray, target: int, rows: np.ndarray) -> list[Outcome]:
    """The nearest row of the target class for some rows, a hair inside its region where its border is not enough."""
    search = question.search(target)
    outcomes = search.nearest(X[rows])
    inside = _step_inside(question, X[rows], outcomes, target)
    answers = []
    for x, outcome, z in zip(X[rows], outcomes, inside):
        if outcome.z is not None and z is None:
            z = _demand_margin(question, search, x, outcome, target)
        distance = np.inf if z is None else float(question.domain.distance(z, x))
        answers.append(Outcome(z, distance, min(outcome.bound, distance) if z is not None else outcome.bound))
    return answers


def _step_inside(question: Question, X: np.ndarray, outcomes: list[Outcome], target: int) -> list[np.ndarray | None]:
    """Move answers on along their way until the class is predicted; None where that does not help."""
    inside: list[np.ndarray | None] = [None] * len(X)
    open_rows = [number for number, outcome in enumerate(outcomes) if outcome.z is not None]
    domain, continuous = question.domain, question.domain.continuous
    for hair in (0.0, *HAIRS):
        if not open_rows:
            break
        Z = np.array([outcomes[number].z for number in open_rows])
        Z[:, continuous] += hair * (Z - X[open_rows])[:, continuous]
        Z[:, continuous] = np.clip(Z[:, continuous], domain.lower[continuous], domain.upper[continuous])
        reached = question.surely(Z, target)
        for number, z in zip(np.array(open_rows)[reached], Z[reached]):
            inside[number] = z
        open_rows = [number for number, done in zip(open_rows, reached) if not done]
    return inside


def _demand_margin(question: Question, search, x: np.ndarray, outcome: Outcome, target: int) -> np.ndarray | None:
    """Search again at a growing distance from the border."""
    for margin in MARGINS * max(outcome.distance, 1e-3):
        z = search.inside(x, outcome.z, margin)
        if z is None:
            return None
        if question.surely(z[None], target)[0]:
            return z
    return None


def radii(question: Question, X: np.ndarray) -> np.ndarray:
    """For each row a radius within which no allowed row has another class."""
    current = question.predict(X)
    smallest = np.full(len(X), np.inf)
    for target in range(len(question.classes)):
        rows = np.flatnonzero(current != target)
        if len(rows):
            bounds = [outcome.bound for outcome in question.search(target).nearest(X[rows])]
            smallest[rows] = np.minimum(smallest[rows], bounds)
    return smallest * (1.0 - ROUNDING)


def counterfactuals(question: Question, X: np.ndarray, targets: np.ndarray | None) -> tuple[np.ndarray, list[Outcome]]:
    """The class and the nearest row of each answer.

    Parameters
    ----------
    question : Question
        The model and the allowed rows.
    X : ndarray of shape (n_samples, n_features)
        The rows.
    targets : ndarray of shape (n_samples,) or None
        Numbers of the classes to reach. None is the nearest of the other classes.
    """
    question.domain.check_rows(X)
    current = question.predict(X)
    reached = np.full(len(X), -1)
    best: list[Outcome | None] = [None] * len(X)
    for target in range(len(question.classes)):
        if targets is None:
            rows = np.flatnonzero(current != target)
        else:
            rows = np.flatnonzero((targets == target) & (current != target))
            for row in np.flatnonzero((targets == target) & (current == target)):
                reached[row], best[row] = target, Outcome(X[row], 0.0, 0.0)
        if not len(rows):
            continue
        for row, outcome in zip(rows, nearest_of(question, X, target, rows)):
            known = best[row]
            if known is None:
                reached[row], best[row] = target, outcome
                continue
            nearer = outcome if outcome.distance < known.distance else known
            reached[row] = target if nearer is outcome else reached[row]
            best[row] = Outcome(nearer.z, nearer.distance, min(known.bound, outcome.bound))
    outcomes = [outcome for outcome in best if outcome is not None]
    _refuse_impossible(question, X, reached, outcomes)
    return reached, outcomes


def _refuse_impossible(question: Question, X: np.ndarray, reached: np.ndarray, outcomes: list[Outcome]) -> None:
    """Raise an error if it does not depend on the row that there is no answer."""
    missing = [row for row, outcome in enumerate(outcomes) if outcome.z is None and np.isinf(outcome.bound)]
    if not missing:
        return
    row, domain = missing[0], question.domain
    target = question.classes.tolist()[reached[row]] if reached[row] >= 0 else None
    whole = _without_limits(domain)
    if nearest_of(question._replace(domain=whole), X, reached[row], np.array([row]))[0].z is None:
        raise ValueError(f"The model never predicts the class {target!r}, so that no row has it.")
    bounded = _without_limits(domain, lower=domain.lower, upper=domain.upper)
    if nearest_of(question._replace(domain=bounded), X, reached[row], np.array([row]))[0].z is None:
        raise ValueError(f"No row within the bounds has the class {target!r}: widen them.")


def _without_limits(domain: Domain, lower=-np.inf, upper=np.inf) -> Domain:
    n = len(domain.scale)
    return Domain(
        domain.norm,
        domain.scale,
        np.zeros(n, dtype=bool),
        np.broadcast_to(np.asarray(lower, float), n),
        np.broadcast_to(np.asarray(upper, float), n),
        np.zeros(n),
        names=domain.names,
    )
