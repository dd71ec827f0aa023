"""The HTTP server of a model, as an ASGI application.

It speaks MLflow's scoring protocol: POST /invocations, and GET /ping, /health and /version. GET /openapi.json describes
the model's columns.

A bad request gets a status from 400 to 499 and one sentence, in MLflow's form: {"error_code": ..., "message": ...}.
MLflow's own server answers some of them with 500 or with a stack trace, before any model sees them, and has no setting
or hook to change that: https://github.com/mlflow/mlflow/issues/4897. It also guesses the types of CSV cells, and reads
bodies of any size.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import signal
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ldep.table import CellError
from ldep_pipeline.server import openapi, request_format
from ldep_pipeline.server.request_format import BadRequest, Rows
from ldep_pipeline.server.request_log import RequestLog
from ldep_pipeline.server.search_process import Searches, Unavailable
from ldep_pipeline.serving import counterfactual_answers, served_model
from ldep_pipeline.serving.served_model import ServedModel
from ldep_pipeline.serving.training_profile import TrainingProfile

log = logging.getLogger(__name__)
# Environment variables, by which `ldep serve` configures its worker processes.
FOLDER = "LDEP_SERVED_FOLDER"  # the folder with the files of the model
STRICT = "LDEP_SERVED_STRICT"  # if not empty, requests are strict unless they say otherwise
LOG, LOG_SIZE = "LDEP_REQUEST_LOG", "LDEP_REQUEST_LOG_SIZE"  # the file for the rows of requests, and its bytes
TAKEN_AS_MISSING = "Ldep-Taken-As-Missing"  # response header: the number of rows by column
LONGEST_HEADER = 2000  # characters; servers and proxies refuse headers of more than some thousand
LARGEST_BODY = 32 * 2**20  # bytes
LARGE_BODY = 2**18  # bytes: one of these at a time, so that small ones never wait for several
LARGEST_ANSWER = 64 * 2**20  # bytes: explanations of a small row may take kilobytes
PART = 1000  # rows that are answered at a time, so that few of them are a table in memory
SLOWEST_BODY = 60  # seconds in which a body must have arrived
LONGEST_MESSAGE = 1000  # characters: a message may repeat a cell, and a cell may be megabytes
ERROR_CODES = {
    400: "BAD_REQUEST",
    408: "REQUEST_TIMEOUT",
    413: "REQUEST_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    503: "TEMPORARILY_UNAVAILABLE",
}


def configure(folder: Path, strict: bool, request_log: RequestLog | None) -> None:
    """Set the environment from which worker processes create the application."""
    os.environ[FOLDER] = str(folder)
    os.environ[STRICT] = "true" if strict else ""
    os.environ[LOG] = str(request_log.path) if request_log is not None else ""
    os.environ[LOG_SIZE] = str(request_log.size) if request_log is not None else ""


def from_environment() -> Starlette:
    """What a worker process of the server runs."""
    _end_with_parent()
    folder = Path(os.environ[FOLDER])
    request_log = RequestLog(Path(os.environ[LOG]), int(os.environ[LOG_SIZE])) if os.environ.get(LOG) else None
    model, profile = served_model.load(folder), TrainingProfile.load(folder)
    return create(model, profile, Searches(folder), strict=bool(os.environ.get(STRICT)), request_log=request_log)


def example(model: ServedModel, profile: TrainingProfile | None) -> dict[str, Any]:
    """Return a row to try the model with: a real one if the profile has one, else typical values."""
    return (profile and profile.example) or model.encoder.typical_row()


def create(
    model: ServedModel,
    profile: TrainingProfile | None,
    searches: Searches,
    strict: bool = False,
    request_log: RequestLog | None = None,
) -> Starlette:
    """Return the application. `strict` is the default of the parameter with that name."""
    answers = Answers(model, strict, request_log)
    description = openapi.describe(model, example(model, profile), served_model.installed_version())
    # As many at a time as there are processors: a request that computes holds its body and its table in memory.
    computing, computing_large = asyncio.Semaphore(os.cpu_count() or 1), asyncio.Semaphore(1)

    async def invocations(request: Request) -> Response:
        try:
            body = await _body(request)
            async with computing_large if len(body) > LARGE_BODY else computing:
                asked = await asyncio.to_thread(answers.read, body, request.headers.get("content-type"))
                if not asked.is_search:
                    return await asyncio.to_thread(answers.to, asked)
            found = await searches.answer(asked.rows.frame(), asked.params)
            return answers.after_search(asked, found)
        except BadRequest as error:
            return _error(error.status, ERROR_CODES[error.status], str(error))
        except Unavailable as error:
            response = _error(503, ERROR_CODES[503], str(error))
            response.headers["Retry-After"] = str(error.retry_after)
            return response
        except ClientDisconnect:
            return _error(400, ERROR_CODES[400], "The client closed the connection.")
        except Exception:
            log.exception("a request could not be answered")
            return _error(500, "INTERNAL_ERROR", "The server could not answer; its log says why.")

    async def health(_: Request) -> Response:
        return Response("\n", media_type="application/json")

    async def version(_: Request) -> Response:
        return Response(served_model.installed_version(), media_type="text/plain")

    async def schema(_: Request) -> Response:
        return _json(200, description)

    return Starlette(
        routes=[
            Route("/invocations", invocations, methods=["POST"]),
            Route("/version", version),
            Route("/ping", health),
            Route("/health", health),
            Route("/openapi.json", schema),
        ]
    )


@dataclass(frozen=True)
class Asked:
    """A request that has been read: its rows and its parameters, defaults included."""

    rows: Rows
    params: dict[str, Any]

    @property
    def is_search(self) -> bool:
        return self.params.get("output") == counterfactual_answers.OUTPUT


class Answers:
    """The model's responses to requests, with a header for values that were taken as missing."""

    def __init__(self, model: ServedModel, strict: bool, request_log: RequestLog | None = None) -> None:
        self.model, self.strict, self.request_log = model, strict, request_log
        self.reported: set[str] = set()  # columns whose unknown values the server's log has mentioned

    def read(self, body: bytes, content_type: str | None) -> Asked:
        rows, params = request_format.read(body, content_type, self.model.encoder.columns_)
        asked = Asked(rows, {"strict": self.strict, **params})
        if asked.is_search:
            try:
                counterfactual_answers.check(rows.count, params)
            except ValueError as error:
                raise BadRequest(str(error)) from None
        return asked

    def to(self, asked: Asked) -> Response:
        """Answer some rows after the others: tables and answers of all of them would be many times the body."""
        content, unknown = bytearray(), Counter[str]()
        for first, part in asked.rows.parts(PART):
            try:
                predictions, report = self.model.answer(part, asked.params)
            except CellError as error:
                raise BadRequest(str(CellError(first + error.row, error.column, error.reason))) from None
            except ValueError as error:
                raise BadRequest(str(error)) from None
            content += b", " * bool(content and predictions) + json.dumps(predictions)[1:-1].encode()
            if len(content) > LARGEST_ANSWER:
                raise BadRequest(f"The answer is larger than {LARGEST_ANSWER} bytes; send the rows in parts.", 413)
            unknown.update({name: len(rows) for name, rows in report.items()})
        return self._response(asked, bytes(content), unknown)

    def after_search(self, asked: Asked, found: dict[str, Any]) -> Response:
        """The response to a request for counterfactuals, from what the process that searches has returned."""
        if "error" in found:
            raise BadRequest(found["error"])
        return self._response(asked, json.dumps(found["predictions"])[1:-1].encode(), found["unknown"])

    def _response(self, asked: Asked, predictions: bytes, unknown: dict[str, int]) -> Response:
        response = Response(b'{"predictions": [' + predictions + b"]}", media_type="application/json")
        if unknown:
            response.headers[TAKEN_AS_MISSING] = missing_header(unknown)
            self._report(unknown)
        self._record(asked.rows)
        return response

    def _record(self, rows: Rows) -> None:
        """Append the rows to the log of requests. A full disk must not keep the server from answering."""
        if self.request_log is None:
            return
        try:
            for _, part in rows.parts(PART):
                self.request_log.append(part, self.model.encoder.columns_, version="")
        except OSError as error:
            log.error("%s: rows of a request could not be logged: %s.", self.request_log.path, error.strerror)

    def _report(self, unknown: dict[str, int]) -> None:
        """Log each column once per process: a client may send unknown values in every request."""
        new = sorted(set(unknown) - self.reported)
        if new:
            self.reported.update(new)
            log.warning("A request has unknown values, taken as missing, in: %s.", ", ".join(new))


def missing_header(unknown: dict[str, int]) -> str:
    """Return the number of rows by column, as JSON in ASCII, short enough for an HTTP header."""
    counts: dict[str, int] = {}
    for name, rows in unknown.items():
        longer = {**counts, name: rows}
        if len(json.dumps(longer)) > LONGEST_HEADER:
            break
        counts = longer
    return json.dumps(counts)


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
