"""Progress: a bar on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

log = logging.getLogger(__name__)


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


@contextmanager
def of_study(what: str, trials: int) -> Iterator[Callable[[int, float], None]]:
    """Yield a function to call after each trial with the number of finished trials and the best value so far.

    In a log it writes a line only when the best value improves.
    """
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
