"""Do prediction sets have the coverage that was asked for, how large are they, and do those of a radius hold?

The score was chosen on the tables of the development collection (`scores`). The paper's 30 data sets judge it
(`coverage`), beside MAPIE with the same model and the same rows. Attacks within the radius judge the sets in balls
(`attacks`). A model is trained on at most `MOST_TRAINED` rows, so that 20 splits of 30 data sets are affordable.

What is measured is appended to `sets-splits.csv` and `sets-problems.csv`. A run that was interrupted continues there;
delete the files to measure everything again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from mapie.classification import SplitConformalClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from benchmarks import data
from benchmarks.collection import problems
from benchmarks.report import FOLDER, Report
from ldep import LDEPClassifierCV
from ldep._utils import draw_seeds, single_thread
from ldep.model import FittedModel, class_scores
from ldep.search import make_splits
from ldep.training import Samples

JOBS = 2
COVERAGES = (0.8, 0.9, 0.95)
MOST_TRAINED, MOST_TESTED = 300, 1000
SPLITS, MAPIE_SPLITS = 15, 1
MANY_FEATURES = 200  # a data set with more of them has the splits of MAPIE only
HELD_OUT = 0.25  # of the rows, for the calibration of a split
SMALLEST, LARGEST = 150, 12_000  # rows and cells of a problem of the collection
ATTACKED = ("banana", "haberman", "wdbc", "ionosphere", "diabetes")
ROWS, ATTACKS, RADIUS = 150, 1000, 0.1


class Part(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def split(X: np.ndarray, y: np.ndarray, seed: int) -> Part:
    """A stratified split, filled and standardised by its training part."""
    train_size = min(int(0.6 * len(y)), MOST_TRAINED)
    test_size = min(len(y) - train_size, MOST_TESTED)
    splitter = StratifiedShuffleSplit(1, train_size=train_size, test_size=test_size, random_state=seed)
    train, test = next(splitter.split(X, y))
    prepare = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()).fit(X[train])
    return Part(prepare.transform(X[train]), y[train], prepare.transform(X[test]), y[test])


def fitted(X: np.ndarray, y: np.ndarray, seed: int) -> LDEPClassifierCV:
    with warnings.catch_warnings(), single_thread():
        warnings.simplefilter("ignore")
        return LDEPClassifierCV(random_state=seed).fit(X, y)


def measured(contains: np.ndarray, y: np.ndarray) -> dict[str, float]:
    sizes = contains.sum(axis=1)
    right = contains[np.arange(len(y)), y]
    return {"coverage": right.mean(), "size": sizes.mean(), "empty": (sizes == 0).mean()}


def cumulated(probability: np.ndarray, penalty: float = 0.0) -> np.ndarray:
    """APS without random numbers, and RAPS with a penalty per class after the first."""
    order = np.argsort(-probability, axis=1, kind="stable")
    sums = np.take_along_axis(probability, order, axis=1).cumsum(axis=1) + penalty * np.arange(probability.shape[1])
    scores = np.empty_like(probability)
    np.put_along_axis(scores, order, sums, axis=1)
    return scores


def of_scores(classes: int, name: str, seed: int) -> list[dict]:
    """Sets by several scores on one problem of the collection, from one fit."""
    part = split(*problems.problems(classes)[name], seed)
    model = fitted(part.X, part.y, seed)
    whole, n = model.model_, len(part.y)
    fold_seed = draw_seeds(np.random.RandomState(seed), 3)[0]
    folds = make_splits(5, Samples(part.X, part.y, np.ones(n)), model.classes_, fold_seed)
    members = np.arange(len(whole.members)).reshape(-1, len(folds)).T
    of_fold = [
        FittedModel(
            [whole.members[i] for i in own],
            whole.weights[own] * len(folds),
            True,
            whole.thresholds,
            whole.factors,
            whole.link,
        )
        for own in members
    ]
    scores = {
        "this": lambda one, X: class_scores(one.mean_decision(X)),
        "votes": lambda one, X: class_scores(np.log(one.decision(X)) if classes > 2 else one.decision(X)),
        "1 - p": lambda one, X: 1.0 - one.probabilities(one.decision(X)),
        "APS": lambda one, X: cumulated(one.probabilities(one.decision(X))),
        "RAPS": lambda one, X: cumulated(one.probabilities(one.decision(X)), 0.1),
    }
    rows = []
    for score, function in scores.items():
        own, fold_of = np.empty(n), np.empty(n, dtype=int)
        for number, fold in enumerate(folds):
            own[fold.test] = function(of_fold[number], part.X[fold.test])[np.arange(len(fold.test)), part.y[fold.test]]
            fold_of[fold.test] = number
        new = function(whole, part.X_test)
        smaller = np.zeros(new.shape)
        for number, one in enumerate(of_fold):
            smaller += np.searchsorted(np.sort(own[fold_of == number]), function(one, part.X_test), side="left")
        for coverage in COVERAGES:
            rank = int(np.ceil(coverage * (n + 1) - 1e-9))
            limit = np.sort(own)[rank - 1] if rank <= n else np.inf
            head = {"classes": classes, "problem": name, "coverage asked for": coverage}
            rows.append({**head, "score": score, **measured(new <= limit, part.y_test)})
            if score == "this":
                rows.append({**head, "score": "this, CV+", **measured(smaller < coverage * (n + 1), part.y_test)})
    return rows


def of_data_set(name: str, seed: int) -> list[dict]:
    """Coverage and sizes on one split of one data set."""
    X, y, _ = data.load(name)
    part = split(X, y, seed)
    rows = []

    def add(way: str, coverage: float, contains: np.ndarray) -> None:
        row = {"data set": name, "split": seed, "way": way, "coverage asked for": coverage}
        rows.append(row | measured(contains, part.y_test))

    model = fitted(part.X, part.y, seed)
    for coverage in COVERAGES:
        add("out of fold", coverage, model.predict_set(part.X_test, coverage).contains)
        add("out of fold, classwise", coverage, model.predict_set(part.X_test, coverage, classwise=True).contains)
    if seed < MAPIE_SPLITS:
        kept = StratifiedShuffleSplit(1, test_size=HELD_OUT, random_state=seed)
        proper, held = next(kept.split(part.X, part.y))
        model = fitted(part.X[proper], part.y[proper], seed).calibrate(part.X[held], part.y[held])
        # MAPIE refuses a coverage for which the rows are too few.
        levels = [coverage for coverage in COVERAGES if len(held) * (1.0 - coverage) > 1.0]
        mapie = SplitConformalClassifier(model, confidence_level=levels, conformity_score="lac", prefit=True)
        mapie.conformalize(part.X[held], part.y[held])
        sets = mapie.predict_set(part.X_test)[1]
        for number, coverage in enumerate(levels):
            add("held out", coverage, model.predict_set(part.X_test, coverage).contains)
            add("held out, MAPIE", coverage, sets[:, :, number])
    return rows


def attack(name: str, seed: int = 0) -> dict:
    """Move each row to where its class is least in its set, and ask for the set in the ball around that row."""
    part = split(*data.load(name)[:2], seed)
    model = fitted(part.X, part.y, seed)
    rng = np.random.default_rng(seed)
    X, y = part.X_test[:ROWS], part.y_test[:ROWS]
    directions = rng.normal(size=(ATTACKS, X.shape[1]))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    moves = RADIUS * directions * rng.uniform(size=(ATTACKS, 1)) ** (rng.random((ATTACKS, 1)) < 0.5)
    attacked, escaped = np.empty_like(X), 0
    around = model.predict_set(X, 0.9, radius=RADIUS, time_limit=5.0)
    for number, x in enumerate(X):
        near = x + moves
        scores = class_scores(model.model_.mean_decision(near))
        attacked[number] = near[scores[:, y[number]].argmax()]
        reached = (scores <= model.set_limits_.at(0.9)).any(axis=0)
        escaped += int((reached & ~around.contains[number]).sum())
    robust = model.predict_set(attacked, 0.9, radius=RADIUS, time_limit=5.0)
    return {
        "data set": name,
        "rows": len(X),
        "classes that an attack reached and a set lacked": escaped,
        "coverage": model.predict_set(X, 0.9).covers(y).mean(),
        "coverage under attack": model.predict_set(attacked, 0.9).covers(y).mean(),
        "coverage under attack, with the radius": robust.covers(y).mean(),
        "size": model.predict_set(X, 0.9).sizes.mean(),
        "size with the radius": robust.sizes.mean(),
        "exact": robust.exact.mean(),
    }


def in_parallel(function: Callable[..., list[dict]], tasks: Sequence[tuple], file: Path) -> pd.DataFrame:
    """The rows of all tasks. Those in the file are not measured again, and the others are appended to it."""
    known = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=["task"])
    open_tasks = [task for task in tasks if str(task) not in set(known["task"])]
    results = Parallel(n_jobs=JOBS, return_as="generator")(delayed(function)(*task) for task in open_tasks)
    for task, rows in tqdm(zip(open_tasks, results), total=len(open_tasks), desc=file.stem, mininterval=5):
        frame = pd.DataFrame(rows).assign(task=str(task))
        frame.to_csv(file, mode="a", header=not file.exists(), index=False)
    measured = pd.read_csv(file)
    return measured[measured["task"].isin([str(task) for task in tasks])].drop(columns="task")


def study_of_scores() -> pd.DataFrame:
    tasks = [
        (classes, name)
        for classes in problems.CLASSES
        for name, problem in problems.problems(classes).items()
        if len(problem.y) >= SMALLEST and problem.X.size <= LARGEST
    ]
    table = in_parallel(of_scores, [(*task, 0) for task in tasks], FOLDER / "sets-problems.csv")
    keys = ["classes", "coverage asked for"]
    sizes = table.pivot_table(index=[*keys, "problem"], columns="score", values="size")
    beyond = sizes.sub(sizes["1 - p"], axis=0).groupby(keys)
    means = (
        table.groupby([*keys, "score"])[["coverage", "size"]]
        .mean()
        .join(beyond.mean().stack().rename("size minus that of 1 - p"))
    )
    errors = beyond.std().div(np.sqrt(beyond.count())).stack().rename("standard error")
    counts = beyond.count().stack().rename("problems")
    return means.join(errors).join(counts).reset_index()


def run(names: tuple[str, ...] = data.NAMES, splits: int = SPLITS) -> Report:
    report = Report("sets", "Prediction sets: coverage, sizes, and attacks within a radius")
    tasks = [
        (name, seed)
        for seed in range(splits)
        for name in names
        if seed < MAPIE_SPLITS or data.load(name)[0].shape[1] <= MANY_FEATURES
    ]
    rows = in_parallel(of_data_set, tasks, FOLDER / "sets-splits.csv")
    keys = ["way", "coverage asked for"]
    of_sets = rows.groupby([*keys, "data set"])[["coverage", "size", "empty"]].mean()
    means, deviation = of_sets.groupby(keys).mean(), of_sets.groupby(keys)["coverage"].std()
    means["standard error"] = deviation / np.sqrt(len(names))
    for coverage in COVERAGES:
        mean = means.loc[("out of fold", coverage), "coverage"]
        reached = abs(mean - coverage) <= 0.01
        report.claim(
            f"mean coverage at {coverage}, minus {coverage}, in points", 100 * (mean - coverage), "-1 to 1", reached
        )
    for coverage in COVERAGES:
        ours, theirs = (means.loc[(way, coverage), "size"] for way in ("held out", "held out, MAPIE"))
        report.claim(
            f"size at {coverage}, divided by MAPIE's, same model and rows",
            ours / theirs,
            "<= 1.02",
            ours <= 1.02 * theirs,
        )
    attacks = pd.DataFrame([attack(name) for name in tqdm(ATTACKED, desc="attacks") if name in names])
    if len(attacks):
        escaped = attacks["classes that an attack reached and a set lacked"].sum()
        report.claim("classes that an attack within the radius reached, and a set lacked", escaped, "0", escaped == 0)
        kept = attacks["coverage under attack, with the radius"] - attacks["coverage"]
        report.claim(
            "coverage under attack with the radius, minus that without attack", kept.min(), ">= 0", kept.min() >= 0
        )
    report.note(
        f"Coverage: the {len(names)} data sets, {splits} splits each ({MAPIE_SPLITS} of those with more than "
        f"{MANY_FEATURES} features), at most {MOST_TRAINED} rows for training and "
        f"{MOST_TESTED} for testing. `out of fold` is `LDEPClassifierCV` calibrated by its own fit. `held out` is one "
        f"calibrated on {HELD_OUT:.0%} of the training rows, which it has not seen, in {MAPIE_SPLITS} splits; MAPIE "
        "takes the same fitted model and rows, and the score 1 - p. `empty` is the share of sets without a class. "
        "Standard errors are over the data sets."
    )
    report.note(
        f"Attacks: {ATTACKS} random changes of each of {ROWS} rows within {RADIUS} standard deviations (L2), half of "
        "them on the sphere. The worst one for the row's class replaces the row, and the set in the ball around it is "
        "asked for."
    )
    report.note(
        "Scores: one split of each problem of the development collection. `this` is the score of `predict_set`, "
        "`votes` the same of votes instead of decision values, and `CV+` compares with the model of each fold."
    )
    report.table("coverage", means.reset_index())
    report.table("attacks", attacks)
    report.table("scores", study_of_scores())
    report.table("data-sets", of_sets.reset_index())
    return report
