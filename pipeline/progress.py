"""A bar on a terminal; plain lines, from the stages' own log, elsewhere."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence


def over(names: Sequence[str], what: str) -> Iterator[str]:
    """Yield each name, showing how far the work has come."""
    log = logging.getLogger(__name__)
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
