"""Is Optuna's search better than random search, and than a fixed list of settings, at the same cost?

The problems are the smaller ones of the development collection with two classes and without missing values. None of
them is one of the paper's 30 data sets. Each strategy tunes the ℓ-DEP on the training part of one fold as the pipeline
does, with the same inner folds. The chosen setting is fitted on the whole training part, and the models of the complete
trials vote as an ensemble.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks import timing
from benchmarks.collection.problems import FOLDS, Problem, fold, problems
from benchmarks.data import stratified_folds
from benchmarks.report import Report
from ldep import LDEPClassifier
from ldep_pipeline.fitting import ensemble
from ldep_pipeline.fitting.specs import Classifier, Impute, Tuning
from ldep_pipeline.fitting.study import StudyTask, run_study
from ldep_pipeline.fitting.training_data import Partition, TrainingData

FOLD = 0
LARGEST = 16_000  # cells of a problem
PARAMS = {"loss": "hinge", "n_init": 2, "tol": 1e-3, "solver": "anneal"}
ALPHA = {"low": 1e-8, "high": 100.0, "log": True}
PENALTY = {"choices": ["norm", "variance"]}
# What params.yaml had before: two numbers of pieces out of five, and 18 settings to try first.
OLD_PIECES = {"choices": [1, 2, 5, 10, 20]}
OLD_SEARCH = {"r1": OLD_PIECES, "r2": OLD_PIECES, "alpha": ALPHA, "penalty": PENALTY}
OLD_FIRST = [
    (10, 1.0, "norm"),
    (1, 1e-8, "norm"),
    (1, 0.1, "norm"),
    (1, 10.0, "norm"),
    (10, 0.01, "norm"),
    (10, 0.3, "norm"),
    (10, 3.0, "norm"),
    (10, 10.0, "norm"),
    (10, 30.0, "norm"),
    (10, 0.01, "variance"),
    (10, 1.0, "variance"),
    (10, 10.0, "variance"),
    (20, 1.0, "norm"),
    (20, 10.0, "norm"),
    (20, 30.0, "norm"),
    (20, 1.0, "variance"),
    (20, 10.0, "variance"),
    (20, 30.0, "variance"),
]
PIECES = {"low": 1, "high": 40, "log": True}
SEARCH = {"r1": PIECES, "r2": PIECES, "alpha": ALPHA, "penalty": PENALTY}
FIRST = [(20, 1.0, "norm"), (1, 1e-6, "norm"), (10, 0.01, "norm"), (20, 30.0, "variance")]
OLD_INNER, QUICK_INNER = {"n_init": 1}, {"n_init": 1, "tol": 0.02}
BEHIND = 0.01


def _settings(triples: list[tuple[int, float, str]]) -> list[dict[str, Any]]:
    return [{"r1": r, "r2": r, "alpha": alpha, "penalty": penalty} for r, alpha, penalty in triples]


def _strategy(
    trials: int, first: list[tuple[int, float, str]], search: dict, inner: dict, sampler: str = "tpe"
) -> tuple[Classifier, Tuning]:
    entry = Classifier.model_validate(
        {
            "class": "ldep.LDEPClassifier",
            "params": PARAMS,
            "search": search,
            "first": _settings(first),
            "while_tuning": inner,
            "trials": trials,
        }
    )
    return entry, Tuning(trials=trials, behind=BEHIND, sampler=sampler)


LIST = "18 settings and 6 trials"
RANDOM, TPE = "random, 30 trials, quick inner fits", "TPE, 30 trials, quick inner fits"
TPE_60 = "TPE, 60 trials, quick inner fits"
STRATEGIES = {
    LIST: _strategy(24, OLD_FIRST, OLD_SEARCH, OLD_INNER),
    "18 settings and 6 trials, quick inner fits": _strategy(24, OLD_FIRST, OLD_SEARCH, QUICK_INNER),
    RANDOM: _strategy(30, FIRST, SEARCH, QUICK_INNER, "random"),
    TPE: _strategy(30, FIRST, SEARCH, QUICK_INNER),
    "TPE, 30 trials, nothing first": _strategy(30, [], SEARCH, QUICK_INNER),
    TPE_60: _strategy(60, FIRST, SEARCH, QUICK_INNER),
}


def measure(name: str, problem: Problem) -> list[dict]:
    """All strategies on one problem."""
    X, y = problem
    folds, part = stratified_folds(X, y, FOLDS), fold(problem, FOLD)
    data = TrainingData(X, y.astype(str), Partition(folds[:, None]), [f"x{j}" for j in range(X.shape[1])], "class")
    rows = []
    for strategy, (entry, tuning) in STRATEGIES.items():
        with tempfile.TemporaryDirectory() as scratch:
            task = StudyTask(
                model="ldep",
                fold=FOLD,
                entry=entry,
                impute=Impute(),
                tuning=tuning,
                metric="accuracy",
                costs=None,
                seed=0,
                key="",
                journal=Path(scratch, "study.journal"),
                keep_votes=True,
            )
            outcome = run_study(task, data)
        voting = ensemble.fit(
            outcome["ensemble"], entry, Impute(), data, fold=FOLD, wanted_folds=tuning.folds, seed=task.seed
        )
        test = folds == FOLD
        model, seconds = timing.fit(LDEPClassifier(**PARAMS, **outcome["chosen"], random_state=0), part.X, part.y)
        rows.append(
            {
                "problem": name,
                "strategy": strategy,
                "inner": 100 * outcome["value"],
                "accuracy": 100 * model.score(part.X_test, part.y_test),
                "ensembled": 100 * float(np.mean(voting.predict(data.X[test]) == data.y[test])),
                "seconds": outcome["cpu_seconds"],
                "fit_seconds": seconds,
                "pruned": outcome["pruned"],
                **outcome["chosen"],
            }
        )
    return rows


def run(n_jobs: int = 2) -> Report:
    complete = {name: problem for name, problem in problems(2).items() if np.isfinite(problem.X).all()}
    small = {name: problem for name, problem in complete.items() if problem.X.size <= LARGEST}
    tasks = [delayed(measure)(name, problem) for name, problem in small.items()]
    results = Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)(tasks)
    parts = tqdm(results, total=len(tasks), desc="search", unit="problem", mininterval=5)
    return report_of(pd.DataFrame([row for part in parts for row in part]))


def report_of(studies: pd.DataFrame) -> Report:
    report = Report("search", "Optuna compared with random search and a fixed list")
    table = summary(studies).set_index("strategy")
    before, tpe, random = table.loc[LIST], table.loc[TPE], table.loc[RANDOM]
    for form, words in (("accuracy", "one model"), ("ensembled", "ensembled")):
        gain, lead = tpe[form] - before[form], tpe[form] - random[form]
        report.claim(f"TPE minus the list of 18, accuracy on test folds, {words}", gain, "> 0", bool(gain > 0))
        report.claim(f"TPE minus random search, accuracy on test folds, {words}", lead, "> 0", bool(lead > 0))
    cost, cost_60 = tpe["seconds"] / before["seconds"], table.loc[TPE_60, "seconds"] / before["seconds"]
    report.claim("cost of 30 trials, relative to the list", cost, "at most 1", bool(cost <= 1))
    report.claim("cost of 60 trials, relative to the list", cost_60, "at most 1", bool(cost_60 <= 1))
    report.table("strategies", summary(studies))
    report.table("studies", studies)
    count = studies["problem"].nunique()
    report.note(
        f"{count} problems, none of them one of the paper's 30 data sets. All strategies have the same inner folds. "
        "`inner` is the mean inner score of the chosen setting, `accuracy` its score on one test fold, and `ensembled` "
        "that of the models of all complete trials, voting together. Errors are standard errors of the difference from "
        "the first row. Seconds are CPU seconds of all studies."
    )
    report.note(
        "Quick inner fits have the tolerance 0.02 instead of 0.001. `pruned` is the mean number of abandoned trials, "
        "`asymmetric` counts problems with r1 other than r2."
    )
    return report


def summary(studies: pd.DataFrame) -> pd.DataFrame:
    """One row per strategy."""
    by_form = {
        form: studies.pivot_table(index="problem", columns="strategy", values=form, sort=False)
        for form in ("accuracy", "ensembled")
    }
    rows = []
    for strategy, group in studies.groupby("strategy", sort=False):
        gain, ensemble_gain = (scores[strategy] - scores[LIST] for scores in by_form.values())
        rows.append(
            {
                "strategy": strategy,
                "inner": group["inner"].mean(),
                "accuracy": group["accuracy"].mean(),
                "error": gain.std() / np.sqrt(len(gain)),
                "wins": int((gain > 0).sum()),
                "losses": int((gain < 0).sum()),
                "ensembled": group["ensembled"].mean(),
                "ensembled_error": ensemble_gain.std() / np.sqrt(len(ensemble_gain)),
                "seconds": group["seconds"].sum(),
                "pruned": group["pruned"].mean(),
                "asymmetric": int((group["r1"] != group["r2"]).sum()),
            }
        )
    return pd.DataFrame(rows)
