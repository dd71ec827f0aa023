"""Counterfactuals in a process of their own, so that requests for classes are never kept waiting by a search.

A search takes up to a minute of a processor, and holds Python's lock for most of it: in the process that answers
requests, no thread could go on beside it. So each process of the server starts one other at the first request for
counterfactuals. That one loads the model, has a lower priority, and answers one request after the other.

Run as `python -m ldep_pipeline.server.search_process FOLDER`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from ldep_pipeline.server.child_process import ChildProcess, answer_all
from ldep_pipeline.server.refusals import Unavailable
from ldep_pipeline.serving import counterfactual_answers, served_model

MOST_WAITING = 16  # requests, beside the one that is searched for
LONGEST_WAIT = 30.0  # seconds until a search begins; then the request is refused
GRACE = 60.0  # seconds beyond its time limit after which a search has failed: starting takes some on a busy machine
LONGEST_ANSWER = 2**26  # bytes
NICENESS = 10  # such a process gets about a tenth of a processor that others want


class Searches:
    """The queue before the process that searches with the model in `folder`.

    `count` is told how the numbers of running searches and of waiting requests change.
    """

    def __init__(self, folder: Path, count: Callable[[int, int], None]) -> None:
        self.count = count
        self._waiting = 0
        self._slot = asyncio.Semaphore(1)
        self._ends = 0.0  # when the present search will have reached its limit, on time.monotonic()
        self._process = ChildProcess(__name__, str(folder))

    async def answer(self, rows: pd.DataFrame, params: dict[str, Any]) -> dict[str, Any]:
        """What `_answer` returns about these rows; Unavailable if too many other requests wait."""
        seconds = float(params["seconds"])
        if self._waiting >= MOST_WAITING:
            raise self._busy()
        self._waiting += 1
        self.count(0, 1)
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                await self._slot.acquire()
        except TimeoutError:
            raise self._busy() from None
        finally:
            self._waiting -= 1
            self.count(0, -1)
        self.count(1, 0)
        try:
            self._ends = time.monotonic() + seconds
            question = json.dumps({"rows": rows.to_dict(orient="list"), "params": params}).encode()
            answer = await self._process.ask(question, seconds + GRACE, LONGEST_ANSWER)
        finally:
            self.count(-1, 0)
            self._slot.release()
        if answer is None:
            raise Unavailable("The search ended without an answer; ask for fewer rows or less time.", 1)
        found: dict[str, Any] = json.loads(answer)
        return found

    async def close(self) -> None:
        await self._process.close()

    def _busy(self) -> Unavailable:
        message = f"Too many requests for the output '{counterfactual_answers.OUTPUT}'; send it again later."
        return Unavailable(message, self._ends - time.monotonic())


def run(folder: Path) -> None:
    os.nice(NICENESS)

    def prepare() -> Callable[[bytes], bytes]:
        served = served_model.load(folder)
        return lambda question: json.dumps(_answer(served, json.loads(question))).encode()

    answer_all(prepare)


def _answer(served: served_model.ServedModel, question: dict[str, Any]) -> dict[str, Any]:
    """The predictions and the number of unknown values by column, or the error of the request."""
    try:
        predictions, report = served.answer(pd.DataFrame(question["rows"], dtype=object), question["params"])
    except ValueError as error:
        return {"error": str(error)}
    return {"predictions": predictions, "unknown": {name: len(rows) for name, rows in report.items()}}


if __name__ == "__main__":
    run(Path(sys.argv[1]))
