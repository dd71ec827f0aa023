"""Counterfactuals in a process of their own, so that requests for classes are never kept waiting by a search.

A search takes up to a minute of a processor, and holds Python's lock for most of it: in the process that answers
requests, no thread could go on beside it. So each process of the server starts one other at the first request for
counterfactuals. That one loads the model, has a lower priority, and answers one request after the other. Requests and
answers are lines of JSON. It ends with the process that started it.

Run as `python -m ldep_pipeline.server.search_process FOLDER`.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import queue
import signal
import sys
import threading
import time
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

import pandas as pd

from ldep_pipeline.serving import counterfactual_answers, served_model

MOST_WAITING = 16  # requests, beside the one that is searched for
LONGEST_WAIT = 30.0  # seconds until a search begins; then the request is refused
GRACE = 60.0  # seconds beyond its time limit after which a search has failed: starting takes some on a busy machine
LONGEST_LINE = 2**26  # bytes
NICENESS = 10  # such a process gets about a tenth of a processor that others want


class Unavailable(Exception):
    """No search can begin now; `retry_after` is the time in whole seconds after which one may."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = max(1, math.ceil(retry_after))


class Searches:
    """The queue before the process that searches with the model in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._slot = asyncio.Semaphore(1)
        self._waiting = 0
        self._ends = 0.0  # when the present search will have reached its limit, on time.monotonic()
        self._process: Process | None = None

    async def answer(self, rows: pd.DataFrame, params: dict[str, Any]) -> dict[str, Any]:
        """What `_answer` returns about these rows; Unavailable if too many other requests wait."""
        seconds = float(params.get("seconds", counterfactual_answers.DEFAULTS["seconds"]))
        if self._waiting >= MOST_WAITING:
            raise self._busy()
        self._waiting += 1
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                await self._slot.acquire()
        except TimeoutError:
            raise self._busy() from None
        finally:
            self._waiting -= 1
        try:
            self._ends = time.monotonic() + seconds
            return await self._ask({"rows": rows.to_dict(orient="list"), "params": params}, seconds + GRACE)
        finally:
            self._slot.release()

    def _busy(self) -> Unavailable:
        message = f"Too many requests for the output '{counterfactual_answers.OUTPUT}'; send it again later."
        return Unavailable(message, self._ends - time.monotonic())

    async def _ask(self, question: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a line, and return the answer. A process that fails, or that nobody waits for any more, is ended."""
        process = await self._started()
        answered = False
        try:
            async with asyncio.timeout(seconds):
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(question).encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
            answered = line.endswith(b"\n")
        except (TimeoutError, ConnectionError):
            pass
        finally:
            if not answered:
                self._process = None
                if process.returncode is None:
                    process.kill()
        if not answered:
            raise Unavailable("The search ended without an answer; ask for fewer rows or less time.", 1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def _started(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            # -P: the working folder is the user's, and nothing is imported from there.
            command = (sys.executable, "-P", "-m", __name__, str(self.folder))
            self._process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE)
        return self._process


def run(folder: Path) -> None:
    """Answer the lines of stdin on stdout until stdin is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which closes stdin
    os.nice(NICENESS)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # a solver that prints must not disturb the answers
        served = served_model.load(folder)
        while True:
            print(json.dumps(_answer(served, json.loads(lines.get()))), file=answers, flush=True)


def _read(lines: queue.Queue[str]) -> None:
    """Pass the lines on; at the end of stdin the server is gone, and a search is of no use any more."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def _answer(served: served_model.ServedModel, question: dict[str, Any]) -> dict[str, Any]:
    """The predictions and the number of unknown values by column, or the error of the request."""
    try:
        predictions, report = served.answer(pd.DataFrame(question["rows"], dtype=object), question["params"])
    except ValueError as error:
        return {"error": str(error)}
    return {"predictions": predictions, "unknown": {name: len(rows) for name, rows in report.items()}}


if __name__ == "__main__":
    run(Path(sys.argv[1]))
