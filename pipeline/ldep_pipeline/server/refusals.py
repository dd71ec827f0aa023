"""Why a request is not answered."""

from __future__ import annotations

import math


class BadRequest(ValueError):
    """The request is wrong; `status` is the HTTP status of the answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Unavailable(Exception):
    """The request cannot be answered now; `retry_after` is the time in whole seconds after which it may be."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = max(1, math.ceil(retry_after))
