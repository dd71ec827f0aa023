"""The HTTP server of a model, as an ASGI application.

It speaks MLflow's scoring protocol: POST /invocations, and GET /ping, /health and /version. GET /ready says whether it
takes requests, /metrics what it has done, and /openapi.json describes the model's columns.

A bad request gets a status from 400 to 499 and one sentence, in MLflow's form: {"error_code": ..., "message": ...}.
MLflow's own server answers some of them with 500 or with a stack trace, before any model sees them, and has no setting
or hook to change that: https://github.com/mlflow/mlflow/issues/4897. It also guesses the types of CSV cells, and reads
bodies of any size.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ldep_pipeline.compat.uvicorn_http import STARTUP_FAILURE
from ldep_pipeline.server import metrics, parquet_process, request_format, settings, tokens
from ldep_pipeline.server.answers import VERSION, Answers, Asked
from ldep_pipeline.server.deployed import Deployed, Version
from ldep_pipeline.server.gate import INVOCATIONS, Gate, error
from ldep_pipeline.server.parquet_process import ParquetReader
from ldep_pipeline.server.refusals import BadRequest, Unavailable
from ldep_pipeline.server.request_format import PARQUET, Rows
from ldep_pipeline.server.tokens import Tokens
from ldep_pipeline.serving import served_model
from ldep_pipeline.serving.served_model import UnusableModel

log = logging.getLogger(__name__)
LARGE_BODY = 2**18  # bytes: one of these at a time, so that small ones never wait for several
SLOWEST_BODY = 60  # seconds in which a body must have arrived


def from_environment() -> Gate:
    """What a worker process of the server runs."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    _end_with_parent()
    values = settings.from_environment()
    try:
        deployed = Deployed(values)
    except UnusableModel as problem:  # the supervisor could load it: nobody can go on
        log.error("%s", problem)
        sys.exit(STARTUP_FAILURE)
    known = Tokens(values.tokens, tokens.from_environment()) if values.secured else None
    return create(deployed, known)


def create(deployed: Deployed, known: Tokens | None) -> Gate:
    """Return the application."""
    reader = ParquetReader(deployed.settings.limits.body)
    handler = _Invocations(deployed, reader)

    async def health(_: Request) -> Response:
        return Response("\n", media_type="application/json")

    async def ready(_: Request) -> Response:
        if gate.draining:
            return error(503, "The server is being stopped.", 1)
        return Response("\n", media_type="application/json")

    async def version(_: Request) -> Response:
        return Response(served_model.installed_version(), media_type="text/plain")

    async def schema(_: Request) -> Response:
        return Response(json.dumps(deployed.version.description), media_type="application/json")

    async def numbers(_: Request) -> Response:
        return Response(await asyncio.to_thread(metrics.text), media_type=metrics.CONTENT_TYPE)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        following = asyncio.create_task(deployed.follow()) if deployed.settings.follow else None
        _drain_on_sigterm(gate, deployed.settings.grace)
        yield
        if following is not None:
            following.cancel()
        await deployed.close()
        await reader.close()

    routes = Starlette(
        routes=[
            Route(INVOCATIONS, handler.respond, methods=["POST"]),
            Route("/version", version),
            Route("/ping", health),
            Route("/health", health),
            Route("/ready", ready),
            Route("/metrics", numbers),
            Route("/openapi.json", schema),
        ],
        lifespan=lifespan,
    )
    gate = Gate(routes, known, deployed.settings.limits)
    return gate


class _Invocations:
    """POST /invocations."""

    def __init__(self, deployed: Deployed, reader: ParquetReader) -> None:
        self.deployed, self.reader = deployed, reader
        self.largest = deployed.settings.limits.body
        # As many at a time as there are processors: a request that computes holds its body and its table in memory.
        self._computing, self._computing_large = asyncio.Semaphore(os.cpu_count() or 1), asyncio.Semaphore(1)

    async def respond(self, request: Request) -> Response:
        began = time.perf_counter()
        try:
            kind = request_format.media_type(request.headers.get("content-type"))
            body = await self._body(request)
            with self.deployed.held() as version:
                try:
                    response, output = await self._answer(version, body, kind)
                except Exception as problem:
                    response, output = _failed(problem), None
                response.headers[VERSION] = version.source.version
        except Exception as problem:
            return _failed(problem)
        if output is not None:
            metrics.seconds.labels(output).observe(time.perf_counter() - began)
        return response

    async def _answer(self, version: Version, body: bytes, kind: str) -> tuple[Response, str]:
        """The response of a version, and the output that it has."""
        answers = version.answers
        async with self._computing_large if len(body) > LARGE_BODY else self._computing:
            asked = await self._asked(answers, body, kind)
            if not asked.is_search:
                return await asyncio.to_thread(answers.to, asked), asked.output
        found = await version.searches.answer(asked.rows.frame(), asked.params)
        return await asyncio.to_thread(answers.after_search, asked, found), asked.output

    async def _asked(self, answers: Answers, body: bytes, kind: str) -> Asked:
        if kind != PARQUET:
            return await asyncio.to_thread(answers.read, body, kind)
        table = await self.reader.read(body, answers.columns)
        rows = Rows(table.num_rows, table.column_names, parquet_process.cells(table))
        return answers.asked(rows, {})

    async def _body(self, request: Request) -> bytes:
        """The whole body, unless it is too large or too slow."""
        body = bytearray()
        try:
            async with asyncio.timeout(SLOWEST_BODY):
                async for part in request.stream():
                    body += part
                    if len(body) > self.largest:
                        raise BadRequest(f"The body is larger than {self.largest} bytes; send the rows in parts.", 413)
        except TimeoutError:
            raise BadRequest(f"The body did not arrive within {SLOWEST_BODY} s.", 408) from None
        return bytes(body)


def _failed(problem: Exception) -> Response:
    if isinstance(problem, BadRequest):
        return error(problem.status, str(problem))
    if isinstance(problem, Unavailable):
        return error(503, str(problem), problem.retry_after)
    if isinstance(problem, ClientDisconnect):
        return error(400, "The client closed the connection.")
    log.error("a request could not be answered", exc_info=problem)
    return error(500, "The server could not answer; its log says why.")


def _drain_on_sigterm(gate: Gate, grace: float) -> None:
    """On SIGTERM, end when the requests that are being answered have their answers.

    uvicorn's own handler would stop listening at once, while the supervisor's socket goes on to take connections that
    nobody would ever answer. It is called after that.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    end: Any = signal.getsignal(signal.SIGTERM)

    async def drain() -> None:
        await gate.drain(grace)
        end(signal.SIGTERM, None)

    tasks: list[asyncio.Task[None]] = []  # that of the first signal; a service manager may send it to all processes

    def begin() -> None:
        if not tasks:
            tasks.append(asyncio.get_running_loop().create_task(drain()))

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, begin)


def _end_with_parent() -> None:
    """End this worker when the process that supervises it is gone: nobody else would."""
    parent = multiprocessing.parent_process()
    if parent is None:  # a server of one process
        return

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
