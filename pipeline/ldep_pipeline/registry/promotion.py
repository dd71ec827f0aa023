"""The rule that decides whether a new version becomes the champion.

A version is decided again when the code of this file or the parameters of its rule change: see `identity`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ldep_pipeline.common.digests import source_digest
from ldep_pipeline.metrics.metric import METRICS


@dataclass(frozen=True)
class PromotionRule:
    """On the same data, a version must be better than the champion by more than `margin` of this metric."""

    metric: str
    margin: float


@dataclass(frozen=True)
class Measured:
    """A version, its mean over the folds by the rule's metric, and the data that it was measured on."""

    version: str
    value: float | None
    data: str
    again: Again | None = None
    """For a champion of other data: its settings on the data of the new version."""


@dataclass(frozen=True)
class Again:
    """The mean of the champion's settings, fitted again out of fold, or why there is none.

    `error` is the standard error of the difference to the new version, fold by fold.
    """

    value: float | None
    error: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class Decision:
    promoted: bool
    why: str


def decide(new: Measured, champion: Measured | None, rule: PromotionRule) -> Decision:
    """Champion if there is none, or if better by more than the margin on the same data; else challenger.

    On other data the new version has seen rows that the champion has not. It becomes the champion unless the settings
    of the champion, fitted again on these rows, are better by more than a standard error.
    """
    if champion is None:
        return Decision(True, "there was no champion")
    if champion.version == new.version:
        return Decision(True, "it is the champion already")
    if new.value is None:
        return Decision(False, f"it has no {rule.metric}")
    if champion.data != new.data:
        return _on_other_data(new.value, champion, rule)
    if champion.value is None:
        return Decision(False, f"version {champion.version}, the champion, has no {rule.metric} to compare with")
    gain = METRICS[rule.metric].gain(new.value, champion.value)
    comparison = f"{rule.metric} {new.value:.4f} against {champion.value:.4f} of version {champion.version}"
    if gain > rule.margin:
        return Decision(True, f"{comparison}: better by {gain:.4f}, more than the margin {rule.margin:g}")
    return Decision(False, f"{comparison}: a gain of {gain:+.4f}, not more than the margin {rule.margin:g}")


def _on_other_data(new: float, champion: Measured, rule: PromotionRule) -> Decision:
    start, again = f"version {champion.version}, the champion, was measured on other data or folds", champion.again
    if again is None or again.value is None:
        reason = f": {again.problem}" if again is not None and again.problem else ""
        return Decision(False, f"{start}, and cannot be compared{reason}; `ldep register --promote` moves the alias")
    gain = METRICS[rule.metric].gain(new, again.value)
    comparison = f"{start}; its settings, fitted on these, have {rule.metric} {again.value:.4f}, the new ones {new:.4f}"
    if gain >= -again.error:
        return Decision(True, f"{comparison}: not worse by more than a standard error, {again.error:.4f}")
    return Decision(False, f"{comparison}: worse by more than a standard error, {again.error:.4f}")


def identity(rule: PromotionRule) -> str:
    """The rule as a tag: its parameters, and the digest of its code."""
    return f"{rule.metric}, margin {rule.margin!r}, code {source_digest(Path(__file__))[:12]}"
