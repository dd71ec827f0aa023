"""How models and data sets are named and coloured, the same in every table and figure."""

from __future__ import annotations

from collections.abc import Sequence

from ldep_pipeline.data import catalogue
from ldep_pipeline.metrics.metric import duration
from ldep_pipeline.report.known_models import DEFAULT, MODELS
from ldep_pipeline.report.table import Cell


def label(model: str) -> str:
    return MODELS[model].title if model in MODELS else model


def form_of(model: str) -> tuple[str | None, str]:
    """The kind that a model is a form of, and which form; (None, ...) for a model that has one form only."""
    return (MODELS[model].kind, MODELS[model].form) if model in MODELS else (None, DEFAULT)


def family(model: str) -> str:
    return MODELS[model].family if model in MODELS else "other"


def title(dataset: str) -> str:
    """The paper's name of a data set, or the user's."""
    known = catalogue.load()
    return known[dataset].title if dataset in known else dataset


def count_of(number: int, noun: str) -> str:
    """`1 data set`, `2 data sets`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def percent(share: float) -> str:
    """`71 %`; `0.4 %` below one per cent."""
    return f"{100 * share:.1f} %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def p_text(p: float) -> str:
    if p > 0.9995:
        return "1"
    return f"{p:.1e}".replace("e-0", "e-").replace("-", "−") if p < 0.001 else f"{p:.3f}"


def model_cell(model: str) -> Cell:
    return Cell(label(model), family=family(model))


def duration_cell(seconds: float) -> Cell:
    return Cell(duration(seconds) if seconds else "", float(seconds))
