"""The rule by which a new version of a model becomes the champion."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config.params import Register


@dataclass(frozen=True)
class Measured:
    """A version, its mean over the folds by the rule's metric, and the data that it was measured on."""

    version: str
    value: float | None
    data: str


@dataclass(frozen=True)
class Decision:
    promoted: bool
    why: str


def decide(new: Measured, champion: Measured | None, rule: Register) -> Decision:
    """Champion if there is none, or if better by more than the margin on the same data; else challenger."""
    if champion is None:
        return Decision(True, "there was no champion")
    if champion.version == new.version:
        return Decision(True, "it is the champion already")
    if new.value is None:
        return Decision(False, f"it has no {rule.metric}")
    if champion.data != new.data:
        why = f"version {champion.version}, the champion, was measured on other data or folds: nothing can be compared"
        return Decision(False, f"{why}; `ldep register --promote` moves the alias")
    if champion.value is None:
        return Decision(False, f"version {champion.version}, the champion, has no {rule.metric} to compare with")
    gain = new.value - champion.value
    told = f"{rule.metric} {new.value:.4f} against {champion.value:.4f} of version {champion.version}"
    if gain > rule.margin:
        return Decision(True, f"{told}: better by {gain:.4f}, more than the margin {rule.margin:g}")
    return Decision(False, f"{told}: {gain:+.4f}, not more than the margin {rule.margin:g}")
