"""The linear program that bounds the objective in a part, and the multipliers of its solution.

The variables are the inputs, the maxima, and for each choice the shares of its rows. A maximum is at least each of its
pieces, and at most some affine functions that are at least all pieces that may be the largest: one such piece plus a
constant, a constant, or with two pieces the chord. The program is solved in units of the ranges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import highspy
import numpy as np

from ldep.prove._arrays import Arrays, Box

# Multipliers below this share of the largest are rounding errors.
NOISE = 1e-11
# Tangents that may be added to a ball, in one part.
MOST_TANGENTS = 100
# What an answer may exceed the radius of a ball by, in shares of the radius.
OUTSIDE = 1e-6
# What a unit by which rows fail may cost, in units of the objective, where no point has them all.
PRICES = (1e3, 1e6, 1e9)


class Program:
    """Linear programs, solved by the dual simplex method of HiGHS."""

    def __init__(self) -> None:
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("presolve", "off")
        self.highs.setOptionValue("threads", 1)
        self.highs.setOptionValue("solver", "simplex")

    def solve(self, cost, rows, sides, n_inequalities: int, lower, upper):
        """Minimise cost . x where the first rows are at most, and the others equal to, their sides.

        Returns x, the multipliers of the rows, and the value; None if there is no solution.
        """
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(cost), len(sides)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, lower, upper
        least = np.asarray(sides, dtype=float).copy()
        least[:n_inequalities] = -np.inf
        lp.row_lower_, lp.row_upper_ = least, sides
        places = rows != 0.0
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(places.sum(axis=1))]).astype(np.int32)
        lp.a_matrix_.index_ = np.nonzero(places)[1].astype(np.int32)
        lp.a_matrix_.value_ = rows[places]
        self.highs.passModel(lp)
        self.highs.run()
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self.highs.getSolution()
        value = self.highs.getInfo().objective_function_value
        return np.array(solution.col_value), np.array(solution.row_dual), float(value)


class Relaxed(NamedTuple):
    """The bound of a part, the multipliers that prove it, and the point x where the program has it.

    `excess` says for each maximum how much its upper bound adds to the objective at the point.
    """

    bound: float
    leaf: dict[str, Any]
    x: np.ndarray
    excess: np.ndarray
    shares: list[np.ndarray]


class Relaxation:
    """Bounds an objective in parts of a box."""

    def __init__(self, arrays: Arrays, whole: Box):
        self.arrays = arrays
        lowest, highest = arrays.limits(whole)
        self.inputs = np.where(whole.high > whole.low, whole.high - whole.low, 1.0)
        self.maxima = np.where(highest > lowest, highest - lowest, 1.0)
        self.unit = float(arrays.largest(arrays.objective[None], whole, lowest, highest)[0]) + float(
            arrays.largest(-arrays.objective[None], whole, lowest, highest)[0]
        )
        self.unit = self.unit if self.unit > 0 else 1.0
        self.below = [(g, p) for g, pieces in enumerate(arrays.pieces) for p in range(len(pieces))]
        n, G = arrays.n, arrays.n_maxima
        self.units = np.concatenate([self.inputs, self.maxima])
        stacked = np.vstack([*arrays.pieces, np.zeros((0, arrays.width))])
        rows, bounds = stacked[:, : n + G].copy(), -stacked[:, -1].copy()
        for number, (g, _) in enumerate(self.below):
            rows[number, n + g] -= 1.0
        scale = np.array([self.maxima[g] for g, _ in self.below])
        fixed, limits = [rows / scale[:, None]], [bounds / scale]
        self.row_scale = np.array([np.abs(row * self.inputs).sum() or 1.0 for row in arrays.rows])
        fixed.append(np.hstack([arrays.rows, np.zeros((len(arrays.rows), G))]) / self.row_scale[:, None])
        limits.append(arrays.at_most / self.row_scale)
        joins = np.zeros((len(arrays.bridges), n + G))
        constants = np.zeros(len(arrays.bridges))
        self.bridge_scale = np.ones(len(arrays.bridges))
        for number, (g, h, form) in enumerate(arrays.bridges):
            joins[number] = -form[:-1]
            joins[number, n + g] += 1.0
            joins[number, n + h] -= 1.0
            constants[number] = form[-1]
            self.bridge_scale[number] = self.maxima[g] + self.maxima[h]
        fixed.append(joins / self.bridge_scale[:, None])
        limits.append(constants / self.bridge_scale)
        self.fixed, self.fixed_limits = np.vstack(fixed) * self.units, np.concatenate(limits)
        self.tangents: list[np.ndarray] = []
        self.program = Program()

    def relaxed(self, box: Box, aim: float) -> Relaxed | None:
        """The bound of a part; None if the program failed. A part that is empty gets a bound of at most `aim`."""
        arrays = self.arrays
        lowest, highest = arrays.limits(box)
        upper = self._upper_bounds(box, lowest, highest)
        # The maxima have no ranges here: a certificate has multipliers for the rows alone.
        nowhere = np.full(arrays.n_maxima, np.inf)
        low, high = np.concatenate([box.low, -nowhere]), np.concatenate([box.high, nowhere])
        shares = [self._shares(c, box) for c in range(len(arrays.choices))]
        for _ in range(MOST_TANGENTS):
            rows, limits = self._program(upper)
            answer = self._solve(rows, limits, low, high, shares)
            if answer is None:
                return self._empty(upper, rows, limits, low, high, shares, aim)
            point, multipliers, value, parts = answer
            if not self._add_tangent(point[: arrays.n]):
                break
        leaf, used = self._leaf(multipliers, upper)
        excess = np.zeros(arrays.n_maxima)
        for (g, _), amount in zip(upper, used):
            excess[g] += amount
        local = np.append(point, 1.0)
        for g, pieces in enumerate(arrays.pieces):
            excess[g] *= max(float(local[arrays.n + g] - (pieces @ local).max()), 0.0)
            if len(box.pieces[g]) == 1:
                excess[g] = 0.0
        return Relaxed(value, leaf, point[: arrays.n], excess, parts)

    def _upper_bounds(self, box: Box, lowest: np.ndarray, highest: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Weights of the pieces in upper bounds of the maxima, and the constants that they need."""
        arrays, found = self.arrays, []
        for g, pieces in enumerate(arrays.pieces):
            allowed = list(box.pieces[g])
            weights = np.zeros((0, len(pieces)))
            if len(allowed) == 1:
                weights = np.eye(len(pieces))[allowed]
            elif len(allowed) == 2:
                p, q = allowed
                up, down = arrays.largest(
                    np.array([pieces[q] - pieces[p], pieces[p] - pieces[q]]), box, lowest, highest
                )
                weights = np.vstack([np.eye(len(pieces))[allowed], np.zeros(len(pieces))])
                if up > 0 and down > 0:
                    chord = np.zeros(len(pieces))
                    chord[q] = up / (up + down)
                    chord[p] = 1.0 - chord[q]
                    weights = np.vstack([chord, weights])
            else:
                weights = np.vstack([np.zeros(len(pieces)), np.eye(len(pieces))[allowed]])
            for weight in weights:
                form = weight @ pieces
                rest = float(arrays.largest(pieces[allowed] - form, box, lowest, highest).max())
                if len(allowed) == 1:
                    rest = 0.0
                row = form.copy()
                row[-1] += rest
                found.append((g, np.concatenate([row, weight])))
        return found

    def _program(self, upper: list[tuple[int, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        arrays = self.arrays
        n, G = arrays.n, arrays.n_maxima
        rows, limits = np.zeros((len(upper), n + G)), np.zeros(len(upper))
        for number, (g, entry) in enumerate(upper):
            form = entry[: arrays.width]
            rows[number] = -form[:-1]
            rows[number, n + g] += 1.0
            rows[number] /= self.maxima[g]
            limits[number] = form[-1] / self.maxima[g]
        all_rows, all_limits = [self.fixed, rows * self.units], [self.fixed_limits, limits]
        if arrays.ball is not None:
            center, scale, radius, _ = arrays.ball
            cuts = np.zeros((len(self.tangents), n + G))
            for number, direction in enumerate(self.tangents):
                cuts[number, :n] = direction / scale / radius
            all_rows.append(cuts * self.units)
            all_limits.append(1.0 + cuts[:, :n] @ center)
        return np.vstack(all_rows), np.concatenate(all_limits)

    def _shares(self, c: int, box: Box) -> np.ndarray:
        return np.array(box.choices[c])

    def _solve(self, rows, limits, low, high, shares, price: float = 0.0):
        """Solve the program; None if it has no point. With a price per unit the rows may fail."""
        arrays = self.arrays
        n, G = arrays.n, arrays.n_maxima
        n_shares = sum(len(allowed) for allowed in shares)
        elastic = price > 0
        size = n + G + n_shares + elastic
        cost = np.zeros(size)
        cost[: n + G] = -arrays.objective[:-1] * self.units / self.unit
        if elastic:
            cost[-1] = price
        table = np.zeros((len(rows), size))
        table[:, : n + G] = rows
        if elastic:
            table[:, -1] = -1.0
        equal, right, first = [], [], n + G
        for (places, values), allowed in zip(arrays.choices, shares):
            block = np.zeros((len(places) + 1, size))
            block[np.arange(len(places)), places] = self.units[places]
            block[:-1, first : first + len(allowed)] = -values[allowed].T
            block[-1, first : first + len(allowed)] = 1.0
            equal.append(block)
            right.append(np.append(np.zeros(len(places)), 1.0))
            first += len(allowed)
        lower, upper = np.zeros(size), np.ones(size)
        lower[: n + G], upper[: n + G] = low / self.units, high / self.units
        if elastic:
            upper[-1] = np.inf
        blocks = np.vstack([table, *equal]) if equal else table
        sides = np.concatenate([limits, *right]) if right else limits
        answer = self.program.solve(cost, blocks, sides, len(limits), lower, upper)
        if answer is None:
            return None
        x, duals, least = answer
        point = x[: n + G] * self.units
        parts, first = [], n + G
        for allowed in shares:
            parts.append(x[first : first + len(allowed)])
            first += len(allowed)
        multipliers = np.maximum(-duals[: len(limits)], 0.0)
        value = -least * self.unit + arrays.objective[-1]
        return point, multipliers * self.unit, float(value), parts

    def _add_tangent(self, x: np.ndarray) -> bool:
        """Cut off a point outside the ball; False if it is inside."""
        if self.arrays.ball is None:
            return False
        center, scale, radius, norm = self.arrays.ball
        u = (x - center) / scale
        if norm == "linf":
            return False  # the ranges are the ball
        size = float(np.abs(u).sum() if norm == "l1" else np.linalg.norm(u))
        if size <= radius * (1.0 + OUTSIDE):
            return False
        self.tangents.append(np.sign(u) if norm == "l1" else u / size)
        return True

    def _leaf(self, multipliers: np.ndarray, upper) -> tuple[dict[str, Any], np.ndarray]:
        """The multipliers as a certificate has them, and those of the upper bounds."""
        arrays = self.arrays
        kept = np.where(multipliers > NOISE * max(multipliers.max(initial=0.0), 1e-300), multipliers, 0.0)
        counts = [len(self.below), len(arrays.rows), len(arrays.bridges), len(upper)]
        below, rows, bridges, above, tangents = np.split(kept, np.cumsum(counts))
        leaf: dict[str, Any] = {"split": None, "below": {}, "above": {}, "rows": {}, "bridges": {}}
        for (g, p), value in zip(self.below, below):
            if value:
                leaf["below"].setdefault(str(g), {})[str(p)] = float(value / self.maxima[g])
        leaf["rows"] = {str(k): float(v) for k, v in enumerate(rows / self.row_scale) if v}
        leaf["bridges"] = {str(k): float(v) for k, v in enumerate(bridges / self.bridge_scale) if v}
        above = above / np.array([self.maxima[g] for g, _ in upper]) if len(upper) else above
        weights: dict[int, np.ndarray] = {}
        totals: dict[int, float] = {}
        for (g, entry), value in zip(upper, above):
            if value:
                weights[g] = weights.get(g, 0.0) + value * entry[arrays.width :]
                totals[g] = totals.get(g, 0.0) + value
        for g, weight in weights.items():
            leaf["above"][str(g)] = {str(p): float(v) for p, v in enumerate(weight / totals[g]) if v}
        if arrays.ball is not None:
            _, scale, radius, _ = arrays.ball
            direction = sum((y * t for y, t in zip(tangents, self.tangents)), np.zeros(arrays.n)) / scale / radius
            leaf["ball"] = {str(j): float(v) for j, v in enumerate(direction) if v}
        return leaf, above

    def _empty(self, upper, rows, limits, low, high, shares, aim: float) -> Relaxed | None:
        """Prove that a part is empty: its rows may fail, at a price that takes the objective below the aim."""
        for price in PRICES:
            answer = self._solve(rows, limits, low, high, shares, price)
            if answer is not None and answer[2] <= aim:
                point, multipliers, _, parts = answer
                leaf, _ = self._leaf(multipliers, upper)
                return Relaxed(-np.inf, leaf, point[: self.arrays.n], np.zeros(self.arrays.n_maxima), parts)
        return None
