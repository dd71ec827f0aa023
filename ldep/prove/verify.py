"""Check a certificate of ldep in exact rational arithmetic, with Python's standard library alone.

    python verify.py certificate.json [model.json ...]

Inputs x lie in ranges, some on grids; choices list the values that some inputs take together; rows demand a . x <= b; a
ball limits the distance from a point. A copy is a model whose features are (a . x + constant) / scale. A condition is a
weighted sum of scores of copies (of two classes, 0 and the decision value) plus a constant. The claim: for every
allowed x the smallest condition is at most the bound. If that is negative, no allowed x has all conditions at least 0.

Models are maxima of affine functions, z_g = max_p piece_gp(x, z_1, ..., z_{g-1}), and so are clipped votes, sparsemax
and the smallest condition. A certificate splits the allowed x and gives multipliers for each part. All bounds are
computed here: wrong multipliers make a bound larger, and never wrong. In a part the objective F is bounded by
    F + mu (z_g - piece_gp) >= F                  for mu >= 0: a maximum is at least each of its pieces;
    z_g <= sum theta_p piece_gp + b               with the b that suffices for all pieces that may be the largest here;
    F + y (b - a . x) >= F                        for y >= 0 and a row, and likewise for the ball;
    z_g - z_h <= max_p (piece_gp - piece_hp)      for two maxima with as many pieces ("bridges"),
from the last maximum to the first, until it is affine in x. Exit code: 0 if all claims hold, 3 if not, 1 without files.
"""

import json
import sys
from fractions import Fraction
from itertools import combinations, islice
from math import ceil, floor, isqrt
from pathlib import Path

FORMAT = "ldep certificate 1"
NUMBERS = ("center", "slopes", "offsets", "sizes", "signs", "vote", "weights", "factors", "thresholds")  # of a model
OPEN_VOTES = Fraction(0.02)  # the part of shared votes that counts as open, split evenly among the classes
CONSTANT = -1  # the place of the constant in an affine function, which is a dict from places to coefficients
ONE = {CONSTANT: Fraction(1)}
DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Refused(ValueError):
    """Something in a certificate is wrong."""


def require(condition, message):
    if not condition:
        raise Refused(message)


def exact(value):
    """A number: a floating point number is exactly the binary fraction that it is."""
    require(type(value) in (int, float, str), f"{value!r} is not a number")
    return Fraction(value)


def add(form, other, factor=1):
    """Add a multiple of an affine function to another one, in place."""
    for place, coefficient in other.items():
        form[place] = form.get(place, 0) + factor * coefficient
        if not form[place] and place != CONSTANT:
            del form[place]
    return form


def combined(*terms):
    """The sum of (factor, affine function)."""
    total = {CONSTANT: Fraction(0)}
    for factor, form in terms:
        add(total, form, factor)
    return total


class Problem:
    """The allowed inputs, and the maxima of the copies of the models."""

    def __init__(self, certificate):
        inputs, self.ball = certificate["inputs"], certificate["ball"]
        self.size = len(inputs)
        self.low, self.high = ([exact(entry[side]) for entry in inputs] for side in ("low", "high"))
        self.grids = [entry["grid"] and [exact(v) for v in entry["grid"]] for entry in inputs]
        self.choices = [(c["inputs"], [[exact(v) for v in row] for row in c["table"]]) for c in certificate["choices"]]
        chosen = [place for places, _ in self.choices for place in places]
        self.free = [place for place in range(self.size) if place not in chosen]
        require(len(self.free) + len(chosen) == self.size, "a choice has an input that another has, or none")
        self.rows = [combined((exact(r["at_most"]), ONE), (-1, self._linear(r["terms"]))) for r in certificate["rows"]]
        if self.ball:
            self.center, self.scale = ([exact(v) for v in self.ball[key]] for key in ("center", "scale"))
            self.radius = exact(self.ball["radius"])
            reach = [self.radius * scale for scale in self.scale]
            self.low = [max(low, c - r) for low, c, r in zip(self.low, self.center, reach, strict=True)]
            self.high = [min(high, c + r) for high, c, r in zip(self.high, self.center, reach, strict=True)]
        self.pieces, self.scores, self.bridges = list[list[dict]](), [], []
        for copy in certificate["copies"]:
            forms = [add(self._linear(entry["terms"]), ONE, exact(entry["constant"])) for entry in copy["features"]]
            features = [combined((1 / exact(entry["scale"]), f)) for entry, f in zip(copy["features"], forms)]
            self.scores.append(self._scores(certificate["models"][copy["model"]], features))
        own = len(self.pieces)
        for g, h in certificate["bridges"]:
            require(g in range(own) and h in range(own), "a bridge joins maxima that do not exist")
            pairs = zip(self.pieces[g], self.pieces[h], strict=True)
            self.bridges.append((g, h, self._maximum([combined((1, p), (-1, q)) for p, q in pairs])))
        self.shared = len(self.pieces)

    def _linear(self, terms):
        require(all(place in range(self.size) for place, _ in terms), "there is no such input")
        return combined(*((exact(factor), {place: 1}) for place, factor in terms))

    def _maximum(self, pieces):
        """The largest of affine functions, as a new variable."""
        if len(pieces) == 1:
            return dict(pieces[0])
        self.pieces.append(pieces)
        return {self.size + len(self.pieces) - 1: Fraction(1)}

    def _votes(self, values, kind):
        """Clipped: max(-1, min(1, v)). Sparsemax: max(0, s_k - t), t = max over sets S of (sum of s in S - 1) / |S|."""
        if kind == "clip":
            smaller = [combined((-1, self._maximum([combined((-1, ONE)), combined((-1, v))]))) for v in values]
            return [self._maximum([combined((-1, ONE)), v]) for v in smaller]
        require(kind == "sparsemax", f"there is no vote {kind!r}")
        sets = [group for size in range(1, len(values) + 1) for group in combinations(values, size)]
        sums = [combined((-1, ONE), *((1, value) for value in group)) for group in sets]
        limit = self._maximum([combined((Fraction(1, len(group)), f)) for group, f in zip(sets, sums)])
        return [self._maximum([combined(), combined((1, value), (-1, limit))]) for value in values]

    def _scores(self, model, features):
        """The score of each class."""
        moved = [combined((1, f), (-exact(c), ONE)) for f, c in zip(features, model["center"], strict=True)]
        rows = zip(model["slopes"], model["offsets"], strict=True)
        pieces = [combined(*zip(map(exact, row), moved, strict=True), (exact(b), ONE)) for row, b in rows]
        totals, left = [combined() for _ in model["signs"]], iter(pieces)
        for sizes, weight in zip(model["sizes"], model["weights"], strict=True):
            maxima = [self._maximum(list(islice(left, size))) for size in sizes]
            values = [combined(*zip(map(exact, row), maxima, strict=True)) for row in model["signs"]]
            for total, value in zip(totals, self._votes(values, model["vote"]) if model["vote"] else values):
                add(total, value, exact(weight))
        if model["factors"] is not None:
            opened = [combined((1 - OPEN_VOTES, total), (OPEN_VOTES / len(totals), ONE)) for total in totals]
            totals = [combined((exact(f), form)) for f, form in zip(model["factors"], opened, strict=True)]
        totals = [add(total, ONE, -exact(t)) for total, t in zip(totals, model["thresholds"], strict=True)]
        return totals if len(totals) > 1 else [combined(), totals[0]]

    def objective(self, conditions):
        """The smallest of the conditions of a claim. Its maximum replaces that of the claim before."""
        del self.pieces[self.shared :]
        negative = []
        for entry in conditions:
            terms = [(-exact(factor), self.scores[copy][label]) for copy, label, factor in entry["terms"]]
            negative.append(combined(*terms, (-exact(entry["constant"]), ONE)))
        return combined((-1, self._maximum(negative)))

    def start(self, ranges):
        """The part that is the whole."""
        low, high = list(self.low), list(self.high)
        for place, smallest, largest in ranges:
            low[place], high[place] = max(low[place], exact(smallest)), min(high[place], exact(largest))
        for j, (base, step) in ((j, grid) for j, grid in enumerate(self.grids) if grid):
            low[j], high[j] = base + step * ceil((low[j] - base) / step), base + step * floor((high[j] - base) / step)
        choices = []
        for places, table in self.choices:
            inside = [all(low[j] <= v <= high[j] for j, v in zip(places, row, strict=True)) for row in table]
            choices.append(tuple(row for row, allowed in enumerate(inside) if allowed))
        return Part(self, (low, high, tuple(tuple(range(len(pieces))) for pieces in self.pieces), tuple(choices)))


class Part:
    """Some of the allowed x: ranges of the inputs, the pieces that may be the largest, and the choices."""

    def __init__(self, problem, own):
        self.problem, self.own, self.limits = problem, own, {}
        self.low, self.high, self.pieces, self.choices = own
        self.empty = any(self.low[j] > self.high[j] for j in problem.free) or not all(self.choices)

    def split(self, node):
        """The parts into which a node of the tree splits this one; together they are all of it."""
        problem, own = self.problem, self.own
        if node["split"] == "input":
            j, below = node["input"], exact(node["at"])
            base, step = problem.grids[j] or (below, 0)
            below = base + step * floor((below - base) / step) if step else below
            high, low = list(self.high), list(self.low)
            high[j], low[j] = min(high[j], below), max(low[j], below + step)
            return [Part(problem, (self.low, high, *own[2:])), Part(problem, (low, *own[1:]))]
        kind, place = (2, node["maximum"]) if node["split"] == "maximum" else (3, node["choice"])
        for number in set(own[kind][place]).difference(*node["groups"]):
            require(kind == 2, "a split leaves out a choice")
            other = problem.pieces[place][node["above"][str(number)]]
            smaller = combined((1, problem.pieces[place][number]), (-1, other))
            require(self.largest(smaller) < 0, "a split leaves out a piece that may be the largest")
        changed = [(*own[kind][:place], tuple(group), *own[kind][place + 1 :]) for group in node["groups"]]
        return [Part(problem, (*own[:kind], new, *own[kind + 1 :])) for new in changed]

    def limit(self, g):
        """Bounds of z_g here, from below and from above."""
        if g not in self.limits:
            pieces = self.problem.pieces[g]
            smallest = max(-self.largest(combined((-1, piece))) for piece in pieces)
            self.limits[g] = smallest, max(self.largest(pieces[p]) for p in self.pieces[g])
        return self.limits[g]

    def largest(self, form):
        """An upper bound of an affine function of x and z: the z with one piece are replaced by it, or by bounds."""
        return min(self._largest(form, known) for known in (0, 1))

    def _largest(self, form, known):
        form = dict(form)
        for g in reversed(range(len(self.pieces))):
            factor = form.pop(self.problem.size + g, 0)
            if factor and len(self.pieces[g]) == known:
                add(form, self.problem.pieces[g][self.pieces[g][0]], factor)
            elif factor:
                form[CONSTANT] += factor * self.limit(g)[factor > 0]
        return self._largest_of_inputs(form)

    def _largest_of_inputs(self, form):
        total = form[CONSTANT]
        for j in self.problem.free:
            total += max(form.get(j, 0) * self.low[j], form.get(j, 0) * self.high[j])
        for (places, table), allowed in zip(self.problem.choices, self.choices):
            total += max(sum(form.get(j, 0) * v for j, v in zip(places, table[row], strict=True)) for row in allowed)
        return total

    def bound(self, objective, leaf):
        """The bound of the objective that the multipliers of a leaf give."""
        problem, form = self.problem, dict(objective)
        for number, y in leaf["bridges"].items():
            g, h, largest = problem.bridges[int(number)]
            add(form, combined((1, largest), (1, {problem.size + g: -1, problem.size + h: 1})), max(exact(y), 0))
        for g, pieces in reversed(list(enumerate(problem.pieces))):
            used = {int(p): max(exact(mu), 0) for p, mu in leaf["below"].get(str(g), {}).items()}
            factor = form.pop(problem.size + g, 0) + sum(used.values())
            form = combined((1, form), *((-mu, pieces[p]) for p, mu in used.items()))
            if factor < 0:  # any piece is at most the maximum
                add(form, pieces[next(iter(used), 0)], factor)
            elif factor > 0 and len(self.pieces[g]) == 1:
                add(form, pieces[self.pieces[g][0]], factor)
            elif factor > 0:
                above = combined(*((exact(t), pieces[int(p)]) for p, t in leaf["above"].get(str(g), {}).items()))
                rest = max(self.largest(combined((1, pieces[p]), (-1, above))) for p in self.pieces[g])
                add(form, add(above, ONE, rest), factor)
        for number, y in leaf["rows"].items():
            add(form, problem.rows[int(number)], max(exact(y), 0))
        if not problem.ball:
            return self._largest_of_inputs(form)
        direction = {int(j): exact(v) for j, v in leaf["ball"].items()}
        require(all(j in range(problem.size) for j in direction), "there is no such input")
        form = combined((1, form), (-1, direction), (sum(v * problem.center[j] for j, v in direction.items()), ONE))
        sizes = [abs(v * problem.scale[j]) for j, v in direction.items()] or [Fraction(0)]
        root = Fraction(isqrt(ceil(sum(size * size for size in sizes) * 4**100)) + 1, 2**100)
        dual_norm = {"l1": max(sizes), "linf": sum(sizes), "l2": root}[problem.ball["norm"]]
        return self._largest_of_inputs(form) + problem.radius * dual_norm


def proven_bound(problem, claim):
    """The bound of a claim that its tree proves; None if no x is allowed."""
    objective, bounds, waiting = problem.objective(claim["conditions"]), [], [(0, problem.start(claim["ranges"]))]
    while waiting:
        number, part = waiting.pop()
        node = claim["tree"][number]
        if part.empty:
            continue
        if node["split"] is None:
            if part.bound(combined(), {**node, "below": {}, "bridges": {}}) >= 0:  # 0 is less than 0 for no x
                bounds.append(part.bound(objective, node))
        else:
            require(all(child > number for child in node["children"]), "the tree has a cycle")
            waiting.extend(zip(node["children"], part.split(node), strict=True))
    return max(bounds, default=None)


def check(certificate):
    """For each claim whether it holds, and what there is to say about it."""
    require(certificate["format"] == FORMAT, f"the format is not {FORMAT!r}")
    problem, results = Problem(certificate), []
    for claim in certificate["claims"]:
        try:
            bound, found = exact(claim["bound"]), proven_bound(problem, claim)
            holds = found is None or found <= bound
            words = "BUT NO INPUT IS ALLOWED" if found is None else f"at most {float(found):.9g} is proven"
        except DAMAGED as error:
            holds, words = False, str(error) if isinstance(error, Refused) else f"damaged: {error!r}"
        results.append((holds, f"{'HOLDS' if holds else 'REFUSED'}, {words}"))
    return results


def main(arguments):
    try:
        certificate, *files = [json.loads(Path(path).read_text("utf-8")) for path in arguments]
        same = [[all(m[key] == file.get(key) for key in NUMBERS) for file in files] for m in certificate["models"]]
        require(not files or (same and all(map(any, [*same, *zip(*same)]))), "the given files are not the models")
        for number, row in enumerate(same):
            print(f"Model {number}: {f'that of {arguments[1 + row.index(True)]}' if files else 'COMPARED TO NO FILE'}")
        results = check(certificate)
    except (OSError, *DAMAGED) as error:
        print(f"REFUSED: {error!r} (python verify.py certificate.json [model.json ...])", file=sys.stderr)
        return 1 if isinstance(error, OSError) else 3
    for entry in certificate["inputs"]:
        print(f"Input {entry['name']}: {entry['low']} to {entry['high']}{' on a grid' if entry['grid'] else ''}")
    for claim, (_, words) in zip(certificate["claims"], results):
        print(f"{words}: {claim['claim']}")
    return 0 if results and all(holds for holds, _ in results) else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
