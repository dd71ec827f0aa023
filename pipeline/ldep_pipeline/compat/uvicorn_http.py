"""What uvicorn's HTTP server lacks: a time limit for the head of a request, and an end without a traceback.

Reason: uvicorn waits for ever for a request whose headers arrive byte by byte. And if a chunk of a body is malformed,
it answers 400 while the application is still reading; the application's own answer then ends in a traceback. Its
supervisor keeps its end of the socket while the workers end, so that clients connect and get no answer.
Version: uvicorn 0.54, whose protocol and supervisor classes are not documented. The protocol can be chosen by the
option `http`.
Contract: tests/pipeline/compat/test_uvicorn_http.py has a server of this class on a port.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from typing import Any

import h11
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

HEAD = 20.0  # seconds in which the head of a request must arrive, from its first byte or the opening of a connection
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class StrictProtocol(H11Protocol):
    """One connection of a client."""

    _head_limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_limit()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._limit_head()
        else:
            self._end_limit()

    def send_400_response(self, msg: str) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the application does not answer too
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _limit_head(self) -> None:
        """Begin to count, unless a part of the same head has arrived before."""
        if self._head_limit is None:
            self._head_limit = self.loop.call_later(HEAD, self._refuse)

    def _end_limit(self) -> None:
        if self._head_limit is not None:
            self._head_limit.cancel()
            self._head_limit = None

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(TOO_SLOW)
            self.transport.close()


def bound(host: str, port: int) -> socket.socket:
    """A socket for `run`.

    It says that its protocol is TCP, which uvicorn's own does not: only then does asyncio send small packets at once.
    An answer in two packets, head and body, takes 40 ms without.
    """
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
    except BaseException:
        opened.close()
        raise
    opened.set_inheritable(True)
    return opened


class _Supervisor(Multiprocess):
    """Closes its own end of the socket with those of the workers: else it would take connections for nobody."""

    def terminate_all(self) -> None:
        super().terminate_all()
        for listening in self.sockets:
            listening.close()


def run(app: str, listening: socket.socket, workers: int, **options: Any) -> None:
    """Serve what the function `app` makes, on a bound socket, until interrupted; a worker that dies is replaced.

    A worker that ends with STARTUP_FAILURE ends the server, with the same exit code.
    """
    config = uvicorn.Config(app, factory=True, http=StrictProtocol, workers=workers, **options)
    supervisor = _Supervisor(config, sockets=[listening])
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C, after everything has ended
        supervisor.run()
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        sys.exit(STARTUP_FAILURE)
