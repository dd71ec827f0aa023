"""A bar on a terminal; plain lines, from the stages' own log, elsewhere."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

log = logging.getLogger(__name__)


def over(names: Sequence[str], what: str) -> Iterator[str]:
    """Yield each name, showing how far the work has come."""
    if len(names) > 1 and sys.stderr.isatty():
        from tqdm import tqdm
        from tqdm.contrib.logging import logging_redirect_tqdm

        with logging_redirect_tqdm(), tqdm(names, desc=what, unit="set") as bar:
            for name in bar:
                bar.set_postfix_str(name)
                yield name
        return
    for number, name in enumerate(names, start=1):
        if len(names) > 1:
            log.info("%s %d of %d: %s", what, number, len(names), name)
        yield name


@contextmanager
def of_study(what: str, trials: int) -> Iterator[Callable[[int, float], None]]:
    """A function that is told, after each trial, how many are done and the best value; in a log it says better ones."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(desc=what, total=trials, unit="trial") as bar:

            def show(done: int, best: float) -> None:
                bar.set_postfix_str(f"best {best:.4f}", refresh=False)
                bar.update(done - bar.n)

            yield show
        return
    shown = float("-inf")

    def say(done: int, best: float) -> None:
        nonlocal shown
        if best > shown:
            log.info("%s: trial %d of %d, best %.4f", what, done, trials, best)
            shown = best

    yield say
