"""The files of a run. To track another one, write a function here and add it to WRITERS."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pipeline.execution import stored_fits
from pipeline.fitting.metrics import classes_of
from pipeline.fitting.study import open_study
from pipeline.tracking import run_figures
from pipeline.tracking.run_record import RunRecord


def confusion(record: RunRecord, folder: Path) -> None:
    """The errors of all test folds."""
    fits = record.successful
    if fits:
        counts = np.sum([fit["confusion"] for fit in fits], axis=0)
        run_figures.confusion(counts, fits[0]["classes"], record.title, folder / "confusion.png")


def curves(record: RunRecord, folder: Path) -> None:
    """ROC and precision-recall curves of the first repeat, if the model has decision values.

    With two classes one curve per fold, of the rarer class; with more classes one curve per class, against all others.
    """
    plan = record.plan
    decisions = {}
    for fold in range(plan.partition.folds_per_repeat):
        stored = stored_fits.load(plan.store, plan.fits[record.model, fold].key)
        if stored is None or stored.decisions is None:
            return
        decisions[fold] = stored.decisions
    classes = classes_of(record.rows.y)
    if classes.are_two:
        scores = {
            f"fold {fold}": (classes.encode(record.rows.y[plan.partition.test_rows(fold)]), classes.oriented(values))
            for fold, values in decisions.items()
        }
    else:
        y = np.concatenate([record.rows.y[plan.partition.test_rows(fold)] for fold in decisions])
        values = np.concatenate(list(decisions.values()))
        scores = {str(label): (y == label, values[:, number]) for number, label in enumerate(classes.labels)}
    run_figures.roc(scores, record.title, folder / "roc.png")
    run_figures.precision_recall(scores, record.title, folder / "precision_recall.png")


def boundary(record: RunRecord, folder: Path) -> None:
    """The decision boundary of fold 0, if the data set has two features."""
    if "boundary" in record.folds[0]:
        path = folder / "boundary.png"
        run_figures.boundary(record.folds[0]["boundary"], record.rows, f"{record.title}, fold 0", path)


def studies(record: RunRecord, folder: Path) -> None:
    """The journals of the model's studies, their history, and the importance of the parameters."""
    plan, model = record.plan, record.model
    tasks = [plan.studies[model, fold] for fold in range(plan.folds) if (model, fold) in plan.studies]
    tasks = [task for task in tasks if task.journal.is_file()]
    if not tasks:
        return
    place = folder / "optuna"
    place.mkdir()
    for task in tasks:
        shutil.copyfile(task.journal, place / f"fold{task.fold}.journal")
    opened = [open_study(task.journal, task.metric) for task in tasks]
    run_figures.history(opened, place / "history.png")
    run_figures.importance(opened, place / "importance.png")


Writer = Callable[[RunRecord, Path], None]
WRITERS: tuple[Writer, ...] = (confusion, curves, boundary, studies)


def write(record: RunRecord, folder: Path) -> None:
    """Write all files of the run into an empty folder."""
    for writer in WRITERS:
        writer(record, folder)
