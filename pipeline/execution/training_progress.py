"""How far training is: on a terminal a line a model with a bar, elsewhere a line when a model is done."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pipeline.config.params import Params
from pipeline.execution.plan import Plan
from pipeline.execution.scheduler import Listener

log = logging.getLogger(__name__)


class LogProgress(Listener):
    """A plain line for each model, when all its folds are done."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.began = plan, time.monotonic()
        self.scores: dict[str, list[float | None]] = {model: [] for model in plan.models}
        self.reused = dict.fromkeys(plan.models, 0)

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        self.scores[model].append(record.get("metrics", {}).get("accuracy"))
        self.reused[model] += stored
        if len(self.scores[model]) == self.plan.folds:
            self.show(f"{self.plan.dataset}, {model}: {self.words(model)}")

    def words(self, model: str) -> str:
        good = [100 * score for score in self.scores[model] if score is not None]
        failed = self.plan.folds - len(good)
        text = f"{np.mean(good):.1f} ± {np.std(good, ddof=1) if len(good) > 1 else 0:.1f}" if good else "no result"
        if failed:
            text += f", FAILED on {failed} of {self.plan.folds} folds"
        if self.reused[model]:
            text += f" ({self.reused[model]} of {self.plan.folds} folds reused)"
        return f"{text}, {time.monotonic() - self.began:.0f} s since the start"

    def show(self, text: str) -> None:
        log.info(text)


class TerminalProgress(LogProgress):
    """A bar for each model: trials and fits done, time left, best score so far."""

    def __init__(self, plan: Plan, params: Params) -> None:
        super().__init__(plan)
        from tqdm import tqdm

        self.bars = {}
        for model in plan.models:
            entry = params.classifiers[model]
            trials = (entry.trials or params.tuning.trials) if entry.search else 0
            # At the next free line: with several sets the first one has the bar over the sets.
            self.bars[model] = tqdm(
                total=plan.folds * (trials + 1),
                desc=f"{plan.dataset} {model}",
                bar_format="{desc:<32.32} {bar:24} {n_fmt}/{total_fmt} [{elapsed}<{remaining}]{postfix}",
            )

    def trial_finished(self, model: str, fold: int, best: float) -> None:
        if model in self.bars:
            self.bars[model].set_postfix_str(f"best inner {100 * best:.1f}", refresh=False)
            self.bars[model].update()

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        super().fit_finished(model, fold, record, stored)
        bar, done = self.bars[model], len(self.scores[model])
        good = [score for score in self.scores[model] if score is not None]
        # Trials that were in the journal already are not told of: a finished fold sets the count right.
        bar.n = max(bar.n, done * bar.total // self.plan.folds)
        bar.set_postfix_str(f"best {100 * max(good):.1f}" if good else "failed")

    def show(self, text: str) -> None:
        """The bar says it."""

    def close(self) -> None:
        for bar in self.bars.values():
            bar.close()


@contextmanager
def listening(plan: Plan, params: Params) -> Iterator[LogProgress]:
    if not sys.stderr.isatty():
        yield LogProgress(plan)
        return
    from tqdm.contrib.logging import logging_redirect_tqdm

    bars = TerminalProgress(plan, params)
    try:
        with logging_redirect_tqdm():
            yield bars
    finally:
        bars.close()
