"""Recourse: is every answer feasible, flipping and the nearest, how long does it take, and what do others do?

The oracle is a mixed-integer program of the whole problem: HiGHS solves it for L1 and Linf, and SCIP (pyscipopt) for
L2. treecf explains LightGBM's trees and DiCE a black box, under the same limits. CPU time is measured, as the machine
may be busy; time limits are of wall-clock time.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from benchmarks import data
from benchmarks.exact import some
from benchmarks.report import Report
from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.explain import make_domain
from ldep.solvers import single_thread
from tests.support.questions import random_question
from tests.support.whole_program import Program, distance_by_highs, program_of

QUESTIONS = 500
SETS = ("wdbc", "credit-g", "titanic")
ROWS = 100
ROWS_OF_VOTES = 20
LIMIT = 20.0  # seconds of the search for one question about a random model
SECOND = 1.0
PATIENCE = 20.0  # wall-clock limit of a search; on a busy machine a second of CPU time takes many of them
NORMS = ("l2", "l1", "linf")


def distance_by_scip(program: Program, seconds: float = 60.0) -> float:
    """The least distance in L2; NaN if SCIP does not prove it in time."""
    from pyscipopt import Model, quicksum

    scip = Model()
    scip.hideOutput()
    scip.setParams({"limits/time": seconds, "limits/gap": 1e-9, "numerics/feastol": 1e-9})
    kinds = [
        "B" if whole and (low, high) == (0, 1) else "I" if whole else "C"
        for whole, low, high in zip(program.whole, program.low, program.high)
    ]
    variables = [scip.addVar(lb=low, ub=high, vtype=kind) for low, high, kind in zip(program.low, program.high, kinds)]
    for terms, low, high in program.rows:
        total = quicksum(c * variables[v] for v, c in terms.items())
        if np.isfinite(low):
            scip.addCons(total >= low)
        if np.isfinite(high):
            scip.addCons(total <= high)
    square = scip.addVar(lb=0.0)
    scip.addCons(quicksum(variables[v] * variables[v] for v in program.changes) <= square)
    scip.setObjective(square)
    scip.optimize()
    if scip.getStatus() == "infeasible":
        return np.inf
    return float(np.sqrt(max(scip.getObjVal(), 0.0))) if scip.getStatus() in ("optimal", "gaplimit") else np.nan


def is_feasible(asked: Any, domain: Any, answer: Any) -> bool:
    """Whether an answer flips and is what was allowed."""
    z, x = np.asarray(answer.rows)[0], asked.x
    low, high = domain.sides(x)
    stepped = domain.steps > 0
    steps = (z - x)[stepped] / domain.steps[stepped]
    categories = [np.abs(choice.table - z[choice.columns]).max(axis=1).min() for choice in domain.choices]
    changed = sum((z != x)[columns].any() for columns in domain.columns)
    return bool(
        asked.model.predict(z[None])[0] == answer.target[0]
        and ((z >= low - 1e-9) & (z <= high + 1e-9))[~domain.frozen].all()
        and (z == x)[domain.frozen].all()
        and domain.holds(z[None])[0]
        and np.abs(steps - np.rint(steps)).max(initial=0.0) < 1e-9
        and max(categories, default=0.0) < 1e-9
        and (domain.max_changes is None or changed <= domain.max_changes)
    )


def oracle(seed: int) -> dict[str, Any] | None:
    """One question about a random model, answered by the search and by a program of the whole problem."""
    norm = NORMS[seed % 3]
    asked = random_question(seed, norm)
    try:
        domain = make_domain(asked.names, **asked.limits)
    except ValueError:  # the constraints contradict each other, and the error says so
        return None
    classes = asked.model.classes_
    others = np.flatnonzero(classes != asked.model.predict(asked.x[None])[0])
    target = int(others[seed % len(others)])
    program = program_of(asked.model.model_, domain, asked.x, target)
    expected = distance_by_scip(program) if norm == "l2" else distance_by_highs(program, norm)
    start = time.process_time()
    try:
        answer = asked.model.counterfactual(asked.x[None], [classes[target]], time_limit=LIMIT, **asked.limits)
        distance, proven = float(answer.distance[0]), bool(answer.optimal[0])
        feasible = np.isinf(distance) or is_feasible(asked, domain, answer)
    except ValueError:  # no row at all has the class, or none within the bounds
        distance, proven, feasible = np.inf, True, True
    seconds = time.process_time() - start
    same = np.isinf(distance) and np.isinf(expected)
    away = 0.0 if same else abs(distance - expected)
    return {
        "question": seed,
        "model": asked.kind,
        "classes": len(classes),
        "features": len(asked.x),
        "norm": norm,
        "distance": distance,
        "expected": expected,
        "difference": away / (1.0 + min(distance, expected)),
        "proven": proven,
        "feasible": feasible,
        "seconds": seconds,
    }


class Table:
    """A data set with what is asked about its rows: the range of the rows, a column that stays, and one that rises.

    The sum of two standardised columns must not grow beyond its largest value in the data.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.X, self.y, _ = data.load(name)
        self.names = [f"x{number}" for number in range(self.X.shape[1])]
        self.scale = self.X.std(axis=0)
        self.rows = self.X[np.unique(np.linspace(0, len(self.X) - 1, ROWS).astype(int))]
        a, b = self.names[-1], self.names[-2]
        weights = np.round(1.0 / self.scale[[-1, -2]], 4)
        self.coefficients = {a: weights[0], b: weights[1]}
        self.most = float((self.X[:, [-1, -2]] @ weights).max())
        ends = zip(self.X.min(axis=0).tolist(), self.X.max(axis=0).tolist())
        self.bounds = dict(zip(self.names, ends))
        self.limits = {
            "frozen": [self.names[0]],
            "directions": {self.names[1]: "up"},
            "constraints": [f"{weights[0]} * {a} + {weights[1]} * {b} <= {self.most}"],
            "scale": self.scale,
        }

    def fit(self, estimator: Any) -> Any:
        """The estimator on standardised features, as a model of raw ones."""
        mean, scale = self.X.mean(axis=0), self.scale
        model = estimator.fit((self.X - mean) / scale, self.y)
        fitted = model.model_
        model.model_ = fitted.after(np.diag(1.0 / scale), np.zeros(len(mean)), mean)
        model.feature_names_in_ = np.array(self.names, dtype=object)
        return model


def ours(table: Table, model: Any, kind: str, norm: str, rows: np.ndarray) -> dict[str, Any]:
    """Our answers, row by row."""
    frame = pd.DataFrame(rows, columns=table.names)

    def ask(number: int) -> tuple[bool, bool, bool]:
        row = frame.iloc[[number]]
        bounds = {
            name: (min(low, value), max(high, value))
            for (name, (low, high)), value in zip(table.bounds.items(), row.to_numpy()[0])
        }
        answer = model.counterfactual(row, norm=norm, bounds=bounds, time_limit=PATIENCE, **table.limits)
        found = bool(np.isfinite(answer.distance[0]))
        flips = found and model.predict(answer.rows)[0] != answer.before[0]
        return found, bool(answer.optimal[0]), flips

    return measured(table, f"ℓ-DEP, {kind}, {norm}", len(rows), ask)


def measured(table: Table, who: str, count: int, ask: Callable[[int], tuple[bool, bool, bool]]) -> dict[str, Any]:
    """What a method finds and proves, and the CPU time per row."""
    seconds, found, proven, flipped = [], 0, 0, 0
    for number in tqdm(range(count), desc=f"{table.name}: {who}"):
        start = time.process_time()
        has, sure, flips = ask(number)
        seconds.append(time.process_time() - start)
        found, flipped = found + has, flipped + flips
        proven += sure and seconds[-1] <= SECOND
    return {
        "data set": table.name,
        "method": who,
        "rows": count,
        "found %": 100 * found / count,
        "flip %": 100 * flipped / count,
        "proven within 1 s %": 100 * proven / count,
        "median ms": 1000 * float(np.median(seconds)),
        "mean ms": 1000 * float(np.mean(seconds)),
    }


def by_treecf(table: Table, backend: str) -> dict[str, Any]:
    """treecf on LightGBM with 100 default trees, under the same limits."""
    import treecf
    from lightgbm import LGBMClassifier

    trees = LGBMClassifier(verbose=-1, random_state=0, n_jobs=1)
    trees.fit(pd.DataFrame(table.X, columns=table.names), table.y)
    limits = [treecf.Freeze(table.names[0]), treecf.Monotone(table.names[1], "increase")]
    if backend != "exact":  # its proofs know no constraint between columns: an easier question than ours
        limits += [treecf.Linear(table.coefficients, "<=", table.most)]
    limits += [treecf.Range(name, *ends) for name, ends in list(table.bounds.items())[1:]]
    explainer = treecf.Explainer(
        trees.booster_, background=table.X, constraints=limits, normalizers=dict(zip(table.names, table.scale.tolist()))
    )
    options = {"time_budget_s": SECOND} if backend == "exact" else {}

    def ask(number: int) -> tuple[bool, bool, bool]:
        x = table.rows[number]
        positive = trees.predict_proba(pd.DataFrame(x[None], columns=table.names))[0, 1] >= 0.5
        target = treecf.Target.probability(range=(0.0, 0.4999999) if positive else (0.5, 1.0))
        answer = explainer.explain(x, target=target, backend=backend, seed=0, **options)
        found = isinstance(answer, treecf.Counterfactual)
        return found, answer.proof in ("optimal", "certified"), found

    return measured(table, f"treecf, LightGBM, {backend}, L1", len(table.rows), ask)


def by_dice(table: Table, model: Any) -> dict[str, Any]:
    """DiCE's genetic method on our single model; it knows ranges and fixed columns, but no direction and no sum."""
    import dice_ml

    class Sklearn:
        classes_ = model.classes_

        def predict(self, Z: Any) -> np.ndarray:
            return model.predict(pd.DataFrame(np.asarray(Z, dtype=float), columns=table.names))

        def predict_proba(self, Z: Any) -> np.ndarray:
            tau = model.decision_function(pd.DataFrame(np.asarray(Z, dtype=float), columns=table.names))
            second = 1.0 / (1.0 + np.exp(-np.clip(tau, -500, 500)))
            return np.column_stack([1.0 - second, second])

    frame = pd.DataFrame(table.X, columns=table.names)
    known = frame.assign(outcome=model.predict(frame))
    info = dice_ml.Data(dataframe=known, continuous_features=table.names, outcome_name="outcome")
    explainer = dice_ml.Dice(info, dice_ml.Model(model=Sklearn(), backend="sklearn"), method="genetic")
    ranges = {name: list(ends) for name, ends in table.bounds.items()}

    def ask(number: int) -> tuple[bool, bool, bool]:
        row = pd.DataFrame(table.rows[[number]], columns=table.names)
        try:
            answer = explainer.generate_counterfactuals(
                row, total_CFs=1, desired_class="opposite", features_to_vary=table.names[1:], permitted_range=ranges
            )
        except Exception:  # DiCE raises errors of several types where it finds nothing
            return False, False, False
        Z = answer.cf_examples_list[0].final_cfs_df
        if Z is None or not len(Z):
            return False, False, False
        z = Z[table.names].to_numpy(dtype=float)[:1]
        allowed = z[0, 1] >= row.iloc[0, 1] - 1e-9
        flips = model.predict(pd.DataFrame(z, columns=table.names))[0] != model.predict(row)[0]
        return True, False, bool(flips and allowed)

    return measured(table, "DiCE, genetic", len(table.rows), ask)


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def side_by_side(name: str) -> list[dict[str, Any]]:
    """All methods on one data set."""
    table = Table(name)
    single, votes = table.fit(LDEPClassifier(random_state=0)), table.fit(LDEPClassifierCV(random_state=0))
    rows = [ours(table, single, "single", norm, table.rows) for norm in ("l2", "l1")]
    few = table.rows[some(len(table.rows), ROWS_OF_VOTES)]
    rows.append(ours(table, votes, "default vote", "l2", few))
    if installed("treecf") and installed("lightgbm"):
        rows += [by_treecf(table, backend) for backend in ("genetic", "exact")]
    if installed("dice_ml"):
        rows.append(by_dice(table, single))
    return rows


def run() -> Report:
    warnings.simplefilter("ignore")
    with single_thread():
        asked = [
            oracle(seed) for seed in tqdm(range(QUESTIONS), desc="questions") if seed % 3 or installed("pyscipopt")
        ]
        rows = [row for name in SETS for row in side_by_side(name)]
    return report_of(pd.DataFrame([one for one in asked if one is not None]), pd.DataFrame(rows))


def report_of(questions: pd.DataFrame, beside: pd.DataFrame) -> Report:
    """The report of what was measured."""
    report = Report("recourse", "Recourse under constraints")
    report.table("questions", questions)
    known = questions[questions["expected"].notna()]
    feasible = 100 * questions["feasible"].mean()
    report.claim("random questions: answers that are feasible and flip, %", feasible, "100", feasible == 100)
    proven = known[known["proven"]]
    away = float(proven["difference"].max())
    report.claim(
        "largest relative difference from the distance of the program, where proven", away, "<= 1e-6", away <= 1e-6
    )
    share = 100 * questions["proven"].mean()
    report.claim(f"questions proven within {LIMIT:g} s of a busy machine, %", share, "100", share == 100)
    report.note(
        f"{len(questions)} questions whose constraints do not contradict each other were asked; the "
        f"program was solved for {len(known)}. Single models, differences of maxima and votes, two to five classes."
    )
    report.table("beside", beside)
    of_single = beside[beside["method"] == "ℓ-DEP, single, l2"]
    slowest = of_single["median ms"].max()
    report.claim("single model with constraints, median ms, slowest data set", slowest, "<= 5", slowest <= 5)
    for _, row in beside[beside["method"].str.contains("vote")].iterrows():
        share = row["proven within 1 s %"]
        report.claim(f"default vote, {row['data set']}: proven within 1 s, %", share, ">= 95", share >= 95)
    return report
