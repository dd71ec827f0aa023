"""The progress of training: one bar per model on a terminal, otherwise one line per model when it is done."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pipeline.config.params import Params
from pipeline.execution.listeners import Listener
from pipeline.execution.plan import Plan
from pipeline.fitting.metrics import METRICS

log = logging.getLogger(__name__)


class LogProgress(Listener):
    """One plain line per model, when all its folds are done."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.started = plan, time.monotonic()
        self.scores: dict[str, list[float | None]] = {model: [] for model in plan.models}
        self.metric = METRICS[plan.metric]
        self.reused, self.failed = dict.fromkeys(plan.models, 0), dict.fromkeys(plan.models, 0)

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        self.scores[model].append(record.get("metrics", {}).get(self.plan.metric))
        self.reused[model] += stored
        self.failed[model] += record["status"] == "failed"
        if len(self.scores[model]) == self.plan.folds:
            self.show(f"{self.plan.dataset}, {model}: {self.summary(model)}")

    def summary(self, model: str) -> str:
        values = [score for score in self.scores[model] if score is not None]
        text = f"no {self.plan.metric}"
        if values:
            deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            text = f"{self.plan.metric} {self.metric.text(float(np.mean(values)), deviation)}"
        if self.failed[model]:
            text += f", FAILED on {self.failed[model]} of {self.plan.folds} folds"
        if self.reused[model]:
            text += f" ({self.reused[model]} of {self.plan.folds} folds reused)"
        return f"{text}, {time.monotonic() - self.started:.0f} s since the start"

    def show(self, text: str) -> None:
        log.info(text)


class TerminalProgress(LogProgress):
    """One bar per model: finished trials and fits, remaining time, best score so far."""

    def __init__(self, plan: Plan, params: Params) -> None:
        super().__init__(plan)
        from tqdm import tqdm

        self.bars = {}
        for model in plan.models:
            entry = params.classifiers[model]
            trials = (entry.trials or params.tuning.trials) if entry.search else 0
            # On the next free line: with several data sets the first line has the bar over the data sets.
            self.bars[model] = tqdm(
                total=plan.folds * (trials + 1),
                desc=f"{plan.dataset} {model}",
                bar_format="{desc:<32.32} {bar:24} {n_fmt}/{total_fmt} [{elapsed}<{remaining}]{postfix}",
            )

    def trial_finished(self, model: str, fold: int, best: float) -> None:
        if model in self.bars:
            self.bars[model].set_postfix_str(f"best inner {self.metric.text(best)}", refresh=False)
            self.bars[model].update()

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        super().fit_finished(model, fold, record, stored)
        bar, finished = self.bars[model], len(self.scores[model])
        successful = [score for score in self.scores[model] if score is not None]
        # There is no event for trials that were in the journal already: a finished fold corrects the count.
        bar.n = max(bar.n, finished * bar.total // self.plan.folds)
        if successful:
            best = max(successful) if self.metric.higher_is_better else min(successful)
            bar.set_postfix_str(f"best {self.metric.text(best)}")
        elif self.failed[model]:
            bar.set_postfix_str("failed")

    def show(self, text: str) -> None:
        """Print nothing: the bar shows it."""

    def close(self) -> None:
        for bar in self.bars.values():
            bar.close()


@contextmanager
def listening(plan: Plan, params: Params) -> Iterator[LogProgress]:
    if not sys.stderr.isatty():
        yield LogProgress(plan)
        return
    from tqdm.contrib.logging import logging_redirect_tqdm

    progress = TerminalProgress(plan, params)
    try:
        with logging_redirect_tqdm():
            yield progress
    finally:
        progress.close()
