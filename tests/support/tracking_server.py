"""A tracking server that misbehaves in a chosen way."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BEHAVIOURS = ("hang", "trickle", "html", "401", "429", "500", "503")
WAIT = 3600  # seconds, in Retry-After


@contextlib.contextmanager
def behaving(behaviour: str) -> Iterator[str]:
    """Start it; its address."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            with contextlib.suppress(OSError):  # the client has given up
                if behaviour == "hang":
                    ended.wait()
                elif behaviour == "trickle":
                    self.trickle()
                elif behaviour == "html":
                    self.reply(200, b"<html>the page of another program</html>")
                else:
                    self.reply(int(behaviour), b"{}", {"Retry-After": str(WAIT)} if behaviour in ("429", "503") else {})

        do_GET = do_POST = answer

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
            while not ended.is_set():
                self.wfile.write(b" ")
                time.sleep(0.1)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
