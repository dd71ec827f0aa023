"""Exact answers: are they right, are they proven, and how long do they take?

CPU time is measured, so that other work on the machine does not count. The models are trained on all rows of the data
sets, with standardised features.
"""

from __future__ import annotations

import itertools
import time
from functools import cache

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from benchmarks import data, dice
from benchmarks.report import Report
from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.explain import Regions
from ldep.model import FittedModel, Maxima
from ldep.solvers import single_thread

SINGLE = ("wdbc", "credit-g", "titanic")
AVERAGES = ("wdbc", "titanic")
NORMS = ("l2", "l1", "linf")
ROWS_OF_PROGRAMS = 100  # per norm and data set that are also solved with L1 and Linf
ROWS_OF_ORACLE = 200
ROWS_ATTACKED = 50
STEPS = (10_000, 100_000)
RANDOM_ATTACKS, OPTIMISED_ATTACKS, ATTACK_STEPS = 10_000, 100, 50
# Wall-clock limit of a search. It is generous, because the machine may be busy; the CPU time counts.
TIME_LIMIT = 8.0
ALLOWED_SECONDS = 1.0


@cache
def problem(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of a data set, standardised, and how often each occurs."""
    X, _, _ = data.load(name)
    return np.unique(StandardScaler().fit_transform(X), axis=0, return_counts=True)


@cache
def model(name: str, average: bool):
    X, y, _ = data.load(name)
    estimator = LDEPClassifierCV(random_state=0) if average else LDEPClassifier(random_state=0)
    return estimator.fit(StandardScaler().fit_transform(X), y)


def some(n_rows: int, wanted: int) -> np.ndarray:
    """Numbers of rows, spread evenly."""
    return np.unique(np.linspace(0, n_rows - 1, min(wanted, n_rows)).astype(int))


def single_answers(name: str, norm: str) -> dict:
    """The nearest rows under a single model, asked one by one."""
    estimator, (X, _) = model(name, average=False), problem(name)
    X = X if norm == "l2" else X[some(len(X), ROWS_OF_PROGRAMS)]
    seconds, flipped, gap = [], 0, 0.0
    for x in X:
        start = time.process_time()
        answer = estimator.counterfactual(x[None], norm=norm)
        seconds.append(time.process_time() - start)
        flipped += int(estimator.predict(answer.rows)[0] != estimator.predict(x[None])[0])
        gap = max(gap, float(answer.gap[0] / answer.distance[0]))
    return {
        "data set": name,
        "norm": norm,
        "rows": len(X),
        "flipped %": 100 * flipped / len(X),
        "median ms": 1000 * np.median(seconds),
        "mean ms": 1000 * np.mean(seconds),
        "largest relative gap": gap,
    }


def oracle_difference(name: str) -> float:
    """The largest difference of the L2 distance from that of CVXPY with Clarabel, region by region."""
    import cvxpy as cp

    estimator, (X, _) = model(name, average=False), problem(name)
    X = X[some(len(X), ROWS_OF_ORACLE)]
    answer = estimator.counterfactual(X)
    maxima = estimator.model_.maxima()
    programs = {}
    for target in (0, 1):
        regions = Regions.of(maxima, target)
        z, x = cp.Variable(X.shape[1]), cp.Parameter(X.shape[1])
        objective = cp.Minimize(cp.sum_squares(z - x))
        pairs = zip(regions.differences, regions.offsets)
        programs[target] = (
            x,
            [cp.Problem(objective, [A @ z + b >= 0]) for A, b in pairs],
        )
    largest = 0.0
    for row, before, distance in tqdm(list(zip(X, answer.before, answer.distance)), desc=f"{name}: quadratic programs"):
        x, problems = programs[1 - int(before)]
        x.value = row
        best = np.inf
        for one in problems:
            one.solve(solver=cp.CLARABEL)
            if one.status in ("optimal", "optimal_inaccurate"):
                best = min(best, np.sqrt(max(one.value, 0.0)))
        largest = max(largest, abs(distance - best))
    return largest


def average_answers(name: str) -> pd.DataFrame:
    """The nearest rows under the default ensemble, with what was proven."""
    estimator, (X, counts) = model(name, average=True), problem(name)
    rows = []
    for x, count in tqdm(list(zip(X, counts)), desc=f"{name}: averages"):
        start = time.process_time()
        answer = estimator.counterfactual(x[None], time_limit=TIME_LIMIT)
        seconds = time.process_time() - start
        rows.append(
            {
                "data set": name,
                "rows": count,
                "distance": answer.distance[0],
                "bound": answer.bound[0],
                "proven": bool(answer.optimal[0]),
                "seconds": seconds,
                "flipped": bool(estimator.predict(answer.rows)[0] != estimator.predict(x[None])[0]),
            }
        )
    return pd.DataFrame(rows)


def gradient(view: FittedModel, X: np.ndarray) -> np.ndarray:
    """The slope of tau at each row, without clipping."""
    return sum(weight * member_gradient(member, X) for member, weight in zip(view.members, view.weights))


def member_gradient(member: Maxima, X: np.ndarray) -> np.ndarray:
    lower, upper = (values.argmax(axis=1) for values in member.values(X))
    return member.slopes[1][upper] - member.slopes[0][lower]


def attacks(name: str, average: bool) -> dict:
    """Random and optimised attacks in the L2 ball of the certificate, and the counterfactual just outside it."""
    estimator, (X, _) = model(name, average), problem(name)
    X = X[some(len(X), ROWS_ATTACKED)]
    radius = estimator.certificate(X, time_limit=TIME_LIMIT)
    answer = estimator.counterfactual(X, time_limit=TIME_LIMIT)
    view, rng = estimator.model_, np.random.default_rng(0)
    successes = 0
    for x, r in tqdm(list(zip(X, radius)), desc=f"{name}: attacks"):
        label = estimator.predict(x[None])[0]
        sign = 1.0 if label == 0 else -1.0
        steps = rng.normal(size=(RANDOM_ATTACKS, len(x)))
        steps /= np.linalg.norm(steps, axis=1)[:, None]
        steps[::2] *= rng.uniform(size=(len(steps[::2]), 1)) ** (1 / len(x))
        successes += int((estimator.predict(x + r * steps) != label).sum())
        points = r * steps[:OPTIMISED_ATTACKS]
        for number in range(ATTACK_STEPS):
            slope = sign * gradient(view, x + points)
            points += r * slope / np.linalg.norm(slope, axis=1)[:, None] / (1 + number)
            length = np.linalg.norm(points, axis=1)[:, None]
            points *= np.minimum(1.0, r / length)
            successes += int((estimator.predict(x + points) != label).sum())
    outside = int((estimator.predict(answer.rows) != estimator.predict(X)).sum())
    return {
        "data set": name,
        "model": "average" if average else "single",
        "rows": len(X),
        "attacks that succeed inside": successes,
        "counterfactuals that flip": outside,
        "largest (distance - radius) / distance": float(((answer.distance - radius) / answer.distance).max()),
    }


def attributions(name: str, average: bool) -> dict:
    """Completeness, the difference from sums of many steps, and the time per row of integrated gradients."""
    estimator, (X, counts) = model(name, average), problem(name)
    X = np.repeat(X, counts, axis=0)
    baseline = X.mean(axis=0)
    start = time.process_time()
    answer = estimator.attribute(X, baseline)
    seconds = (time.process_time() - start) / len(X)
    alone = []
    for x in X[some(len(X), 50)]:
        start = time.process_time()
        estimator.attribute(x[None], baseline)
        alone.append(time.process_time() - start)
    residual = np.abs(answer.contributions.sum(axis=1) - (answer.decision - answer.bias)).max()
    view = estimator.model_
    difference = dict.fromkeys(STEPS, 0.0)
    for number, n_steps in itertools.product(some(len(X), 20), STEPS):
        way = X[number] - baseline
        t = (np.arange(n_steps) + 0.5) / n_steps
        mean = np.mean(
            [clipped_gradient(view, baseline + part[:, None] * way).mean(axis=0) for part in np.split(t, 10)], 0
        )
        away = np.abs(mean * way - answer.contributions[number]).max()
        difference[n_steps] = max(difference[n_steps], away)
    return {
        "data set": name,
        "model": "average" if average else "single",
        "rows": len(X),
        "largest residual": residual,
        **{f"largest difference from {n_steps} steps": away for n_steps, away in difference.items()},
        "ms per row": 1000 * seconds,
        "ms for a row alone": 1000 * np.median(alone),
    }


def clipped_gradient(view: FittedModel, X: np.ndarray) -> np.ndarray:
    """The slope of tau at each row."""
    total = np.zeros(X.shape)
    for member, weight in zip(view.members, view.weights):
        inside = np.abs(member.decision(X)) < (1.0 if view.votes else np.inf)
        total += weight * inside[:, None] * member_gradient(member, X)
    return total


def simplifications(name: str) -> dict:
    """The number of pieces of the default model before and after simplify, and changed predictions."""
    estimator, (X, _) = model(name, average=False), problem(name)
    everywhere, in_box = estimator.simplify(), estimator.simplify(X)
    return {
        "data set": name,
        "pieces": estimator.r1 + estimator.r2,
        "active on some row": estimator.explain_global(X).n_pieces_in_use,
        "needed somewhere": everywhere.r1 + everywhere.r2,
        "needed in the box of the rows": in_box.r1 + in_box.r2,
        "changed predictions": int((estimator.predict(X) != in_box.predict(X)).sum()),
    }


def run() -> Report:
    report = Report("exact", "Exact answers about decisions")
    with single_thread():
        single = pd.DataFrame([single_answers(name, norm) for name in SINGLE for norm in NORMS])
        report.table("single", single)
        euclidean = single[single["norm"] == "l2"]
        flips = euclidean["flipped %"].min()
        report.claim("counterfactuals of single models that flip, L2, all rows, %", flips, "100", flips == 100)
        slowest = euclidean["median ms"].max()
        report.claim("CPU time per row, L2, median, largest of the data sets, ms", slowest, "<= 2", slowest <= 2)
        difference = max(oracle_difference(name) for name in ("wdbc", "credit-g"))
        report.claim(
            "distance compared with CVXPY and Clarabel, 200 rows each", difference, "<= 1e-6", difference <= 1e-6
        )

        answers = pd.concat([average_answers(name) for name in AVERAGES])
        report.table("averages", answers)
        for name, part in answers.groupby("data set", sort=False):
            in_time = part["proven"] & (part["seconds"] <= ALLOWED_SECONDS)
            share = 100 * np.average(in_time, weights=part["rows"])
            text = f"default ensemble, {name}: rows proven within {ALLOWED_SECONDS:g} s of CPU time, %"
            report.claim(text, share, ">= 95", share >= 95)
            distinct = f"{int(in_time.sum())} of its {len(part)} distinct rows"
            largest = ((part["distance"] - part["bound"]) / part["distance"]).max()
            report.note(
                f"{name}: {distinct} are proven within {ALLOWED_SECONDS:g} s, {int(part['proven'].sum())} within "
                f"{TIME_LIMIT:g} s of wall-clock time; median {part['seconds'].median():.2f} s; largest relative gap "
                f"{largest:.1e}; {int(part['flipped'].sum())} flip."
            )
        attacked = pd.DataFrame(
            [
                attacks(name, average)
                for name in ("wdbc", "credit-g")
                for average in (False, True)
                if not (average and name == "credit-g")
            ]
        )
        report.table("certificate", attacked)
        successes = int(attacked["attacks that succeed inside"].sum())
        report.claim("attacks that succeed inside the radius", successes, "0", successes == 0)
        beyond = int((attacked["rows"] - attacked["counterfactuals that flip"]).sum())
        report.claim("counterfactuals just outside that do not flip", beyond, "0", beyond == 0)

        shares = pd.DataFrame([attributions(name, average) for name in SINGLE for average in (False, True)])
        report.table("attribution", shares)
        residual = shares["largest residual"].max()
        report.claim("integrated gradients: largest residual of the sum", residual, "<= 1e-12", residual <= 1e-12)
        for n_steps in STEPS:
            away = shares[f"largest difference from {n_steps} steps"].max()
            report.claim(f"largest difference from a sum of {n_steps} steps", away, "<= 1e-4", away <= 1e-4)
        report.note(
            "The difference from a sum falls with the length of its steps: it is the error of the sum, which misplaces "
            "each kink by up to half a step."
        )
        slow = shares["ms per row"].max()
        report.claim("CPU time per row of a table, ms", slow, "<= 0.5", slow <= 0.5)
        for kind, part in shares.groupby("model", sort=False):
            slow = part["ms for a row alone"].max()
            report.claim(f"CPU time of a row alone, {kind}, ms", slow, "<= 0.5", slow <= 0.5)
        names = ("wdbc", "credit-g") if dice.installed() else ()
        compared = [dice.compare(name, model(name, average=False), problem(name)[0]) for name in names]
        if compared:
            table = pd.DataFrame(compared)
            report.table("dice", table)
            nearer = int((table["rows"] - table["rows where ours is nearer"]).sum())
            report.claim("rows on which DiCE (genetic) is as near or nearer", nearer, "0", nearer == 0)
            ratio = (table["ms per row, ours"] / table["ms per row, DiCE"]).max()
            report.claim("CPU time compared with DiCE", ratio, "<= 0.1", ratio <= 0.1)
        else:
            report.note("DiCE was not compared: dice-ml is not installed.")
        report.table("pieces", pd.DataFrame([simplifications(name) for name in SINGLE]))
    return report
