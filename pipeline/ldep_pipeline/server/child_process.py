"""A process beside one of the server's, which answers one question after the other.

Each process of the server starts its own at the first question. A question and an answer are bytes after their number.
It ends with the process that started it, and one that fails, or takes too long, is ended and started again.
"""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import struct
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from typing import BinaryIO

LENGTH = struct.Struct(">Q")
ENDING = 10.0  # seconds until a process that is asked to end is killed


class ChildProcess:
    """The process that runs `python -m MODULE ARGUMENTS`. It answers a single question at a time."""

    def __init__(self, module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        # -P: the working folder is the user's, and nothing is imported from there.
        self.command = (sys.executable, "-P", "-m", module, *arguments)
        self.environment = environment
        self._process: Process | None = None

    async def ask(self, question: bytes, seconds: float, largest: int) -> bytes | None:
        """The answer; None if the process failed, or had none of at most `largest` bytes within these seconds."""
        process = await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        answer = None
        try:
            async with asyncio.timeout(seconds):
                process.stdin.write(LENGTH.pack(len(question)) + question)
                await process.stdin.drain()
                (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
                if length <= largest:
                    answer = await process.stdout.readexactly(length)
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            if answer is None:
                self._process = None
                if process.returncode is None:
                    process.kill()
        return answer

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(ENDING):
                await process.wait()
        except TimeoutError:
            process.kill()

    async def _started(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *self.command, stdin=PIPE, stdout=PIPE, env=self.environment and {**os.environ, **self.environment}
            )
        return self._process


def answer_all(prepare: Callable[[], Callable[[bytes], bytes]]) -> None:
    """Answer the questions on stdin until it is closed: then the server is gone, and an answer is of no use."""
    for number in (signal.SIGINT, signal.SIGTERM):  # these are for the server, which closes stdin when it has finished
        signal.signal(number, signal.SIG_IGN)
    questions: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, questions), daemon=True).start()
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # a library that prints must not disturb the answers
        answer = prepare()
        while True:
            content = answer(questions.get())
            answers.write(LENGTH.pack(len(content)) + content)
            answers.flush()


def _read(source: BinaryIO, questions: queue.Queue[bytes]) -> None:
    while head := source.read(LENGTH.size):
        (length,) = LENGTH.unpack(head)
        questions.put(source.read(length))
    os._exit(0)
