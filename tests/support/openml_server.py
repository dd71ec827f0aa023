"""A local server that speaks as much of OpenML's API as the client needs, and can be told to fail.

Real sockets, real client: what is tested is what a bad day on the network does.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Fault = Callable[[BaseHTTPRequestHandler, bytes], None]

UNKNOWN_ID = (
    b'<oml:error xmlns:oml="http://openml.org/openml"><oml:code>111</oml:code>'
    b"<oml:message>Unknown dataset</oml:message></oml:error>"
)


def description(dataset_id: int, name: str, target: str, arff: bytes, url: str, md5: str | None = None) -> bytes:
    md5 = md5 or hashlib.md5(arff).hexdigest()
    return (
        f'<oml:data_set_description xmlns:oml="http://openml.org/openml"><oml:id>{dataset_id}</oml:id>'
        f"<oml:name>{name}</oml:name><oml:version>1</oml:version><oml:description>made by a test</oml:description>"
        f"<oml:format>ARFF</oml:format><oml:url>{url}</oml:url>"
        f"<oml:default_target_attribute>{target}</oml:default_target_attribute>"
        f"<oml:status>active</oml:status><oml:md5_checksum>{md5}</oml:md5_checksum></oml:data_set_description>"
    ).encode()


class OpenMLServer(ThreadingHTTPServer):
    """Serves the sets in `sets`; `faults["description"]` and `faults["data"]` are lists of faults, used up in turn."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sets: dict[int, tuple[str, str, bytes]] = {}
        self.faults: dict[str, list[Fault]] = {"description": [], "data": []}
        self.md5: str | None = None
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up on a hanging server is what the tests want: no traceback."""


class _Handler(BaseHTTPRequestHandler):
    server: OpenMLServer

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.requests.append(path)
        kind = "description" if path.startswith("/api/v1/xml/data/") else "data"
        dataset_id = int(path.rpartition("/")[2])
        if dataset_id not in self.server.sets:
            answer(self, UNKNOWN_ID, 412)
            return
        name, target, arff = self.server.sets[dataset_id]
        url = f"{self.server.url}/data/v1/download/{dataset_id}"
        body = arff if kind == "data" else description(dataset_id, name, target, arff, url, self.server.md5)
        faults = self.server.faults[kind]
        (faults.pop(0) if faults else answer)(self, body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def answer(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, announced: int | None = None) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "text/xml; charset=utf-8")
    handler.send_header("Content-Length", str(len(body) if announced is None else announced))
    handler.end_headers()
    handler.wfile.write(body)


def status(code: int) -> Fault:
    """An error page, as a proxy or web server in front of OpenML gives it: not even well-formed XML."""
    return lambda handler, body: answer(handler, b"<html><p>Sorry<br></html>", code)


def hang(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """Accept, and say nothing."""
    time.sleep(60)


def hang_in_body(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """Half the answer, then nothing, with the connection open."""
    answer(handler, body[: len(body) // 2], announced=len(body))
    handler.wfile.flush()
    time.sleep(60)


def trickle(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """A byte now and then: never silent for long, never done."""
    answer(handler, b"", announced=len(body))
    for byte in body:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        time.sleep(0.1)


def cut_short(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """Half of the announced answer, then the end of the connection."""
    answer(handler, body[: len(body) // 2], announced=len(body))
    handler.close_connection = True


@contextmanager
def running() -> Iterator[OpenMLServer]:
    server = OpenMLServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
