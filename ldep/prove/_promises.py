"""Promises about a model: each is proven for every row in the stated ranges, or broken by a row that is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scipy.optimize import brentq

from ldep.explain import Deadline
from ldep.prove._cases import Case, Subject, Verdict, take, undecided, wins
from ldep.prove._certificate import condition
from ldep.prove._difference import agree
from ldep.prove._search import Search
from ldep.prove._stability import stable

# Probabilities are compared cell by cell; cells narrower than this share of the decision values are not split.
NARROWEST_CELL = 1e-4


def promise(model: Any, X: Any, *, seconds: float = 60.0, other: Any = None, **stated: Any) -> Verdict:
    """Prove a promise for every row within the ranges of the training rows, or find a row that breaks it.

    Parameters
    ----------
    model : TableModel or estimator
        The fitted model.
    X : data frame or array-like
        Its training rows: raw ones for a TableModel. The ranges of their columns are those of the promise.
    seconds : float, default=60
        The time limit.
    other : TableModel or estimator, default=None
        The model that `agree_with` means.
    **stated
        One promise: `never_changes`, `monotone`, `range`, `stable` or `agree_with`, as in docs/proofs.md.

    Returns
    -------
    verdict : Verdict
        Whether it is kept, why, the rows that break it, and the certificate.
    """
    if len(stated) != 1 or next(iter(stated)) not in KINDS:
        raise ValueError(f"one promise is needed, of {', '.join(KINDS)}.")
    (kind, content), deadline = next(iter(stated.items())), Deadline.after(seconds)
    if kind == "agree_with":
        return agree(model, other, X, dict(content), deadline)
    return check_promise(Subject.of(model, X), kind, content, deadline, X if kind == "stable" else None, model)


def check_promise(
    subject: Subject, kind: str, content: Mapping[str, Any], deadline: Deadline, X: Any = None, model: Any = None
) -> Verdict:
    """`promise` for a subject. `X` are the training rows, which `stable` needs."""
    verdict = Verdict({kind: dict(content)})
    if kind == "stable":
        return stable(subject, dict(content), deadline, verdict, X, model)
    return PROMISES[kind](subject, dict(content), deadline, verdict)


def _never_changes(subject: Subject, content: Mapping[str, Any], deadline: Deadline, verdict: Verdict) -> Verdict:
    names, where, by = take(content, "never_changes", "column", "where", "probability")
    names = names if isinstance(names, list) else [names]
    space = subject.space.within(where or {})
    case = Case(subject, space, deadline)
    case.rows.add("")
    case.rows.add(" (changed)", {name: space.column(name) for name in names})
    for row in range(2):
        case.question.add_copy(0, case.rows.features(row, 0))
    case.question.bridge_copies(0, 1)
    case.build()
    shown = " and ".join(names)
    if by is not None:
        return _probability_moves(case, verdict, by, f"a change of {shown} alone moves the probability by more than")
    n = subject.model.n_classes
    pairs = [(1, 0)] if n == 2 else [(k, other) for k in range(n) for other in range(k + 1, n)]
    for k, other in pairs:
        text = f"a change of {shown} alone changes the class from {subject.classes[k]} to {subject.classes[other]}"
        search = case.excludes(f"no {text[2:]}", [*wins(0, k, n), *wins(1, other, n)])
        if search.above and search.x is not None:
            verdict.rows = [case.rows.cells(row, search.x) for row in range(2)]
            verdict.why = f"{text}"
            return verdict
        if not search.excluded:
            return undecided(verdict, search, text)
    return case.verdict(verdict, f"no change of {shown} alone changes the class")


def _probability_moves(case: Case, verdict: Verdict, by: Any, text: str) -> Verdict:
    """Whether the probability of the second row exceeds that of the first one by more than `by`, cell by cell."""
    probability = _probability(case.subject)
    if isinstance(by, bool) or not isinstance(by, (int, float)) or not 0 < by < 1:
        raise ValueError(f"probability is {by!r}; it must be a number between 0 and 1.")
    reach = []
    for sign in (-1.0, 1.0):
        claim = {"conditions": [condition([(0, 1, sign)])], "ranges": []}
        search = Search(case.problem, claim, case.deadline)
        search.largest(1e-3)
        reach.append(sign * search.bound)
    low, high = reach
    cells = [(low, high)]
    while cells:
        a, b = cells.pop()
        if probability(a) + by >= probability(high):
            continue
        least = _value_at(probability, probability(a) + by, a, high)
        conditions = [condition([(0, 1, 1.0)], -a), condition([(0, 1, -1.0)], b), condition([(1, 1, 1.0)], -least)]
        search = case.excludes(f"no decision value rises from between {a:.6g} and {b:.6g} to {least:.6g}", conditions)
        if search.excluded:
            continue
        if search.above and search.x is not None:
            first, second = (case.scores(search, row)[1] for row in range(2))
            if probability(second) - probability(first) > by:
                verdict.rows = [case.rows.cells(row, search.x) for row in range(2)]
                verdict.why = f"{text} {by:g}, from {probability(first):.4f} to {probability(second):.4f}"
                return verdict
        if not search.above or b - a < NARROWEST_CELL * (high - low):
            return undecided(verdict, search, f"{text} {by:g}")
        cells += [((a + b) / 2.0, b), (a, (a + b) / 2.0)]
    return case.verdict(verdict, f"not that {text} {by:g}")


def _probability(subject: Subject) -> Callable[[float], float]:
    if subject.model.n_classes > 2:
        raise ValueError("probabilities are examined for two classes only; state it about classes instead.")
    if subject.probability is None:
        raise ValueError("the model has no probabilities; state it about the decision value instead.")
    return subject.probability


def _value_at(probability: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """The decision value with this probability, or the end of the range nearest to it."""
    if probability(low) >= wanted:
        return low
    if probability(high) <= wanted:
        return high
    return float(brentq(lambda value: probability(value) - wanted, low, high, xtol=1e-12, rtol=1e-12))


def _range(subject: Subject, content: Mapping[str, Any], deadline: Deadline, verdict: Verdict) -> Verdict:
    limits, values, label, where = take(content, "range", "probability", "decision", "class", "where")
    if (limits is None) == (values is None):
        raise ValueError("range needs either probability or decision.")
    if subject.model.n_classes > 2:
        raise ValueError("range is examined for two classes only.")
    stated = limits if limits is not None else values
    numbers = isinstance(stated, (list, tuple)) and all(isinstance(v, (int, float)) for v in stated)
    if not numbers or len(stated) != 2 or not stated[0] <= stated[1]:
        raise ValueError(f"range is {stated!r}; it must be two numbers, the smaller one first.")
    number = subject.number(label) if label is not None else 1
    case = Case(subject, subject.space.within(where or {}), deadline)
    case.rows.add("")
    case.question.add_copy(0, case.rows.features(0, 0))
    case.build()
    sign = 1.0 if number == 1 else -1.0
    name = f"the probability of {subject.classes[number]}" if limits is not None else "the decision value"
    for side, end in ((-1.0, stated[0]), (1.0, stated[1])):
        if limits is not None:
            if end <= 0.0 or end >= 1.0:
                continue
            wanted = end if number == 1 else 1.0 - end
            tau = _value_at(_probability(subject), wanted, -1e12, 1e12)
        else:
            tau = sign * float(end)
        direction = side * sign
        text = f"{name} is {'above' if side > 0 else 'below'} {end:g}"
        search = case.excludes(f"never: {text}", [condition([(0, 1, direction)], -direction * tau)])
        if search.above and search.x is not None:
            verdict.rows, verdict.why = [case.rows.cells(0, search.x)], f"{text}"
            return verdict
        if not search.excluded:
            return undecided(verdict, search, text)
    return case.verdict(verdict, f"{name} is from {stated[0]:g} to {stated[1]:g}")


def _monotone(subject: Subject, content: Mapping[str, Any], deadline: Deadline, verdict: Verdict) -> Verdict:
    content = dict(content)
    label, where = content.pop("class", None), content.pop("where", None)
    if not content:
        raise ValueError("monotone needs a column, such as {income: up}.")
    n = subject.model.n_classes
    if label is None and n > 2:
        raise ValueError("monotone needs a class if there are more than two.")
    number = subject.number(label) if label is not None else 1
    space = subject.space.within(where or {})
    shown, certificates = [], []
    for name, way in content.items():
        if way not in ("up", "down"):
            raise ValueError(f"monotone says {way!r} about '{name}'; it must be up or down.")
        column = space.number(name)
        if column.fill is not None:  # a missing number does not rise
            space = space.within({name: [column.low, column.high]})
            column = space.number(name)
        case = Case(subject, space, deadline)
        case.rows.add("")
        width = column.high - column.low
        steps = (0.0, column.grid[1]) if column.grid is not None else None
        rise = case.question.inputs.add(f"rise of {name}", 0.0, width, steps)
        place = case.rows.places[0][name][0]
        case.question.inputs.rows.append(([(place, 1.0), (rise, 1.0)], column.high))
        case.question.add_copy(0, case.rows.features(0, 0))
        case.question.add_copy(0, case.rows.features(0, 0, (name, rise)))
        case.question.bridge_copies(0, 1)
        case.build()
        before, after = (0, 1) if way == "up" else (1, 0)
        for rival in [k for k in range(n) if k != number]:
            lead = f"the lead of {subject.classes[number]} over {subject.classes[rival]}"
            text = f"{lead} falls where {name} {'rises' if way == 'up' else 'falls'}"
            terms = [(before, number, 1.0), (before, rival, -1.0), (after, number, -1.0), (after, rival, 1.0)]
            search = case.excludes(f"never: {text}", [condition(terms)])
            if search.above and search.x is not None:
                changed = case.rows.cells(0, search.x)
                moved = {**changed, name: changed[name] + float(search.x[rise])}
                verdict.rows = [changed, moved] if way == "up" else [moved, changed]
                verdict.why = f"{text}, by {search.best:.4g}"
                return verdict
            if not search.excluded:
                return undecided(verdict, search, text)
        shown.append(
            f"{subject.classes[number]} is never less likely where {name} {'rises' if way == 'up' else 'falls'}"
        )
        certificates.append(case.certificate())
    verdict.kept, verdict.why = True, f"{'; '.join(shown)}"
    verdict.certificate = certificates[0] if len(certificates) == 1 else {"parts": certificates}
    return verdict


PROMISES: dict[str, Callable[..., Verdict]] = {"never_changes": _never_changes, "monotone": _monotone, "range": _range}
KINDS = (*PROMISES, "stable", "agree_with")
