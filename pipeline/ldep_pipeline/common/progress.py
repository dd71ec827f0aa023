"""Progress: a bar on a terminal, log lines elsewhere. Ten seconds never pass without a sign of life."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

log = logging.getLogger(__name__)
BEAT = 2.0  # seconds between two looks at the clock
SILENCE = 7.5  # seconds without a line after which one is due: with a beat on top it is still less than ten
Clock = Callable[[], float]


def duration(seconds: float) -> str:
    """A time span for people.

    >>> duration(7.2), duration(100), duration(4000)
    ('7 s', '1 min 40 s', '1 h 7 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 and whole < 600 else "")
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Heartbeat:
    """Calls a function every few seconds, in a thread, while a `with` block runs: also during one long fit."""

    def __init__(self, beat: Callable[[], None], seconds: float = BEAT) -> None:
        self.beat, self.seconds = beat, seconds
        self.finished = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Heartbeat:
        self.thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.finished.set()
        self.thread.join(self.seconds)

    def _run(self) -> None:
        while not self.finished.wait(self.seconds):
            self.beat()


class Silence:
    """How long nothing has been written; `is_too_long` when a line is due."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self.last = clock()

    def is_too_long(self) -> bool:
        return self.clock() - self.last >= SILENCE

    def broken(self) -> None:
        """Something was written just now."""
        self.last = self.clock()


def over(names: Sequence[str], what: str) -> Iterator[str]:
    """Yield each name and show the progress."""
    if len(names) > 1 and sys.stderr.isatty():
        from tqdm import tqdm
        from tqdm.contrib.logging import logging_redirect_tqdm

        with logging_redirect_tqdm(), tqdm(names, desc=what, unit="data set") as bar:
            for name in bar:
                bar.set_postfix_str(name)
                yield name
        return
    for number, name in enumerate(names, start=1):
        if len(names) > 1:
            log.info("%s %d of %d: %s", what, number, len(names), name)
        yield name


class _Listener(logging.Handler):
    """Whatever is logged breaks the silence."""

    def __init__(self, silence: Silence) -> None:
        super().__init__()
        self.silence = silence

    def emit(self, record: logging.LogRecord) -> None:
        self.silence.broken()


_steps: list[Silence] = []  # of the steps that run, the innermost last


@contextmanager
def of_one_step(what: str, clock: Clock = time.monotonic, seconds: float = BEAT) -> Iterator[None]:
    """Write a line every few seconds while a step lasts that has no parts to count, unless something else is logged.

    Of steps inside each other the innermost speaks.
    """
    silence, started = Silence(clock), clock()
    listener, logger = _Listener(silence), logging.getLogger("ldep_pipeline")

    def beat() -> None:
        if silence.is_too_long() and _steps[-1:] == [silence]:
            log.info("%s: %s so far.", what, duration(clock() - started))

    _steps.append(silence)
    logger.addHandler(listener)
    try:
        with Heartbeat(beat, seconds):
            yield
    finally:
        logger.removeHandler(listener)
        _steps.remove(silence)


class StudyProgress:
    """Lines about a study: when the best value changes, and when the log has been silent for long."""

    def __init__(self, what: str, trials: int, clock: Clock = time.monotonic) -> None:
        self.what, self.trials, self.clock = what, trials, clock
        self.silence, self.started = Silence(clock), clock()
        self.done, self.before, self.best = 0, 0, float("nan")

    def trial_finished(self, done: int, best: float) -> None:
        if not self.done:
            self.before = done - 1  # those that an earlier run has finished
        self.done = done
        if best == best and best != self.best:
            self.best = best
            self.write()

    def beat(self) -> None:
        if self.silence.is_too_long():
            self.write()

    def write(self) -> None:
        elapsed, finished = self.clock() - self.started, self.done - self.before
        left = ""
        if finished and self.done < self.trials:
            left = f", about {duration(elapsed / finished * (self.trials - self.done))} left"
        best = f", best {self.best:.4f}" if self.best == self.best else ""
        log.info("%s: trial %d of %d%s, %s so far%s", self.what, self.done, self.trials, best, duration(elapsed), left)
        self.silence.broken()


@contextmanager
def of_study(what: str, trials: int) -> Iterator[Callable[[int, float], None]]:
    """Yield a function to call after each trial with the number of finished trials and the best value so far."""
    if not sys.stderr.isatty():
        progress = StudyProgress(what, trials)
        with Heartbeat(progress.beat):
            yield progress.trial_finished
        return
    from tqdm import tqdm

    with tqdm(desc=what, total=trials, unit="trial") as bar, Heartbeat(bar.refresh):

        def show(done: int, best: float) -> None:
            bar.set_postfix_str(f"best {best:.4f}", refresh=False)
            bar.update(done - bar.n)

        yield show
