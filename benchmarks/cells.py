"""Cells: a problem, one of its folds and a model, with everything that was measured. They are kept in a CSV file.

A cell is appended as soon as it is measured, and one that is in the file is not measured again. So an interrupted run
continues, and competitors that did not change are fitted once.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.classifiers import CLASSIFIERS, Make
from benchmarks.collection.problems import FOLDS, Problem, fold
from benchmarks.measures import measures
from ldep.solvers import single_thread

KEYS = ["problem", "classes", "fold", "model"]
MEASURES = ["accuracy", "log_loss", "auc", "average_precision", "calibration_error"]
COLUMNS = [*KEYS, *MEASURES, "spread", "cpu_seconds"]


def cell(name: str, problem: Problem, number: int, model: str, make: Make) -> dict:
    """Fit a model to the training part of one fold, and score it on the test part."""
    part = fold(problem, number)
    estimator = make(0)
    with warnings.catch_warnings(), single_thread():
        warnings.simplefilter("ignore")
        started = time.process_time()
        estimator.fit(part.X, part.y)
        seconds = time.process_time() - started
        found = measures(estimator, part.X_test, part.y_test)
    key = {"problem": name, "classes": int(problem.y.max()) + 1, "fold": number, "model": model}
    return {**key, **found, "cpu_seconds": seconds}


def read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COLUMNS)


def measure(
    problems: Iterable[tuple[str, Problem]],
    models: Iterable[str],
    file: Path,
    n_jobs: int = 1,
    makers: Mapping[str, Make] = CLASSIFIERS,
) -> pd.DataFrame:
    """All cells of these problems and models, of which those in the file are not measured again.

    The order is model by model and fold by fold, so that an interrupted run has every problem for most of its models.
    """
    problems, models = list(problems), list(models)
    finished = set(read(file)[KEYS].itertuples(index=False, name=None))
    tasks = [
        delayed(cell)(name, problem, number, model, makers[model])
        for model in models
        for number in range(FOLDS)
        for name, problem in problems
        if (name, int(problem.y.max()) + 1, number, model) not in finished
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(tasks)
    for row in tqdm(rows, total=len(tasks), desc=file.stem, unit="cell", mininterval=10):
        pd.DataFrame([row], columns=COLUMNS).to_csv(
            file, mode="a", header=not file.exists(), index=False, float_format="%.6g"
        )
    cells = read(file)
    wanted = pd.MultiIndex.from_tuples([(name, int(problem.y.max()) + 1) for name, problem in problems])
    chosen = pd.MultiIndex.from_frame(cells[["problem", "classes"]]).isin(wanted) & cells["model"].isin(models)
    return cells[chosen].reset_index(drop=True)
