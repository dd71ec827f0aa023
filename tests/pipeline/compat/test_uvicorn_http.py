"""The contract with uvicorn: what `uvicorn_http` changes of its connections, on a real port."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from ldep_pipeline.compat import uvicorn_http

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"


async def echo(scope, receive, send) -> None:
    """Read the body, as the scoring server does, and answer it."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def port(monkeypatch) -> Iterator[int]:
    monkeypatch.setattr(uvicorn_http, "HEAD", 1.0)
    with uvicorn_http.bound("127.0.0.1", 0) as listening:
        server = uvicorn.Server(uvicorn.Config(echo, http=uvicorn_http.StrictProtocol))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


@contextlib.contextmanager
def client(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        yield connection


def everything(connection: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def exchange(connection: socket.socket, body: bytes) -> bytes:
    connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    answer = b""
    while not answer.endswith(b"\r\n\r\n" + body):
        answer += connection.recv(65536)
    return answer


def test_a_request_is_answered_and_the_next_one_at_once(port):
    """A head and a body in two packets, of which Nagle's algorithm would hold the second back for 40 ms."""
    with client(port) as connection:
        exchange(connection, b"x")
        times = []
        for _ in range(20):
            began = time.perf_counter()
            exchange(connection, b"x" * 100)
            times.append(time.perf_counter() - began)
        assert sorted(times)[10] < 0.02


def test_an_accepted_connection_sends_small_packets_at_once():
    with uvicorn_http.bound("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # what asyncio asks before it sets TCP_NODELAY


@pytest.mark.parametrize("before", [b"", b"x"])
def test_a_head_that_arrives_byte_by_byte_is_given_up(port, before):
    """On a new connection, and after a good request on the same one. Bytes that keep coming do not postpone it."""
    with client(port) as connection:
        if before:
            exchange(connection, before)
        began = time.monotonic()
        connection.sendall(HEAD)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while time.monotonic() - began < 20:
                connection.sendall(b"a")
                time.sleep(0.1)
        assert time.monotonic() - began < 10


def test_a_slow_head_is_answered_408(port):
    with client(port) as connection:
        connection.sendall(HEAD)
        assert everything(connection).startswith(b"HTTP/1.1 408 ")


def test_a_body_may_take_longer_than_a_head(port):
    with client(port) as connection:
        connection.sendall(HEAD + b"Content-Length: 2\r\nConnection: close\r\n\r\na")
        time.sleep(1.5)
        connection.sendall(b"b")
        assert everything(connection).endswith(b"\r\n\r\nab")


@pytest.mark.parametrize("chunks", [b"zz\r\n", b"1\r\naX\r\n", b"1\r\na\r\n-1\r\n", b"0\r\nbroken header\r\n\r\n"])
def test_a_malformed_chunk_is_answered_400_without_a_traceback(port, chunks, caplog):
    with client(port) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        time.sleep(0.1)  # the application waits for the body by now
        connection.sendall(chunks)
        assert everything(connection).startswith(b"HTTP/1.1 400 ")
    time.sleep(0.1)
    assert not [record for record in caplog.records if record.exc_info]
    with client(port) as connection:
        assert exchange(connection, b"good").startswith(b"HTTP/1.1 200 ")
