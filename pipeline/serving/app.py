"""The HTTP server of a model, as an ASGI application.

It speaks MLflow's scoring protocol: POST /invocations, and GET /ping, /health and /version. A bad request gets a status
from 400 to 499 and one sentence, in MLflow's form: {"error_code": ..., "message": ...}. MLflow's own server answers
some of them with 500 or with a stack trace, before any model sees them, and has no setting or hook to change that:
https://github.com/mlflow/mlflow/issues/4897. It also guesses the types of CSV cells, and reads bodies of any size.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import signal
import threading
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from pipeline.serving import request_format, served_model, unknown_values
from pipeline.serving.request_format import BadRequest
from pipeline.serving.served_model import ServedModel
from pipeline.serving.unknown_values import Report

log = logging.getLogger(__name__)
# Environment variables, by which `ldep serve` configures its worker processes.
FOLDER = "LDEP_SERVED_FOLDER"  # the folder with the files of the model
STRICT = "LDEP_SERVED_STRICT"  # if not empty, requests are strict unless they say otherwise
TAKEN_AS_MISSING = "Ldep-Taken-As-Missing"  # response header: the number of rows by column
LARGEST_BODY = 32 * 2**20  # bytes
SLOWEST_BODY = 60  # seconds in which a body must have arrived
LONGEST_MESSAGE = 1000  # characters: a message may repeat a cell, and a cell may be megabytes
ERROR_CODES = {400: "BAD_REQUEST", 408: "REQUEST_TIMEOUT", 413: "REQUEST_TOO_LARGE", 415: "UNSUPPORTED_MEDIA_TYPE"}


def from_environment() -> Starlette:
    """What a worker process of the server runs."""
    _end_with_parent()
    return create(served_model.load(Path(os.environ[FOLDER])), strict=bool(os.environ.get(STRICT)))


def create(model: ServedModel, strict: bool = False) -> Starlette:
    """Return the application. `strict` is the default of the parameter with that name."""
    answers = Answers(model, strict)
    # As many at a time as there are processors: a request that computes holds its body and its table in memory.
    computing = asyncio.Semaphore(os.cpu_count() or 1)

    async def invocations(request: Request) -> Response:
        try:
            body = await _body(request)
            async with computing:
                return await asyncio.to_thread(answers.to, body, request.headers.get("content-type"))
        except BadRequest as error:
            return _error(error.status, ERROR_CODES[error.status], str(error))
        except ClientDisconnect:
            return _error(400, ERROR_CODES[400], "The client closed the connection.")
        except Exception:
            log.exception("a request could not be answered")
            return _error(500, "INTERNAL_ERROR", "The server could not answer; its log says why.")

    async def health(_: Request) -> Response:
        return Response("\n", media_type="application/json")

    async def version(_: Request) -> Response:
        return Response(served_model.installed_version(), media_type="text/plain")

    routes = [Route("/invocations", invocations, methods=["POST"]), Route("/version", version)]
    return Starlette(routes=[*routes, Route("/ping", health), Route("/health", health)])


class Answers:
    """The model's responses to requests, with a header for values that were taken as missing."""

    def __init__(self, model: ServedModel, strict: bool) -> None:
        self.model, self.strict = model, strict
        self.logged: set[str] = set()  # columns whose unknown values the log has mentioned

    def to(self, body: bytes, content_type: str | None) -> Response:
        rows, params = request_format.read(body, content_type)
        try:
            predictions, report = self.model.answer(rows, {"strict": self.strict, **params})
        except ValueError as error:
            raise BadRequest(str(error)) from None
        response = _json(200, {"predictions": predictions})
        if report:
            response.headers[TAKEN_AS_MISSING] = unknown_values.header(report)
            self._log(report)
        return response

    def _log(self, report: Report) -> None:
        """Log each column once per process: a client may send unknown values in every request."""
        new = sorted(set(report) - self.logged)
        if new:
            self.logged.update(new)
            log.warning("A request has unknown values, taken as missing, in: %s.", ", ".join(new))


async def _body(request: Request) -> bytes:
    """The whole body, unless it is too large or too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST_BODY:
                    raise BadRequest(f"The body is larger than {LARGEST_BODY} bytes; send the rows in parts.", 413)
    except TimeoutError:
        raise BadRequest(f"The body did not arrive within {SLOWEST_BODY} s.", 408) from None
    return bytes(body)


def _json(status: int, content: dict[str, Any]) -> Response:
    return Response(json.dumps(content), status, media_type="application/json")


def _error(status: int, code: str, message: str) -> Response:
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[:LONGEST_MESSAGE]} ..."
    return _json(status, {"error_code": code, "message": message})


def _end_with_parent() -> None:
    """End this worker when the process that supervises it is gone: nobody else would."""
    parent = multiprocessing.parent_process()
    if parent is None:  # a server of one process
        return

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
