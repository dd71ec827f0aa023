"""The question about the nearest row as one mixed-integer program, written down without any of the library's search.

Every maximum, vote, choice and limit has its variables. It is slow and independent, which is what an oracle should be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ldep.explain import Domain
from ldep.model import OPEN_VOTES, FittedModel

Terms = dict[int, float]


class Program:
    """Variables with bounds, linear rows, and the indices of the changes that the norm adds up."""

    def __init__(self) -> None:
        self.low: list[float] = []
        self.high: list[float] = []
        self.whole: list[int] = []
        self.rows: list[tuple[Terms, float, float]] = []
        self.changes: list[int] = []

    def variable(self, low: float, high: float, whole: bool = False) -> int:
        self.low.append(low)
        self.high.append(high)
        self.whole.append(int(whole))
        return len(self.low) - 1

    def row(self, terms: Terms, low: float = -np.inf, high: float = np.inf) -> None:
        self.rows.append((terms, low, high))

    def range_of(self, terms: Terms, constant: float) -> tuple[float, float]:
        sides = [sorted((c * self.low[v], c * self.high[v])) for v, c in terms.items()]
        return constant + sum(side[0] for side in sides), constant + sum(side[1] for side in sides)

    def largest(self, pieces: Sequence[tuple[Terms, float]]) -> int:
        """The largest of affine functions."""
        ranges = [self.range_of(*piece) for piece in pieces]
        top = max(high for _, high in ranges)
        y = self.variable(max(low for low, _ in ranges), top)
        chosen = [self.variable(0, 1, True) for _ in pieces]
        self.row(dict.fromkeys(chosen, 1.0), 1.0, 1.0)
        for (terms, constant), (low, _), b in zip(pieces, ranges, chosen):
            below = {y: 1.0, **{v: -c for v, c in terms.items()}}
            self.row(below, low=constant)
            self.row({**below, b: top - low}, high=constant + top - low)
        return y


def added(parts: Sequence[tuple[float, Terms]]) -> Terms:
    total: Terms = {}
    for factor, terms in parts:
        for v, c in terms.items():
            total[v] = total.get(v, 0.0) + factor * c
    return total


def program_of(model: FittedModel, domain: Domain, x: np.ndarray, target: int, margin: float = 0.0) -> Program:
    """The program of the nearest row of a class; its first variables are the features. The bounds must be finite."""
    program = Program()
    n = len(x)
    low, high = domain.sides(x)
    for f in range(n):
        program.variable(*((x[f], x[f]) if domain.frozen[f] else (low[f], high[f])))
    for f in np.flatnonzero((domain.steps > 0) & ~domain.frozen).tolist():
        reach = np.ceil((high[f] - low[f]) / domain.steps[f]) + 1 + abs(x[f])
        count = program.variable(-reach, reach, True)
        program.row({f: 1.0, count: -domain.steps[f]}, x[f], x[f])
    for choice in domain.choices:
        rows = [program.variable(0, 1, True) for _ in choice.table]
        program.row(dict.fromkeys(rows, 1.0), 1.0, 1.0)
        for place, f in enumerate(choice.columns.tolist()):
            program.row({f: 1.0, **dict(zip(rows, -choice.table[:, place]))}, 0.0, 0.0)
    if domain.linear is not None:
        for row, limit in zip(domain.linear.matrix, domain.linear.limits):
            program.row(dict(enumerate(row.tolist())), high=limit)
    for f in range(n):
        reach = max(abs(program.high[f] - x[f]), abs(program.low[f] - x[f])) / domain.scale[f]
        change = program.variable(0.0, reach)
        program.changes.append(change)
        for sign in (1.0, -1.0):
            program.row({change: 1.0, f: sign / domain.scale[f]}, low=sign * x[f] / domain.scale[f])
    if domain.max_changes is not None:
        used = []
        for columns in domain.columns:
            used.append(program.variable(0, 1, True))
            for f in columns.tolist():
                program.row({program.changes[f]: 1.0, used[-1]: -program.high[program.changes[f]]}, high=0.0)
        program.row(dict.fromkeys(used, 1.0), high=domain.max_changes)
    _win(program, model, target, margin)
    return program


def _win(program: Program, model: FittedModel, target: int, margin: float) -> None:
    """The decision value of the target leads all others by the margin."""
    K = model.n_classes
    totals: list[list[tuple[float, Terms]]] = [[] for _ in range(K)]
    constants = -model.thresholds.astype(float)
    for member, weight in zip(model.members, model.weights):
        maxima = []
        for slopes, offsets in zip(member.slopes, member.offsets):
            start = offsets - slopes @ member.center
            maxima.append(program.largest([(dict(enumerate(w.tolist())), c) for w, c in zip(slopes, start.tolist())]))
        scores = [added([(sign, {y: 1.0}) for sign, y in zip(row, maxima)]) for row in member.signs]
        if not model.votes:
            votes = scores
        elif K == 2:
            tau = added([(1.0, scores[1]), (-1.0, scores[0])])
            minus = program.largest([({}, -1.0), ({v: -c for v, c in tau.items()}, 0.0)])
            clipped = program.largest([({}, -1.0), ({minus: -1.0}, 0.0)])
            votes = [{}, {clipped: 1.0}]
        else:
            votes = [{v: 1.0} for v in _shares(program, scores)]
        for k in range(K):
            totals[k].append((float(weight), votes[k]))
    factor, opened = np.ones(K), 0.0
    if model.factors is not None:
        factor, opened = model.factors, OPEN_VOTES
        constants = constants + factor * opened / K
    for rival in range(K):
        if rival != target:
            own = (factor[target] * (1.0 - opened), added(totals[target]))
            other = (-factor[rival] * (1.0 - opened), added(totals[rival]))
            program.row(added([own, other]), low=margin - constants[target] + constants[rival])


def _shares(program: Program, scores: list[Terms]) -> list[int]:
    """The sparsemax of scores: v_k = max(0, s_k - t), which sum to 1."""
    ranges = [program.range_of(terms, 0.0) for terms in scores]
    t = program.variable(min(low for low, _ in ranges) - 1.0, max(high for _, high in ranges))
    votes = []
    for terms in scores:
        excess = added([(1.0, terms), (-1.0, {t: 1.0})])
        low, _ = program.range_of(excess, 0.0)
        vote, shares = program.variable(0.0, 1.0), program.variable(0, 1, True)
        below = added([(1.0, {vote: 1.0}), (-1.0, excess)])
        program.row(below, low=0.0)
        program.row({**below, shares: 1.0 - low}, high=1.0 - low)
        program.row({vote: 1.0, shares: -1.0}, high=0.0)
        votes.append(vote)
    program.row(dict.fromkeys(votes, 1.0), 1.0, 1.0)
    return votes


# The status of scipy for a program without any solution.
INFEASIBLE = 2


def distance_by_highs(program: Program, norm: str) -> float:
    """The least distance in L1 or Linf; infinite if there is no such row, NaN if HiGHS fails."""
    cost = dict.fromkeys(program.changes, 1.0)
    if norm == "linf":
        most = program.variable(0.0, max(program.high[v] for v in program.changes))
        for v in program.changes:
            program.row({most: 1.0, v: -1.0}, low=0.0)
        cost = {most: 1.0}
    n = len(program.low)
    matrix = sparse.lil_array((len(program.rows), n))
    for number, (terms, _, _) in enumerate(program.rows):
        for v, c in terms.items():
            matrix[number, v] = c
    sides = np.array([row[1:] for row in program.rows])
    c = np.zeros(n)
    c[list(cost)] = list(cost.values())
    rows = LinearConstraint(matrix.tocsr(), sides[:, 0], sides[:, 1])
    low, high, whole = np.array(program.low), np.array(program.high), np.array(program.whole)
    done = milp(c, constraints=rows, bounds=Bounds(low, high), integrality=whole, options={"mip_rel_gap": 1e-9})
    if done.x is None:
        return np.inf if done.status == INFEASIBLE else np.nan
    # HiGHS allows integers to be off by 1e-6. With them fixed a linear program remains.
    fixed = np.where(whole == 1, np.rint(done.x), np.nan)
    low, high = np.where(whole == 1, fixed, low), np.where(whole == 1, fixed, high)
    polished = milp(c, constraints=rows, bounds=Bounds(low, high))
    return float(polished.fun if polished.x is not None else done.fun)
