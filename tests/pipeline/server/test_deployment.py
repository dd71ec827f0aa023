"""A server that is deployed: tokens, metrics, a new champion while it answers, and its end. One real server for all."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import requests

from ldep_pipeline.commands import token
from ldep_pipeline.server import request_log
from tests.support import malformed, registered, two_versions
from tests.support.servers import serving
from tests.support.two_versions import TwoVersions

pytestmark = pytest.mark.xdist_group("server")
PARQUET = {"Content-Type": malformed.PARQUET}
OPTIONS = ("--follow", "--follow-seconds", "1", "--tokens", "tokens.txt", "--max-rows", "50", "--max-seconds", "5")
RUNNING = "ldep_requests_running"
LOGGING = ("--log-requests", "log.jsonl", "--log-id", "ticket", "--log-answers")


@pytest.fixture(scope="module")
def versions(registered_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoVersions]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        made = two_versions.make(registered_project, tmp_path_factory.mktemp("deployed") / "project")
        with two_versions.store(made):
            yield made


@pytest.fixture(scope="module")
def secret(versions: TwoVersions) -> str:
    return token.run("tests", versions.folder / "tokens.txt")


@pytest.fixture(scope="module")
def server(versions: TwoVersions, secret: str) -> Iterator[tuple[str, int]]:
    with serving(versions.folder, registered.NAME, *OPTIONS, *LOGGING) as started:
        yield started


@pytest.fixture(scope="module")
def client(secret: str) -> requests.Session:
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {secret}"
    return session


def post(client: requests.Session, server: tuple[str, int], body: object) -> requests.Response:
    return client.post(f"{server[0]}/invocations", json=body, timeout=60)


def wait_for(client: requests.Session, server: tuple[str, int], versions: TwoVersions, version: str) -> None:
    """Until all workers answer with this version: connections are spread over them."""
    until = time.monotonic() + 120
    pattern = re.compile(r"^ldep_model_version\{.*\} (\S+)$", re.MULTILINE)
    while {float(found) for found in pattern.findall(numbers(client, server))} != {float(version)}:
        assert time.monotonic() < until, (versions.folder / log_name(server)).read_text()
        time.sleep(0.2)


def numbers(client: requests.Session, server: tuple[str, int]) -> str:
    answer = client.get(f"{server[0]}/metrics", timeout=60)
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    return answer.text


def number(text: str, sample: str) -> float:
    found = re.search(rf"^{re.escape(sample)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def log_name(server: tuple[str, int]) -> str:
    return f"server-{server[0].rpartition(':')[2]}.log"


def test_a_row_gets_the_answer_of_the_version_that_the_header_names(client, server, versions):
    for row in range(5):
        answer = post(client, server, versions.body(row))
        assert answer.headers["Ldep-Model-Version"] == "1"
        assert answer.json()["predictions"] == [versions.expected["1"][row]]


def test_without_a_valid_token_only_the_probes_answer(client, server, secret, versions):
    for path in ("ping", "health", "ready"):
        assert requests.get(f"{server[0]}/{path}", timeout=60).status_code == 200
    wrong = [None, "Bearer ", "Bearer x", f"Bearer {secret[:-1]}", f"Bearer {secret}0", f"Basic {secret}"]
    bodies = set()
    for header in wrong:
        headers = {"Authorization": header} if header else {}
        for path in ("metrics", "version", "openapi.json", "nothing"):
            answer = requests.get(f"{server[0]}/{path}", headers=headers, timeout=60)
            assert answer.status_code == 401
            bodies.add(answer.text)
        answer = requests.post(f"{server[0]}/invocations", json=versions.body(0), headers=headers, timeout=60)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="ldep"')
        bodies.add(answer.text)
    assert len(bodies) == 1
    assert secret not in (versions.folder / log_name(server)).read_text()


def test_the_numbers_are_those_of_all_workers(client, server, versions):
    before = numbers(client, server)
    unknown = {**versions.rows[0], "colour": "violet"}
    for _ in range(20):  # each on a connection of its own, so that both workers answer
        headers = {**client.headers, "Connection": "close"}
        body = {"dataframe_records": [unknown, versions.rows[1]]}
        answer = requests.post(f"{server[0]}/invocations", json=body, headers=headers, timeout=60)
        assert answer.status_code == 200
    assert post(client, server, {"wrong": 1}).status_code == 400
    after = numbers(client, server)
    grown = {
        'ldep_requests_total{route="/invocations",status="200"}': 20,
        'ldep_requests_total{route="/invocations",status="400"}': 1,
        'ldep_rows_total{version="1"}': 40,
        'ldep_taken_as_missing_total{column="colour"}': 20,
        'ldep_request_seconds_count{output="label"}': 20,
        'ldep_token_uses_total{name="tests"}': 22,
    }
    for sample, growth in grown.items():
        assert number(after, sample) - number(before, sample) == growth, sample
    assert number(after, RUNNING) == 1  # for the numbers themselves
    assert after.count("\nldep_model_version{") == 2


def test_parquet_gets_the_answers_of_csv(client, server, versions):
    frame, body = two_versions.frame(versions), io.BytesIO()
    frame.to_parquet(body)
    url = f"{server[0]}/invocations"
    parquet = client.post(url, data=body.getvalue(), headers=PARQUET, timeout=120)
    csv = client.post(url, data=frame.to_csv(index=False).encode(), headers={"Content-Type": "text/csv"}, timeout=60)
    assert parquet.json()["predictions"] == [answer["class"] for answer in versions.expected["1"]]
    assert csv.text == parquet.text
    broken = client.post(url, data=body.getvalue()[:-1], headers=PARQUET, timeout=60)
    assert broken.status_code == 400
    assert "not a readable Parquet file" in broken.json()["message"]


def test_the_limits_that_the_command_set_hold(client, server, versions):
    answer = post(client, server, {"dataframe_records": versions.rows * 2})
    assert answer.status_code == 413
    assert answer.json()["message"] == "The request has 80 rows; this server takes at most 50. Send them in parts."
    search = {"dataframe_records": versions.rows[:1], "params": {"output": "counterfactual", "seconds": 6}}
    assert post(client, server, search).json()["message"] == "params.seconds must be at most 5 on this server."


def test_the_document_describes_tokens_formats_and_limits(client, server):
    document = client.get(f"{server[0]}/openapi.json", timeout=60).json()
    assert document["security"] == [{"token": []}]
    assert document["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
    assert [path for path, methods in document["paths"].items() if methods.get("get", {}).get("security") == []] == [
        "/ping",
        "/health",
        "/ready",
    ]
    post = document["paths"]["/invocations"]["post"]
    assert set(post["requestBody"]["content"]) == {"application/json", "text/csv", malformed.PARQUET}
    assert {"200", "400", "401", "408", "413", "415", "500", "503"} <= set(post["responses"])
    assert document["components"]["schemas"]["Params"]["properties"]["seconds"]["maximum"] == 5


def test_the_log_has_the_id_the_version_and_what_was_answered(client, server, versions):
    row = {**versions.rows[3], "ticket": "T-17", "comment": "x"}
    assert post(client, server, {"dataframe_records": [row]}).json()["predictions"] == [
        versions.expected["1"][3]["class"]
    ]
    columns = list(versions.rows[0])
    entries = [entry for part in request_log.entries(versions.folder / "log.jsonl", columns) for entry in part]
    (entry,) = [entry for entry in entries if entry.id == "T-17"]
    assert (entry.version, entry.answer, entry.row) == ("1", versions.expected["1"][3], versions.rows[3])


def test_a_new_champion_is_taken_up_without_a_lost_or_a_wrong_answer(client, server, versions):
    wrong, counts, ended = [], {"1": 0, "2": 0}, threading.Event()

    def ask(first: int) -> None:
        with requests.Session() as session:
            session.headers.update(client.headers)
            row = first
            while not ended.is_set():
                row = (row + 1) % len(versions.rows)
                answer = post(session, server, versions.body(row))
                version = answer.headers.get("Ldep-Model-Version", "")
                if answer.status_code != 200 or answer.json()["predictions"] != [versions.expected[version][row]]:
                    wrong.append((answer.status_code, answer.text[:200]))
                else:
                    counts[version] += 1

    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(ask, first) for first in range(8)]
        try:
            for version in ("2", "1", "2"):
                versions.switch(version)
                wait_for(client, server, versions, version)
        finally:
            ended.set()
        for done in asking:
            done.result()
    assert not wrong
    assert min(counts.values()) > 0
    assert number(numbers(client, server), 'ldep_rows_total{version="2"}') >= counts["2"]


def test_a_version_that_is_not_as_it_was_signed_is_not_taken_up(client, server, versions):
    versions.switch("2")
    wait_for(client, server, versions, "2")
    kept = two_versions.damage(versions, "1")
    files = kept.with_name(registered.stored_files(registered.MODEL, "1").name)
    try:
        versions.switch("1")
        until = time.monotonic() + 120
        while number(numbers(client, server), "ldep_refused_versions_total") == 0:
            assert time.monotonic() < until
            time.sleep(0.2)
        assert post(client, server, versions.body(0)).headers["Ldep-Model-Version"] == "2"
        log = (versions.folder / log_name(server)).read_text()
        assert re.search(rf"version 2 goes on answering: models:/{registered.MODEL}/1 is not loaded: ", log)
    finally:
        shutil.rmtree(files)
        kept.rename(files)
        versions.switch("2")


def test_tokens_are_rotated_while_the_server_runs(client, server, versions, secret):
    file = versions.folder / "tokens.txt"
    new = token.run("next", file)
    header = {"Authorization": f"Bearer {new}"}
    assert requests.get(f"{server[0]}/version", headers=header, timeout=60).status_code == 200
    before = file.read_text()
    file.write_text("".join(line for line in before.splitlines(keepends=True) if not line.startswith("tests ")))
    try:
        assert client.get(f"{server[0]}/version", timeout=60).status_code == 401
        assert requests.get(f"{server[0]}/version", headers=header, timeout=60).status_code == 200
    finally:
        file.write_text(before)
    assert client.get(f"{server[0]}/version", timeout=60).status_code == 200


def test_a_server_that_is_stopped_finishes_what_runs_and_refuses_the_rest(versions, secret):
    """A request whose body has not arrived is running. The signal goes to all processes, as a service manager does."""
    headers = {"Authorization": f"Bearer {secret}"}
    options = ("--workers", "1", "--tokens", "tokens.txt", "--version", "2")
    with serving(versions.folder, registered.NAME, *options) as (address, process):
        body = json.dumps(versions.body(0)).encode()
        head = f"POST /invocations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {secret}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as running:
            running.sendall(head.encode() + body[:10])
            until = time.monotonic() + 60
            while number(requests.get(f"{address}/metrics", headers=headers, timeout=60).text, RUNNING) < 2:
                assert time.monotonic() < until
            os.killpg(process, signal.SIGTERM)
            while requests.get(f"{address}/ready", timeout=60).status_code == 200:
                assert time.monotonic() < until
            os.killpg(process, signal.SIGTERM)
            refused = requests.post(f"{address}/invocations", json=versions.body(0), headers=headers, timeout=60)
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
            assert requests.get(f"{address}/health", timeout=60).status_code == 200
            running.sendall(body[10:])
            answer = b"".join(iter(lambda: running.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["predictions"] == [versions.expected["2"][0]]
        psutil.wait_procs([psutil.Process(process)], timeout=60)
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{address}/health", timeout=60)
