"""An attack on the real `ldep serve`: no 5xx, no stack trace, good requests are answered meanwhile, memory is returned.

`tests/pipeline/server/test_server.py` has a part of it, for the default run.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import requests

from tests.support import killing, malformed, registered
from tests.support.servers import free_port, serving

pytestmark = pytest.mark.fault
REQUESTS, SOCKETS, LARGE_BODIES, LARGE_BODY = 5000, 200, 20, 100_000_000
LOG_MEGABYTES = 5
GROWTH = 1.1  # memory after the attack, relative to before
GOOD = {"dataframe_records": [{"width": 0.5, "größe (cm)": 1, "grade": "2", "colour": "red"}]}


@pytest.fixture(scope="module")
def registered_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return registered.make(tmp_path_factory.mktemp("registered"))


def memory(process: int) -> int:
    """Bytes of the server and its workers."""
    parent = psutil.Process(process)
    return sum(member.memory_info().rss for member in [parent, *parent.children(recursive=True)])


def attack(url: str, count: int, seed: int) -> dict[int, int]:
    """Send malformed requests; how often each status was answered."""
    statuses: dict[int, int] = {}
    with requests.Session() as session:
        for number, (body, kind) in enumerate(malformed.requests(count, seed)):
            headers = {} if kind is None else {"Content-Type": kind.encode()}
            answer = session.post(url, data=body, headers=headers, timeout=300)
            shown = f"request {number} of seed {seed}, {kind}: {body[:300]!r}: {answer.status_code} {answer.text[:300]}"
            assert answer.status_code < 500, shown
            assert "Traceback" not in answer.text, shown
            assert "stack_trace" not in answer.text, shown
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
    return statuses


def send_large_body(url: str) -> None:
    """100 MB, of which the server reads a third and answers 413; it may close before all was sent."""
    with contextlib.suppress(requests.ConnectionError):
        answer = requests.post(url, data=b" " * LARGE_BODY, headers={"Content-Type": "application/json"}, timeout=300)
        assert answer.status_code == 413


def slow_requests(address: str) -> Iterator[bytes]:
    """The beginnings of requests that never end: in the first line, in the headers, in the body, in a broken chunk."""
    host = address.encode()
    beginnings = [
        b"P",
        b"POST /invocations HTTP/1.1\r\nHost: " + host,
        b"POST /invocations HTTP/1.1\r\nHost: " + host + b"\r\nContent-Length: 1000000\r\n\r\n{",
        b"POST /invocations HTTP/1.1\r\nHost: " + host + b"\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n{",
        b"POST /invocations HTTP/1.1\r\nHost: " + host + b"\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ]
    for number in range(SOCKETS):
        yield beginnings[number % len(beginnings)]


class Client:
    """Sends a good request again and again, and remembers the answers and the longest time."""

    def __init__(self, url: str) -> None:
        self.url, self.answers, self.slowest = url, [], 0.0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self.ended.is_set():
            began = time.monotonic()
            answer = requests.post(self.url, json=GOOD, timeout=300)
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.answers.append((answer.status_code, answer.text))
            time.sleep(0.2)

    def __enter__(self) -> Client:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_an_attack_leaves_the_server_as_it_was(registered_project):
    with serving(registered_project, registered.NAME) as (address, process):
        url = f"{address}/invocations"
        expected = requests.post(url, json=GOOD, timeout=60).text
        attack(url, 300, seed=99)  # a warm-up with every kind of request, also the largest
        for _ in range(2):
            send_large_body(url)
        before = memory(process)
        host, port = address.removeprefix("http://").split(":")
        with Client(url) as client, contextlib.ExitStack() as open_sockets:
            for beginning in slow_requests(address.removeprefix("http://")):
                connection = open_sockets.enter_context(socket.create_connection((host, int(port))))
                connection.sendall(beginning)
            statuses = attack(url, REQUESTS, seed=1)
            for _ in range(LARGE_BODIES):
                send_large_body(url)
        assert sum(statuses.values()) == REQUESTS
        assert statuses[400] > REQUESTS // 3
        assert client.answers
        assert set(client.answers) == {(200, expected)}
        assert client.slowest < 60
        assert requests.post(url, json=GOOD, timeout=60).text == expected
        assert memory(process) < GROWTH * before, (before, memory(process))
        log = (registered_project / f"server-{port}.log").read_text()
        assert "Traceback" not in log


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_log_of_an_attacked_server_stays_whole_and_small(registered_project):
    options = ("--log-requests", "attacked.jsonl", "--log-megabytes", str(LOG_MEGABYTES))
    with serving(registered_project, registered.NAME, *options) as (address, _):
        attack(f"{address}/invocations", 500, seed=2)
    for name in ("attacked.jsonl", "attacked.jsonl.1"):
        content = (registered_project / name).read_bytes()
        assert len(content) <= LOG_MEGABYTES * 2**20
        assert all(set(json.loads(line)["row"]) == set(malformed.COLUMNS) for line in content.splitlines())


def test_a_port_that_does_not_exist_is_one_sentence(tmp_path):
    done = killing.run(tmp_path, "ldep", "serve", "banana", "--port", "99999", seconds=120)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "ldep serve: port 99999 cannot be used: it must be from 0 to 65535; choose another one with --port."
    ]


def test_a_port_in_use_is_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", free_port())) as other:
        port = other.getsockname()[1]
        done = killing.run(tmp_path, "ldep", "serve", "banana", "--port", str(port), seconds=120)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"ldep serve: port {port} cannot be used: address already in use; choose another one with --port."
    ]
