"""What happens to a request before its route: tokens, the limit of requests at a time, and the end of the server.

It also counts all requests. It is an ASGI application around another one.
"""

from __future__ import annotations

import asyncio
import json
import time

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ldep_pipeline.server import metrics
from ldep_pipeline.server.openapi import PROBES
from ldep_pipeline.server.settings import Limits
from ldep_pipeline.server.tokens import Tokens

INVOCATIONS = "/invocations"
ROUTES = frozenset((INVOCATIONS, *PROBES, "/metrics", "/version", "/openapi.json"))
LONGEST_MESSAGE = 1000  # characters: a message may repeat a cell, and a cell may be megabytes
ERROR_CODES = {
    400: "BAD_REQUEST",
    401: "UNAUTHENTICATED",
    408: "REQUEST_TIMEOUT",
    413: "REQUEST_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    500: "INTERNAL_ERROR",
    503: "TEMPORARILY_UNAVAILABLE",
}


def error(status: int, message: str, retry_after: int | None = None) -> Response:
    """A response in MLflow's form."""
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[:LONGEST_MESSAGE]} ..."
    content = json.dumps({"error_code": ERROR_CODES[status], "message": message})
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Response(content, status, headers, media_type="application/json")


class Gate:
    """Lets requests through. `tokens` is None for a server that asks for none."""

    def __init__(self, inside: ASGIApp, tokens: Tokens | None, limits: Limits) -> None:
        self.inside, self.tokens, self.limits = inside, tokens, limits
        self.running = 0  # requests for rows
        self.draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inside(scope, receive, send)
            return
        status = 500

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        path = scope["path"]
        metrics.running.inc()
        self.running += path == INVOCATIONS
        try:
            await (self._refusal(scope, path) or self.inside)(scope, receive, observed)
        finally:
            self.running -= path == INVOCATIONS
            metrics.running.dec()
            metrics.requests.labels(path if path in ROUTES else "other", str(status)).inc()

    async def drain(self, seconds: float) -> None:
        """Refuse new requests, and return when the others are answered, or after so many seconds."""
        self.draining = True
        until = time.monotonic() + seconds
        while self.running and time.monotonic() < until:
            await asyncio.sleep(0.05)

    def _refusal(self, scope: Scope, path: str) -> Response | None:
        if path in PROBES:
            return None
        if self.tokens is not None:
            # All reasons have the same answer.
            presented = Headers(scope=scope).getlist("authorization")
            holder = self.tokens.holder(presented[0]) if len(presented) == 1 else None
            if holder is None:
                response = error(401, "This server needs a valid token, in the header 'Authorization: Bearer TOKEN'.")
                response.headers["WWW-Authenticate"] = 'Bearer realm="ldep"'
                return response
            metrics.token_uses.labels(holder).inc()
        if path != INVOCATIONS:
            return None
        if self.draining:
            response = error(503, "The server is being stopped; send the request again.", 1)
            response.headers["Connection"] = "close"
            return response
        if self.running > self.limits.concurrent:
            return error(503, f"The server has {self.limits.concurrent} requests already; send it again later.", 1)
        return None
