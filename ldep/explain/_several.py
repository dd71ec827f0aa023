"""Answers that change other columns, and the menu of the sets of columns that are enough.

An answer changes a set of columns. The next one is the nearest row that leaves at least one column of each earlier set
as it is. Whoever finds one such row has split the problem: every row of another answer keeps one of these columns, so
that the best of as many searches, each with one column frozen, is the next answer.

A set of columns that cannot reach the class has no subset that can. So the menu begins with the largest sets.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations, count
from math import comb

import numpy as np

from ldep.explain._counterfactual import Change, Question, best_of, changes_of, is_proven
from ldep.explain._least_distance import Deadline
from ldep.explain._projection import Outcome

# A menu of more sets than this is refused: nobody reads it.
MOST_SETS = 5000
Columns = frozenset[int]


class Levers:
    """The columns of the row x that may change, and searches in which only some of them do."""

    def __init__(self, question: Question, x: np.ndarray, wanted: np.ndarray, deadline: Deadline):
        self.question, self.x, self.wanted, self.deadline = question, x, wanted, deadline
        self.columns = question.domain.columns
        frozen = question.domain.frozen
        self.free: Columns = frozenset(c for c, features in enumerate(self.columns) if not frozen[features].all())

    def nearest(self, kept: Iterable[int], searches_left: int = 1) -> tuple[int, Outcome]:
        """The class and the nearest row that keeps some columns, in a part of the time that is left."""
        kept = frozenset(kept)
        if not self.free - kept:
            return -1, Outcome(None, np.inf, np.inf)
        domain, frozen = self.question.domain, self.question.domain.frozen.copy()
        for column in kept:
            frozen[self.columns[column]] = True
        seconds = max(self.deadline.left / searches_left, 1e-3)
        question = self.question._replace(domain=replace(domain, frozen=frozen), time_limit=seconds)
        (target,), (outcome,) = best_of(question, self.x[None], self.wanted[None])
        return int(target), outcome

    def changed(self, outcome: Outcome) -> Columns:
        """The columns that an answer changes."""
        assert outcome.z is not None
        differs = outcome.z != self.x
        return frozenset(c for c, features in enumerate(self.columns) if differs[features].any())


def several(levers: Levers, first: tuple[int, Outcome], number: int) -> list[tuple[int, Outcome]]:
    """The nearest row and further ones that change other columns, at most so many; the first one is known.

    The last of fewer answers is one that says that there is no other, with the bound of what is proven about it.
    """
    found: list[tuple[int, Outcome]] = []
    order = count()
    # Open searches: what is proven about them comes first.
    heap: list[tuple[float, int, Columns, int, Outcome]] = []
    seen: set[Columns] = set()

    def push(kept: Columns, answer: tuple[int, Outcome]) -> None:
        target, outcome = answer
        if outcome.z is not None or np.isfinite(outcome.bound):
            key = outcome.distance if outcome.z is not None else outcome.bound
            heapq.heappush(heap, (key, next(order), kept, target, outcome))

    push(frozenset(), first)
    undecided = np.inf
    used: list[Columns] = []
    while heap and len(found) < number:
        _, _, kept, target, outcome = heapq.heappop(heap)
        if outcome.z is None:
            undecided = min(undecided, outcome.bound)
            continue
        changed = levers.changed(outcome)
        known = next((earlier for earlier in used if earlier <= changed), None)
        if known is None:
            open_bounds = [entry[4].bound for entry in heap]
            bound = min([outcome.bound, undecided, *open_bounds])
            found.append((target, Outcome(outcome.z, outcome.distance, bound)))
            used.append(changed)
            known = changed
        for column in sorted(known):
            smaller = kept | {column}
            if smaller not in seen and len(found) < number:
                seen.add(smaller)
                push(smaller, levers.nearest(smaller, 1 + number - len(found)))
    if len(found) < number:
        found += [(-1, Outcome(None, np.inf, undecided))] * (number - len(found))
    return found


@dataclass(frozen=True)
class Option:
    """One set of columns, and what changing these alone can do.

    Attributes
    ----------
    columns : tuple of str
        The columns that may change.
    target : class or None
        The class that is reached.
    distance, bound : float
        Distance of the nearest row, infinite where there is none, and what is proven: no allowed row is nearer.
    changes : list of Change
        What changes: all of the columns, or fewer if these are enough.
    row : ndarray or None
        The nearest row.
    """

    columns: tuple[str, ...]
    target: object
    distance: float
    bound: float
    changes: list[Change]
    row: np.ndarray | None = field(default=None, repr=False)

    @property
    def possible(self) -> bool | None:
        """Whether these columns alone can reach the class; None where the time was not enough to decide."""
        return True if np.isfinite(self.distance) else (False if np.isinf(self.bound) else None)

    @property
    def optimal(self) -> bool:
        """Whether the answer is proven."""
        return bool(is_proven(np.array(self.distance), np.array(self.bound)))

    def __str__(self) -> str:
        if not self.possible:
            found = "cannot" if self.possible is False else f"not decided; no nearer than {self.bound:.6g}"
            return f"{', '.join(self.columns)}: {found}"
        proof = "" if self.optimal else f", none nearer than {self.bound:.6g}"
        return f"{', '.join(str(change) for change in self.changes)} (distance {self.distance:.6g}{proof})"


@dataclass(frozen=True)
class Menu:
    """For every set of columns whether changing these alone reaches another class, and the nearest way.

    Attributes
    ----------
    options : list of Option
        The sets, the cheapest first, and last those that cannot.
    names : list of str
        Names of the features.
    """

    options: list[Option]
    names: list[str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.options)

    @property
    def possible(self) -> list[Option]:
        """The sets that reach the class and need each of their columns."""
        return [option for option in self.options if option.possible and self._needs_all(option)]

    @staticmethod
    def _needs_all(option: Option) -> bool:
        changed = {change.feature for change in option.changes}
        return all(changed & set(name.split(" + ")) for name in option.columns)

    def __str__(self) -> str:
        never = [option for option in self.options if option.possible is False]
        undecided = [option for option in self.options if option.possible is None]
        lines = [str(option) for option in [*self.possible, *undecided]]
        if never:
            single = [option.columns[0] for option in never if len(option.columns) == 1]
            lines.append(f"{len(never)} of {len(self)} sets cannot, which is proven")
            lines += [f"    alone: {', '.join(single)}"] if single else []
        return "\n".join(lines)


def menu(levers: Levers, most: int, names: list[str], classes: np.ndarray) -> Menu:
    """The options of all sets of up to so many columns."""
    free = sorted(levers.free)
    most = min(most, len(free))
    total = sum(comb(len(free), size) for size in range(1, most + 1))
    if total > MOST_SETS:
        raise ValueError(
            f"A menu of up to {most} of {len(free)} columns has {total} sets, more than {MOST_SETS}: freeze some "
            "columns, or ask for smaller sets."
        )
    answers: dict[Columns, tuple[int, Outcome]] = {}
    for size in range(most, 0, -1):
        for columns in map(frozenset, combinations(free, size)):
            if columns in answers:
                continue
            left = total - len(answers)
            answer = levers.nearest(levers.free - columns, left)
            answers[columns] = answer
            _infer(answers, columns, answer, levers)
    labels = [" + ".join(names[feature] for feature in features) for features in levers.columns]
    options = []
    for columns, (target, outcome) in answers.items():
        option = Option(
            tuple(labels[column] for column in sorted(columns)),
            classes.tolist()[target] if outcome.z is not None else None,
            outcome.distance,
            outcome.bound,
            [] if outcome.z is None else changes_of(levers.x, outcome.z, names),
            outcome.z,
        )
        options.append((outcome.distance, outcome.bound, len(columns), sorted(columns), option))
    return Menu([entry[-1] for entry in sorted(options, key=lambda entry: entry[:-1])], names)


def _infer(answers: dict, columns: Columns, answer: tuple[int, Outcome], levers: Levers) -> None:
    """What an answer says about subsets: none of them can if all together cannot, and the nearest row of all is that of
    a subset that has the columns that it changes."""
    _, outcome = answer
    if outcome.z is None and np.isfinite(outcome.bound):
        return
    needed = frozenset() if outcome.z is None else levers.changed(outcome)
    if outcome.z is not None and not is_proven(np.array(outcome.distance), np.array(outcome.bound)):
        return
    spare = sorted(columns - needed)
    for size in range(len(spare) + 1):
        for more in combinations(spare, size):
            subset = needed | frozenset(more)
            if subset:
                answers.setdefault(subset, answer)
