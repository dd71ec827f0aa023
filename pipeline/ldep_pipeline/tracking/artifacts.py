"""The files of a run. To track another one, write a function here and add it to WRITERS.

The figures are drawn without pyplot: no window, no global state, and three times faster.
"""

from __future__ import annotations

import importlib
import logging
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mlflow.sklearn
import numpy as np
import optuna
import skops.io
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from mlflow.entities import LoggedModelOutput, LoggedModelStatus, Run
from mlflow.models import Model, infer_signature
from numpy.typing import ArrayLike
from optuna.study import StudyDirection
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

import ldep
from ldep_pipeline.common import machine
from ldep_pipeline.fitting.fit import FitTask
from ldep_pipeline.fitting.study import open_study
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics.evaluation import classes_of
from ldep_pipeline.tracking.run_content import RunRecord

COLOURS = ("#3b6fb6", "#d1603d")
MOST_SHARES = 5  # classes of a confusion matrix whose cells show shares too
TICKS = (0.0, 0.5, 1.0)
POINTS = 1500  # of a scatter plot: more would only hide each other


def confusion(record: RunRecord, folder: Path) -> None:
    """The errors of all test folds."""
    fits = record.successful
    if fits:
        counts = np.sum([fit["confusion"] for fit in fits], axis=0)
        draw_confusion(counts, fits[0]["classes"], record.title, folder / "confusion.png")


def curves(record: RunRecord, folder: Path) -> None:
    """ROC and precision-recall curves of the first repeat, if the model has decision values.

    With two classes one curve per fold, of the rarer class; with more classes one curve per class, against all others.
    """
    plan = record.plan
    decisions = {}
    for fold in range(plan.partition.folds_per_repeat):
        stored = plan.store.get_fit(plan.fits[record.model, fold].key)
        if stored is None or stored.decisions is None:
            return
        decisions[fold] = stored.decisions
    classes = classes_of(record.rows.y)
    if classes.positive is not None:
        scores = {
            f"fold {fold}": (classes.encode(record.rows.y[plan.partition.test_rows(fold)]), classes.of_positive(values))
            for fold, values in decisions.items()
        }
    else:
        y = np.concatenate([record.rows.y[plan.partition.test_rows(fold)] for fold in decisions])
        values = np.concatenate(list(decisions.values()))
        scores = {str(label): (y == label, values[:, number]) for number, label in enumerate(classes.labels)}
    draw_roc(scores, record.title, folder / "roc.png")
    draw_precision_recall(scores, record.title, folder / "precision_recall.png")


def boundary(record: RunRecord, folder: Path) -> None:
    """The decision boundary of fold 0, if the data set has two features."""
    if "boundary" in record.folds[0]:
        path = folder / "boundary.png"
        draw_boundary(record.folds[0]["boundary"], record.rows, f"{record.title}, fold 0", path)


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
    draw_history(opened, place / "history.png")
    draw_importance(opened, place / "importance.png")


Writer = Callable[[RunRecord, Path], None]
WRITERS: tuple[Writer, ...] = (confusion, curves, boundary, studies)


def write(record: RunRecord, folder: Path) -> None:
    """Write all files of the run into an empty folder."""
    for writer in WRITERS:
        writer(record, folder)


def _figure(title: str, height: float = 3.2, left: float = 0.17) -> tuple[Figure, Any]:
    # Frame, title and labels have fixed places: computing a layout would take longer than drawing.
    figure = _canvas(5, height)
    axes = figure.add_axes((left, 0.55 / height, 0.95 - left, 1 - 0.95 / height))
    axes.set_title(title, y=1.02)
    axes.xaxis.set_label_coords((left + 0.95) / 2, 0.28 / height, figure.transFigure)
    axes.yaxis.set_label_coords(0.05, 0.5, figure.transFigure)
    return figure, axes


def _canvas(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), dpi=90)
    FigureCanvasAgg(figure)
    return figure


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, pil_kwargs={"compress_level": 1})


def draw_confusion(counts: np.ndarray, classes: Sequence[str], title: str, path: Path) -> None:
    """Draw a confusion matrix. Every run has one, so it is drawn without axes: ticks would take most of the time."""
    size = len(classes)
    figure = _canvas(max(4, 0.62 * size), max(3.2, 0.5 * size))
    left, bottom, width, height = 0.17, 0.17, 0.78 / size, 0.71 / size
    for (row, column), count in np.ndenumerate(counts):
        share = count / max(counts[row].sum(), 1)  # with folds by time a class may have no test row
        x, y = left + column * width, bottom + (size - 1 - row) * height
        figure.add_artist(Rectangle((x, y), width, height, facecolor=colormaps["Blues"](share), edgecolor="black"))
        ink = "white" if share > 0.5 else "black"
        figure.text(x + width / 2, y + height / 2, _cell(count, share, size), ha="center", va="center", color=ink)
    for place, name in enumerate(classes):
        figure.text(left + (place + 0.5) * width, bottom - 0.03, name, ha="center", va="top")
        figure.text(left - 0.02, bottom + (size - 0.5 - place) * height, name, ha="right", va="center", rotation=90)
    middle = left + 0.39
    figure.text(middle, 0.03, "predicted", ha="center", va="bottom")
    figure.text(0.03, bottom + 0.355, "true, all test folds", ha="left", va="center", rotation=90)
    figure.text(middle, 0.91, title, ha="center", va="bottom", size="large")
    _save(figure, path)


def _cell(count: int, share: float, classes: int) -> str:
    """The text of a cell; in a table of many classes only errors and hits that there are, without their share."""
    if classes <= MOST_SHARES:
        return f"{count}\n{share:.1%}"
    return str(count) if count else ""


Scores = dict[str, tuple[np.ndarray, np.ndarray]]
"""For each curve its name, whether each row is positive, and the score of each row."""


def draw_roc(scores: Scores, title: str, path: Path) -> None:
    """Draw ROC curves."""
    curves = {}
    for name, (positive, score) in scores.items():
        if 0 < positive.sum() < len(positive):
            false_positives, true_positives, _ = roc_curve(positive, score)
            curves[f"{name}: {auc(false_positives, true_positives):.3f}"] = false_positives, true_positives
    labels = "false positive rate", "true positive rate"
    _unit_square(curves, title, labels, "area", path, legend_from=0.72, drawstyle="default", diagonal=True)


def draw_precision_recall(scores: Scores, title: str, path: Path) -> None:
    """Draw precision-recall curves."""
    curves = {}
    for name, (positive, score) in scores.items():
        if positive.any():
            precision, recall, _ = precision_recall_curve(positive, score)
            curves[f"{name}: {average_precision_score(positive, score):.3f}"] = recall, precision
    labels = "recall", "precision"
    _unit_square(curves, title, labels, "average precision", path, legend_from=0.04, drawstyle="steps-post")


def _unit_square(
    curves: dict[str, tuple[np.ndarray, np.ndarray]],
    title: str,
    labels: tuple[str, str],
    legend: str,
    path: Path,
    *,
    legend_from: float,
    drawstyle: str,
    diagonal: bool = False,
) -> None:
    """Draw curves between 0 and 1. Every run has two such figures, so they are drawn without axes.

    The keys of `curves` are the entries of the legend, which begins at `legend_from` and ends at the lower frame.
    """
    figure = _canvas(5, 4)
    left, bottom, width, height = 0.17, 0.14, 0.78, 0.76

    def line(x: ArrayLike, y: ArrayLike, **style: Any) -> None:
        figure.add_artist(Line2D(left + width * np.asarray(x), bottom + height * np.asarray(y), **style))

    figure.add_artist(Rectangle((left, bottom), width, height, fill=False, linewidth=0.8))
    for tick in TICKS:
        line([tick, tick], [0, 1], color="0.9", lw=0.8, zorder=0)
        line([0, 1], [tick, tick], color="0.9", lw=0.8, zorder=0)
        figure.text(left + width * tick, bottom - 0.02, f"{tick:g}", ha="center", va="top")
        figure.text(left - 0.015, bottom + height * tick, f"{tick:g}", ha="right", va="center")
    if diagonal:
        line([0, 1], [0, 1], color="gray", lw=1, linestyle=":")
    step = min(0.042, 0.9 / (len(curves) + 1))
    for place, (name, (x, y)) in enumerate(reversed(curves.items())):
        colour, level = f"C{(len(curves) - 1 - place) % 10}", 0.03 + step * place
        line(x, y, color=colour, lw=1, drawstyle=drawstyle)
        line([legend_from, legend_from + 0.05], [level, level], color=colour, lw=1)
        _legend_text(figure, left + width * (legend_from + 0.07), bottom + height * level, name)
    top = bottom + height * (0.03 + step * len(curves))
    _legend_text(figure, left + width * legend_from, top, legend)
    figure.text(left + width / 2, 0.02, labels[0], ha="center", va="bottom")
    figure.text(0.03, bottom + height / 2, labels[1], ha="left", va="center", rotation=90)
    figure.text(left + width / 2, 0.93, title, ha="center", va="bottom", size="large")
    _save(figure, path)


def _legend_text(figure: Figure, x: float, y: float, text: str) -> None:
    figure.text(x, y, text, ha="left", va="center", size="x-small")


def draw_boundary(grid: dict[str, list[float]], rows: TrainingData, title: str, path: Path) -> None:
    """Draw the regions of the two classes, the boundary between them, and the rows.

    grid: the coordinates "x" and "y", and the decision "value" of each pair of them, row by row.
    """
    figure, axes = _figure(title, height=4)
    value = np.reshape(grid["value"], (len(grid["y"]), len(grid["x"])))
    levels = [min(value.min(), 0.0) - 1, 0.0, max(value.max(), 0.0) + 1]
    axes.contourf(grid["x"], grid["y"], value, levels=levels, colors=COLOURS, alpha=0.25)
    axes.contour(grid["x"], grid["y"], value, levels=[0.0], colors="black", linewidths=1, zorder=3)
    shown = slice(None, None, max(1, len(rows.y) // POINTS))
    for label, colour in zip(np.unique(rows.y), COLOURS):
        points = rows.X[shown][rows.y[shown] == label]
        axes.scatter(points[:, 0], points[:, 1], s=4, color=colour, label=label)
    axes.set(xlabel=rows.columns[0], ylabel=rows.columns[1])
    axes.legend(title=rows.target, markerscale=3)
    _save(figure, path)


def draw_history(studies: Sequence[optuna.Study], path: Path) -> None:
    """Draw the best inner score after each trial, one line per outer fold."""
    figure, axes = _figure("best inner score so far")
    for fold, study in enumerate(studies):
        trials = [trial for trial in study.get_trials(deepcopy=False) if trial.state.name != "FAIL"]
        values = [_score(trial) for trial in trials]
        best = np.fmax if study.direction == StudyDirection.MAXIMIZE else np.fmin
        axes.plot(range(1, len(values) + 1), best.accumulate(values), label=f"fold {fold}")
    axes.set(xlabel="trial", ylabel="score")
    axes.legend(fontsize="small")
    _save(figure, path)


def _score(trial: optuna.trial.FrozenTrial) -> float:
    return trial.value if trial.value is not None and trial.state.name == "COMPLETE" else np.nan


def draw_importance(studies: Sequence[optuna.Study], path: Path) -> None:
    """Draw the importance of each parameter by PED-ANOVA: the mean over the folds' studies that allow to compute it."""
    values: dict[str, list[float]] = {}
    for study in studies:
        for name, value in _importances(study).items():
            values.setdefault(name, []).append(value)
    if not values:
        return
    means = sorted((float(np.mean(shares)), name) for name, shares in values.items())
    figure, axes = _figure("importance (PED-ANOVA)", height=1.2 + 0.3 * len(means), left=0.35)
    axes.barh([name for _, name in means], [mean for mean, _ in means], color=COLOURS[0])
    _save(figure, path)


def _importances(study: optuna.Study) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the evaluator is experimental
        try:
            return optuna.importance.get_param_importances(
                study, evaluator=optuna.importance.PedAnovaImportanceEvaluator()
            )
        except (ValueError, RuntimeError):  # all trials equal, or too few
            return {}


log = logging.getLogger(__name__)
# Packages whose classes may be loaded from a model of the store. skops itself trusts only some of them.
TRUSTED = ("ldep", "numpy", "sklearn")
EXAMPLE_ROWS = 5


def log_model(client: mlflow.MlflowClient, run: Run, fit: FitTask, content: bytes, rows: TrainingData) -> str | None:
    """Log the pipeline, a skops file; return the model's id, or None if the file holds a type that is not trusted."""
    try:
        types = skops.io.get_untrusted_types(data=content)
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError) as error:
        log.warning("%s is not logged as a model: its file in the store cannot be read (%s).", fit.model, error)
        return None
    foreign = [name for name in types if not _is_trusted_class(name)]
    if foreign:
        log.warning("%s is not logged as a model: it holds %s, which is not trusted.", fit.model, ", ".join(foreign))
        return None
    pipe = skops.io.loads(content, trusted=types)
    # The steps of mlflow.sklearn.log_model. That function needs an active run, and ending it marks the run FINISHED
    # before its numbers are complete. It also loads each model again to try its example, which doubles the cost.
    run_id, example = run.info.run_id, rows.frame(slice(EXAMPLE_ROWS))
    logged = client.create_logged_model(run.info.experiment_id, name=f"{fit.dataset}-{fit.model}", source_run_id=run_id)
    with tempfile.TemporaryDirectory() as scratch:
        mlflow.sklearn.save_model(
            pipe,
            Path(scratch, "model"),
            mlflow_model=Model(run_id=run_id, model_id=logged.model_id, model_uuid=logged.model_id),
            serialization_format="skops",
            skops_trusted_types=types,
            signature=infer_signature(example, pipe.predict(example)),
            input_example=example,
            pip_requirements=list(machine.requirements()),
            code_paths=[str(Path(ldep.__file__).parent)] if any(name.startswith("ldep") for name in types) else None,
        )
        client.log_model_artifacts(logged.model_id, str(Path(scratch, "model")))
    client.finalize_logged_model(logged.model_id, LoggedModelStatus.READY)
    client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])
    return logged.model_id


def _is_trusted_class(path: str) -> bool:
    """Whether a dotted path names a class of a trusted package.

    Functions and methods are refused: a pipeline calls those that it holds, and one like `numpy.load` runs any code.
    """
    if path.split(".")[0] not in TRUSTED:
        return False
    module, _, name = path.rpartition(".")
    try:
        return isinstance(getattr(importlib.import_module(module), name, None), type)
    except ImportError:
        return False
