"""Malicious input is refused with a message; nothing in it runs, and nothing is written elsewhere."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import params
from ldep_pipeline.data import catalogue, tables
from ldep_pipeline.data.tables import Layout
from tests.support.copies import on_path
from tests.support.openml_files import fill_cache, haberman_arff, snapshot

NAMES = [
    "../../evil",
    "/etc/evil",
    "a/../../evil",
    "..",
    "a\\b",
    "a\n",
    "$(touch run)",
    "x; touch run",
    "`touch run`",
    "a b",
]
OWN = {"path": "data/own/my.csv", "target": "label"}

BIN = Path(sys.executable).parent


@pytest.mark.parametrize("name", NAMES)
def test_unsafe_names_are_refused_in_params(name):
    for values in (
        {"datasets": [name]},
        {"datasets": [name], "own_data": {name: OWN}},
        {"datasets": ["banana"], "models": [name]},
        {"datasets": ["banana"], "classifiers": {name: {"class": "sklearn.svm.SVC"}}},
    ):
        with pytest.raises(UserError, match="a name has letters"):
            params.check(values)


@pytest.mark.parametrize("name", NAMES)
def test_unsafe_names_are_refused_in_commands_and_the_catalogue(name, project, write_params, ldep, monkeypatch):
    write_params()
    before = snapshot(project)
    for command in ("fetch", "impute", "split", "train", "tune", "register"):
        code, _, text = ldep(command, "--", name)
        assert code == 1
        assert "is neither in the catalogue nor in own_data" in text
    assert snapshot(project) == before
    row = yaml.safe_load(catalogue.FILE.read_text())["haberman"]
    (project / "catalogue.yaml").write_text(yaml.safe_dump({name: row}))
    monkeypatch.setattr(catalogue, "FILE", project / "catalogue.yaml")
    with pytest.raises(UserError, match="a name has letters"):
        catalogue.load.__wrapped__()


def test_dvc_runs_no_shell_syntax_in_a_name(dvc_project):
    """DVC itself puts a name into a shell's command, and removes the stage's files before: `check` comes first."""
    values = yaml.safe_load((dvc_project / "params.yaml").read_text())
    (dvc_project / "params.yaml").write_text(yaml.safe_dump({**values, "datasets": ["haberman; touch run"]}))
    done = subprocess.run(
        [str(BIN / "dvc"), "repro", "--keep-going"],
        cwd=dvc_project,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": on_path(dvc_project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "a name has letters" in done.stderr + done.stdout
    assert not (dvc_project / "run").exists()


def test_names_and_paths_sent_by_a_server_are_not_used(server, cache, ldep, tmp_path):
    server.sets[43] = ("../../../evil", "Survival_status", haberman_arff())
    assert ldep("fetch", "haberman")[0] == 0
    assert not list(tmp_path.rglob("*evil*"))
    assert sorted(path.name for path in (cache / "datasets" / "43").iterdir()) == ["dataset.arff", "description.xml"]


HEAD = b"@RELATION r\n@ATTRIBUTE a numeric\n@ATTRIBUTE label {x,y}\n@DATA\n"


@pytest.mark.parametrize(("name", "head"), [("my.arff", HEAD), ("my.csv", b"a,label\n")])
def test_a_file_of_one_endless_line_is_refused_in_bounded_memory(project, name, head):
    """A sparse file: 1 GB of zeros that take no place on the disk. What is read ends with the limit."""
    path = project / name
    path.write_bytes(head)
    os.truncate(path, 2**30)
    # Memory is capped: 1 GB would not fit.
    code = (
        "import resource, sys; from pathlib import Path; from ldep_pipeline.data import frames; "
        "resource.setrlimit(resource.RLIMIT_DATA, (600 << 20, 600 << 20)); "
        "frames.read_frame(Path(sys.argv[1]), 'label')"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": on_path(Path(tables.__file__).parents[4]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, env=environment, check=False
    )
    number = head.count(b"\n") + 1
    assert f"UserError: {path}: line {number} is longer than 10,000,000 characters" in done.stderr


def test_an_endless_line_in_the_cache_is_refused(server, cache, ldep, monkeypatch):
    monkeypatch.setattr(tables, "LONGEST_LINE", 1000)
    fill_cache(cache, 43, "haberman", "Survival_status", haberman_arff() + b"30," * 1000)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert "is longer than 1,000 characters" in text
    assert "remove" in text
    assert not Path("data/raw").exists()


def test_lines_may_be_long_and_many(tmp_path, monkeypatch):
    path = tmp_path / "rows"
    path.write_bytes(b"x" * 999 + b"\r\n" + b"y" * 1000 + b"\n" + b"z\r" * 3_000_000)
    monkeypatch.setattr(tables, "LONGEST_LINE", 1000)
    assert sum(map(tables.count_lines, tables.blocks(path, Layout()))) == 2 + 3_000_000
    monkeypatch.setattr(tables, "LONGEST_LINE", 999)
    with pytest.raises(UserError, match="line 2 is longer than 999"):
        list(tables.blocks(path, Layout()))


def test_code_in_a_parquet_file_is_not_run(project, write_params, ldep, tmp_path):
    """Arrow once built a Python type from a pickle in a file's metadata."""

    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "code-was-run",))

    metadata = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": pickle.dumps(Bomb())}
    field = pa.field("size", pa.float64(), metadata=metadata)
    table = pa.Table.from_arrays(
        [pa.array(np.arange(20.0)), pa.array(["a", "b"] * 10)],
        schema=pa.schema([field, pa.field("label", pa.string())]),
    )
    pyarrow.parquet.write_table(table, "my.parquet")
    write_params(datasets=["mine"], own_data={"mine": {"path": "my.parquet", "target": "label"}})
    ldep("fetch", "mine")
    assert not (tmp_path / "code-was-run").exists()
