"""Do our solvers find what the paper's does? Objectives and times of all solvers on seeded problems."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from tqdm import tqdm

from benchmarks import data
from benchmarks.report import Report
from ldep.conditioning import condition
from ldep.initialization import linear_starts, random_weights
from ldep.samples import Samples
from ldep.solvers import SOLVERS
from ldep.threads import single_thread

STARTS = 32
# Problems that no setting of a solver was chosen on: those below this seed were looked at while the solvers were made.
UNSEEN = 2000


def problem_of(seed: int, alpha: float):
    m, n, r = 200 + 30 * (seed % 11), 3 + seed % 6, 5
    X, y = data.synthetic(seed, m, n)
    return condition(Samples(X, 2.0 * y - 1.0, np.ones(m)), (r, r), alpha)[0]


def timed(solve) -> tuple[float, float]:
    began = time.process_time()
    objective = solve()
    return objective, time.process_time() - began


def against_dccp(seed: int) -> dict:
    problem = problem_of(UNSEEN + seed, 0.0)
    theta = random_weights(problem, np.random.default_rng(seed))
    row = {"seed": seed, "m": len(problem.X), "n": problem.X.shape[1]}
    for label, solver, options in (
        ("dccp", "dccp", {}),
        ("ccp", "ccp", {}),
        ("ccp_bare", "ccp", {"n_kicks": 0}),
        ("anneal", "anneal", {}),
    ):
        row[label], row[f"{label}_seconds"] = timed(lambda: SOLVERS[solver](problem, theta, **options).objective)  # noqa: B023
    return row


def against_ccp(seed: int) -> dict:
    alpha = (0.0, 0.1, 1.0)[seed % 3]
    problem = problem_of(UNSEEN + 100 + seed, alpha)
    rng = np.random.default_rng(seed)
    thetas = [start(problem, rng) for start in linear_starts("auto", STARTS, problem)]
    row = {"seed": seed, "alpha": alpha, "m": len(problem.X), "n": problem.X.shape[1]}
    row["ccp"], row["ccp_seconds"] = timed(lambda: SOLVERS["ccp"](problem, thetas[1]).objective)
    row["ccp_bare"], row["ccp_bare_seconds"] = timed(lambda: SOLVERS["ccp"](problem, thetas[1], n_kicks=0).objective)
    for label, number, max_iter in (("anneal_2", 2, None), (f"anneal_{STARTS}", STARTS, 960)):
        row[label], row[f"{label}_seconds"] = timed(
            lambda: min(SOLVERS["anneal"](problem, theta, max_iter=max_iter).objective for theta in thetas[:number])  # noqa: B023
        )
    return row


def run() -> Report:
    report = Report("solvers", "Solvers against each other")
    with single_thread():
        first = pd.DataFrame([against_dccp(seed) for seed in tqdm(range(10), desc="ccp against dccp")])
        second = pd.DataFrame([against_ccp(seed) for seed in tqdm(range(20), desc="anneal against ccp")])
    report.table("dccp", first)
    report.table("anneal", second)
    slack = 1e-6
    wins = int((first["ccp"] <= first["dccp"] + slack).sum())
    report.claim("ccp no higher than dccp from the same start, alpha = 0, of 10", wins, ">= 9", wins >= 9)
    bare = int((first["ccp_bare"] <= first["dccp"] + slack).sum())
    report.claim("the same without kicks (n_kicks=0), of 10", bare, "(for comparison)", bare >= 9)
    many = f"anneal_{STARTS}"
    for label, rival, text in (
        (many, "ccp", f"anneal, {STARTS} starts, max_iter=960, no higher than ccp with its kicks, of 20"),
        ("anneal_2", "ccp", "anneal, its default of 2 starts, no higher than ccp with its kicks, of 20"),
        ("anneal_2", "ccp_bare", "anneal, its default of 2 starts, no higher than the bare procedure, of 20"),
    ):
        wins = int((second[label] <= second[rival] * (1 + slack) + slack).sum())
        report.claim(text, wins, ">= 16", wins >= 16)
    total = second.filter(like="seconds").sum()
    report.note(
        f"CPU seconds of the 20 problems: ccp {total['ccp_seconds']:.1f}, bare ccp {total['ccp_bare_seconds']:.1f}, "
        f"anneal with {STARTS} starts {total[many + '_seconds']:.1f}, with two {total['anneal_2_seconds']:.1f}. "
        f"Of the first 10: dccp {first['dccp_seconds'].sum():.1f}, ccp {first['ccp_seconds'].sum():.1f}."
    )
    return report
