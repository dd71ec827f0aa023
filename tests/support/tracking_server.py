"""A tracking server that misbehaves in a chosen way: from the start, or from a chosen request on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests

# "-bare": without Retry-After.
BEHAVIOURS = ("hang", "trickle", "html", "401", "429", "429-bare", "500", "503", "503-bare", "close")
WAIT = 3600  # seconds, in Retry-After
FORWARDED = ("content-type", "accept", "x-mlflow-auth-source", "content-range")


class TrackingServer:
    """Answers as `behaviour` says. With an `upstream`, the first `good_requests` are answered by that server."""

    def __init__(self, behaviour: str, upstream: str | None = None, good_requests: int = 0) -> None:
        self.behaviour, self.upstream, self.good_requests = behaviour, upstream, good_requests
        self.count = 0
        self.first_request: float | None = None  # on time.monotonic()
        self.url = ""
        self.ended = threading.Event()
        self._lock = threading.Lock()

    def next_is_good(self) -> bool:
        with self._lock:
            self.count += 1
            if self.first_request is None:
                self.first_request = time.monotonic()
            return self.upstream is not None and self.count <= self.good_requests

    def heal(self) -> None:
        """From now on, forward every request."""
        self.good_requests = 10**9


@contextlib.contextmanager
def behaving(behaviour: str) -> Iterator[str]:
    """Start a server that misbehaves from the start; its address."""
    with started(TrackingServer(behaviour)) as server:
        yield server.url


@contextlib.contextmanager
def started(state: TrackingServer) -> Iterator[TrackingServer]:
    class Handler(_Handler):
        server_state = state

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server_state: TrackingServer

    def answer(self) -> None:
        with contextlib.suppress(OSError):  # the client has given up
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.server_state.next_is_good():
                self.forward(body)
            else:
                self.misbehave(self.server_state.behaviour)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def forward(self, body: bytes) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() in FORWARDED}
        url = f"{self.server_state.upstream}{self.path}"
        answer = requests.request(self.command, url, data=body, headers=headers, timeout=300)
        self.reply(answer.status_code, answer.content, {"Content-Type": answer.headers.get("Content-Type", "")})

    def misbehave(self, behaviour: str) -> None:
        if behaviour == "hang":
            self.server_state.ended.wait()
        elif behaviour == "trickle":
            self.trickle()
        elif behaviour == "html":
            self.reply(200, b"<html>the page of another program</html>")
        elif behaviour == "close":
            self.close_connection = True
        else:
            status, _, bare = behaviour.partition("-")
            asks_to_wait = status in ("429", "503") and not bare
            self.reply(int(status), b"{}", {"Retry-After": str(WAIT)} if asks_to_wait else {})

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def trickle(self) -> None:
        """A byte now and then, so that no timeout between bytes is ever reached."""
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.server_state.ended.is_set():
            self.wfile.write(b" ")
            time.sleep(0.1)

    def log_message(self, *_: object) -> None:
        pass
