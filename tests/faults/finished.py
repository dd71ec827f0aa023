"""A small project after a whole run, and one of its earlier runs: what the harness damages, and compares with."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ldep_pipeline.execution import results
from tests.support import forked, killing, scale_project

NAME = "tiny"
STAGES = ("check", "fetch", "impute", "split", "train", "register", "report")
SCORE = ("ldep", "score", f"models:/ldep-{NAME}@champion", f"data/own/{NAME}.csv", "scored.csv")
INPUTS = ("pipeline", "ldep", "own_models", ".git", "__pycache__")  # folders that no command writes to
# What two runs of the same work may have in different ways: versions are counted, and a manifest names a random id.
RECORDED = ("dataset", "model", "metrics", "ranking", "settings", "data_digest", "key")


@dataclass(frozen=True)
class Finished:
    """`folder` is worked in; `original` and `earlier` are copies of it after its last run, and after one before."""

    folder: Path
    original: Path
    earlier: Path

    def restore(self) -> None:
        """Make the folder what it was after its last run."""
        present, wanted = _files(self.folder), _files(self.original)
        for name in present.keys() - wanted.keys():
            (self.folder / name).unlink()
        for place, _, _ in os.walk(self.folder, topdown=False):
            if not (self.original / Path(place).relative_to(self.folder)).exists():
                Path(place).rmdir()
        for name, identity in wanted.items():
            if present.get(name) != identity:
                self.restore_file(name)

    def restore_file(self, name: str) -> None:
        target = self.folder / name
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        target.unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.original / name, target)


def make(place: Path) -> Finished:
    """Run `dvc repro` twice; the first time with other rows, folds and settings."""
    project = Finished(place / "project", place / "original", place / "earlier")
    scale_project.make(project.folder)
    params, rows = project.folder / "params.yaml", project.folder / f"data/own/{NAME}.csv"
    last = params.read_text(), rows.read_text()
    values = yaml.safe_load(last[0])
    values["split"]["seed"] = 2
    values["classifiers"]["svc"]["params"] = {"C": 0.5}
    first = yaml.safe_dump(values, sort_keys=False), "".join(last[1].splitlines(keepends=True)[:-9])
    for texts, copy in ((first, project.earlier), (last, project.original)):
        params.write_text(texts[0])
        rows.write_text(texts[1])
        run_and_copy(project, [("dvc", "repro")], copy)
        if copy == project.earlier:  # otherwise its model would stay the champion: it was scored on other folds
            (project.folder / "mlflow.db").unlink()
            shutil.rmtree(project.folder / "mlartifacts")
    return project


def make_small(place: Path) -> Finished:
    """Run every stage but the report once, without DVC: the part of a project that is made in a few seconds."""
    project = Finished(place / "project", place / "original", place / "original")
    scale_project.make(project.folder, models=["svc"])
    run_and_copy(project, [("ldep", stage) for stage in STAGES[:-1]], project.original)
    return project


def run_and_copy(project: Finished, commands: list[tuple[str, ...]], copy: Path) -> None:
    for command in (*commands, SCORE):
        outcome = forked.run(project.folder, *command)
        assert outcome.code == 0, outcome.text
    shutil.copytree(project.folder, copy, symlinks=True)


def written_files(folder: Path) -> list[str]:
    """Every file that a run has written, relative to the folder."""
    sources = {"params.yaml", "dvc.yaml", ".gitignore", ".dvcignore", "scored.csv"}
    dvc_sources = {".dvc/config", ".dvc/.gitignore"}
    return [name for name in sorted(_files(folder)) if name not in sources | dvc_sources]


def tables(folder: Path) -> dict[str, Any]:
    """Everything that a run must reproduce: all numbers, without times and without the numbers of versions."""
    record = json.loads((folder / f"registry/{NAME}.json").read_text())
    return {
        "results": killing.table(folder).to_csv(index=False),
        "decisions": pd.read_parquet(folder / f"results/{NAME}/{results.DECISIONS}").to_csv(),
        "imputed": pd.read_parquet(folder / f"data/imputed/{NAME}.parquet").to_csv(),
        "registry": {key: record.get(key) for key in RECORDED},
        **{
            name: (folder / name).read_text()
            for name in (
                f"data/folds/{NAME}.csv",
                f"data/imputed/{NAME}.encoder.json",
                f"results/{NAME}/{results.CURVES}",
                f"results/{NAME}/{results.BOUNDARIES}",
                f"metrics/sets/{NAME}.json",
                "metrics/mean.json",
                "report/table.csv",
            )
            if (folder / name).is_file()
        },
    }


def _files(folder: Path) -> dict[str, tuple[int, int, bool]]:
    """Each file with what tells whether it changed. (Copies keep the time of change.)"""
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not (Path(place) == folder and name in INPUTS)]
        for name in files:
            path = Path(place, name)
            state = path.lstat()
            found[str(path.relative_to(folder))] = (state.st_size, state.st_mtime_ns, path.is_symlink())
    return found


def group(folder: Path, name: str) -> str:
    """The files of one group are written and read in the same way: their names differ by a digest or an identifier."""
    path = folder / name
    parts = name.split("/")
    if parts[0] == "mlartifacts":
        return _artifact_group(folder, parts)
    if parts[:2] == [".ldep", "fits"]:
        is_study = path.suffix == ".json" and '"chosen"' in path.read_text(errors="replace")
        return f".ldep/fits/{'study' if is_study else 'fit'}{path.suffix}"
    if parts[:2] == [".ldep", "built"]:
        return ".ldep/built/*.json"
    if parts[0] == "report":
        return "report/report.html" if name == "report/report.html" else f"report/*{path.suffix}"
    if parts[:3] == [".dvc", "cache", "files"]:
        return f".dvc/cache/files/*{path.suffix}"
    if parts[:3] == [".dvc", "cache", "runs"]:
        return ".dvc/cache/runs/*"
    return re.sub(r"[0-9a-f]{32,64}", "*", name)


def _artifact_group(folder: Path, parts: list[str]) -> str:
    if parts[1] != "models":
        return "mlartifacts/RUN/*"
    model = folder / "/".join(parts[:4])
    if not (model / "ldep-manifest.json").exists():
        return "mlartifacts/models/LOGGED/*"
    checked_only = (
        "conda.yaml",
        "python_env.yaml",
        "requirements.txt",
        "input_example.json",
        "serving_input_example.json",
    )
    return f"mlartifacts/models/REGISTERED/{'*' if parts[-1] in checked_only else parts[-1]}"
