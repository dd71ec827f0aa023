"""What an MLflow run of a set and model holds: numbers, settings, the data set, pictures, the fitted pipeline."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import mlflow.sklearn
import numpy as np
import skops.io
from mlflow.data.pandas_dataset import from_pandas
from mlflow.entities import Dataset, DatasetInput, InputTag, LoggedModelOutput, LoggedModelStatus, Metric, Param, Run
from mlflow.models import Model, infer_signature
from mlflow.utils import requirements_utils

import ldep
from pipeline.data.provenance import Provenance
from pipeline.execution.plan import Plan
from pipeline.fitting.fit import FitTask
from pipeline.fitting.study import open_study
from pipeline.fitting.training_data import TrainingData
from pipeline.tracking import run_figures

log = logging.getLogger(__name__)
Folds = dict[int, dict[str, Any]]
SECONDS = ("fit_seconds", "fit_cpu_seconds", "predict_seconds")
# Types inside these packages may be loaded from a model that we logged. skops itself trusts but some of them.
TRUSTED = ("ldep", "numpy", "sklearn")
EXAMPLE_ROWS = 5
DIGITS = 8  # of the data's digest, as MLflow's own have: the runs page shows it beside the name


def description(plan: Plan, model: str, folds: Folds, rows: TrainingData, provenance: Provenance) -> str:
    """The text on the run's page."""
    good = [record["metrics"]["accuracy"] for record in folds.values() if record["status"] == "ok"]
    count, features = rows.X.shape
    lines = [
        f"**{model}** on **{plan.dataset}** ({count:,} rows, {features} features, from {provenance.source}), "
        f"{plan.folds}-fold cross-validation."
    ]
    if good:
        deviation = np.std(good, ddof=1) if len(good) > 1 else 0.0
        lines.append(f"Accuracy **{100 * np.mean(good):.1f} ± {100 * deviation:.1f} %**, mean and sample deviation.")
    lines += [f"Fold {fold} failed: {r['message']}" for fold, r in sorted(folds.items()) if r["status"] == "failed"]
    lines.append(_fold_table(folds))
    lines.append(
        "*Model metrics*: `fold/...` has a step a fold, `curve/objective` is the training of fold 0, a step an "
        "iteration. *Artifacts*: `confusion.png` counts the errors of all test folds."
    )
    return "\n\n".join(lines)


def _fold_table(folds: Folds) -> str:
    """A row a fold: its accuracy, its seconds, and the settings in which the folds differ."""
    held = _settings_by_name(folds)
    differing = [name for name, texts in held.items() if len(set(texts)) > 1]
    head = ["fold", "accuracy", "fit, s", *(f"`{name}`" for name in differing)]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for place, (fold, record) in enumerate(sorted(folds.items())):
        accuracy = f"{record['metrics']['accuracy']:.4f}" if record["status"] == "ok" else "failed"
        seconds = f"{record['fit_seconds']:.2f}" if record.get("fit_seconds") is not None else ""
        lines.append(f"| {' | '.join([str(fold), accuracy, seconds, *(held[name][place] for name in differing)])} |")
    return "\n".join(lines)


def work_seconds(folds: Folds) -> float:
    """What tuning, fitting and predicting took, summed over the folds."""
    return sum(
        (record["tuning"].get("seconds") or 0.0)
        + (record.get("fit_seconds") or 0.0)
        + (record.get("predict_seconds") or 0.0)
        for record in folds.values()
    )


def numbers(folds: Folds, model_id: str | None) -> list[Metric]:
    """Mean and sample deviation of each number, its value in each fold, and the convergence curve of the first."""
    now = int(time.time() * 1000)
    metrics: list[Metric] = []
    values: dict[str, dict[int, float]] = {}
    for fold, record in sorted(folds.items()):
        found = {
            **record.get("metrics", {}),
            **{name: record.get(name) for name in (*SECONDS, "objective", "iterations")},
            "tune_seconds": record["tuning"].get("seconds"),
            "tune_cpu_seconds": record["tuning"].get("cpu_seconds"),
        }
        for name, value in found.items():
            if value is not None:
                values.setdefault(name, {})[fold] = float(value)
    if "accuracy" in values:
        values["f1_micro"] = values["accuracy"]  # for those who look for the paper's name of it
    for name, held in values.items():
        metrics.append(Metric(name, float(np.mean(list(held.values()))), now, 0, model_id=model_id))
        if len(held) > 1:
            metrics.append(Metric(f"{name}_std", float(np.std(list(held.values()), ddof=1)), now, 0))
        metrics += [Metric(f"fold/{name}", value, now, fold) for fold, value in held.items()]
    curve = folds[0].get("curve", {"iteration": [], "objective": []})
    metrics += [Metric("curve/objective", v, now, step) for step, v in zip(curve["iteration"], curve["objective"])]
    metrics.append(Metric("failed_folds", sum(r["status"] == "failed" for r in folds.values()), now, 0))
    return metrics


def settings(dataset: str, model: str, folds: Folds) -> list[Param]:
    """A parameter each, or the list of what was chosen in the folds where they differ.

    And the two by which the compare page can tell runs apart. It shows the first three in the order of their names in
    which the runs differ: therefore `classifier`, not `model`.
    """
    shown = {"classifier": model, "dataset": dataset}
    for name, texts in _settings_by_name(folds).items():
        shown[name] = texts[0] if len(set(texts)) == 1 else " | ".join(texts)
    trials = [record["tuning"].get("trials") for record in folds.values() if record["tuning"]]
    if trials:
        shown["tuning_trials"] = str(sum(filter(None, trials)))
    return [Param(name, text[:6000]) for name, text in shown.items()]


def _settings_by_name(folds: Folds) -> dict[str, list[str]]:
    """The text of each setting in each fold. Numbers that the folds chose differently have four digits, to be read."""
    found = {}
    for name in sorted({name for record in folds.values() for name in record["settings"]}):
        held = [record["settings"].get(name) for _, record in sorted(folds.items())]
        differ = any(value != held[0] for value in held)
        found[name] = [_text(value, rounded=differ) for value in held]
    return found


def _text(value: Any, rounded: bool) -> str:
    if rounded and isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value)


def dataset_input(plan: Plan, rows: TrainingData, provenance: Provenance) -> DatasetInput:
    shown = ("source", "openml_id", "md5", "file", "package_version")
    source = {key: value for key, value in provenance.to_json().items() if key in shown}
    # MLflow's own would go through all rows; the schema needs a few, and the shape is known.
    schema = from_pandas(rows.frame(slice(EXAMPLE_ROWS)))._to_mlflow_entity().schema
    profile = json.dumps({"num_rows": rows.X.shape[0], "num_elements": rows.X.size})
    held = Dataset(plan.dataset, plan.data_digest[:DIGITS], "local", json.dumps(source), schema, profile)
    return DatasetInput(held, [InputTag("mlflow.data.context", "cross-validation")])


def pictures_of_study(folder: Path, plan: Plan, model: str) -> None:
    """The journals of the model's studies, their history and the importance of the parameters."""
    works = [plan.studies[plan.after[model, fold]] for fold in range(plan.folds) if (model, fold) in plan.after]
    works = [work for work in works if work.model == model and work.journal.is_file()]
    if not works:
        return
    place = folder / "optuna"
    place.mkdir()
    for work in works:
        shutil.copyfile(work.journal, place / f"fold{work.fold}.journal")
    studies = [open_study(work.journal) for work in works]
    run_figures.history(studies, place / "history.png")
    run_figures.importance(studies, place / "importance.png")


def pictures_of_folds(folder: Path, plan: Plan, model: str, folds: Folds, rows: TrainingData) -> None:
    good = [record for record in folds.values() if record["status"] == "ok"]
    if good:
        counts = np.sum([record["confusion"] for record in good], axis=0)
        run_figures.confusion(counts, good[0]["classes"], f"{plan.dataset} · {model}", folder / "confusion.png")
    if "boundary" in folds[0]:
        run_figures.boundary(folds[0]["boundary"], rows, f"{plan.dataset} · {model}, fold 0", folder / "boundary.png")


def artifacts(folder: Path, plan: Plan, model: str, folds: Folds, rows: TrainingData) -> None:
    """Write all files of the run into a folder."""
    pictures_of_folds(folder, plan, model, folds, rows)
    pictures_of_study(folder, plan, model)


def log_model(client: mlflow.MlflowClient, run: Run, fit: FitTask, content: bytes, rows: TrainingData) -> str | None:
    """Log the pipeline that fold 0 fitted, a skops file; return its id, or None if it contains an untrusted type."""
    untrusted = skops.io.get_untrusted_types(data=content)
    foreign = [name for name in untrusted if name.split(".")[0] not in TRUSTED]
    if foreign:
        log.warning("%s: not logged as a model, as it holds %s, which is not trusted.", fit.model, ", ".join(foreign))
        return None
    pipe = skops.io.loads(content, trusted=untrusted)
    # mlflow.sklearn.log_model, in steps. It wants an active run, and ending that marks it FINISHED before its numbers
    # are in; and it loads each model again to try its example, which doubles the cost.
    run_id, example = run.info.run_id, rows.frame(slice(EXAMPLE_ROWS))
    logged = client.create_logged_model(run.info.experiment_id, name=f"{fit.dataset}-{fit.model}", source_run_id=run_id)
    with tempfile.TemporaryDirectory() as scratch, _versions_as_said():
        mlflow.sklearn.save_model(
            pipe,
            Path(scratch, "model"),
            mlflow_model=Model(run_id=run_id, model_id=logged.model_id, model_uuid=logged.model_id),
            serialization_format="skops",
            skops_trusted_types=untrusted,
            signature=infer_signature(example, pipe.predict(example)),
            input_example=example,
            pip_requirements=requirements(),
            code_paths=[str(Path(ldep.__file__).parent)] if any(t.startswith("ldep") for t in untrusted) else None,
        )
        client.log_model_artifacts(logged.model_id, str(Path(scratch, "model")))
    client.finalize_logged_model(logged.model_id, LoggedModelStatus.READY)
    client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])
    return logged.model_id


@contextmanager
def _versions_as_said() -> Iterator[None]:
    """Without the table that MLflow makes to see that the versions it is told are installed, as they are.

    It goes through the files of all installed packages: half a second a process, several times what a model takes.
    """
    held = requirements_utils._MODULES_TO_PACKAGES
    requirements_utils._MODULES_TO_PACKAGES = {}  # type: ignore[assignment]
    try:
        yield
    finally:
        requirements_utils._MODULES_TO_PACKAGES = held


@cache
def requirements() -> list[str]:
    """What a logged pipeline needs, at the versions it was made with. Left to MLflow this takes 20 seconds a model."""
    names = ("mlflow", "numpy", "pandas", "scikit-learn", "scipy", "skops", "threadpoolctl")
    return [f"{name}=={metadata.version(name)}" for name in names]
