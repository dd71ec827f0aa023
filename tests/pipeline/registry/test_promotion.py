"""The rule that picks the champion."""

from __future__ import annotations

import pytest

from ldep_pipeline.registry import promotion
from ldep_pipeline.registry.promotion import Again, Measured, PromotionRule


@pytest.mark.parametrize(
    ("new", "old", "promoted", "why"),
    [
        (0.9, None, True, "there was no champion"),
        (0.9, Measured("1", 0.8, "d"), True, "better by 0.1000, more than the margin 0.05"),
        (0.84, Measured("1", 0.8, "d"), False, "not more than the margin 0.05"),
        (0.7, Measured("1", 0.8, "d"), False, "-0.1000"),
        (0.9, Measured("1", 0.8, "other"), False, "measured on other data or folds, and cannot be compared;"),
        (
            0.9,
            Measured("1", 0.8, "other", Again(None, problem="its model is gone")),
            False,
            "compared: its model is gone",
        ),
        (
            0.88,
            Measured("1", 0.99, "other", Again(0.89, 0.02)),
            True,
            "not worse by more than a standard error, 0.0200",
        ),
        (0.86, Measured("1", 0.80, "other", Again(0.89, 0.02)), False, "worse by more than a standard error"),
        (0.9, Measured("1", None, "d"), False, "has no accuracy to compare with"),
    ],
)
def test_the_rule(new, old, promoted, why):
    decision = promotion.decide(Measured("2", new, "d"), old, PromotionRule("accuracy", 0.05))
    assert decision.promoted is promoted
    assert why in decision.why


def test_of_a_loss_less_is_better():
    rule = PromotionRule("log_loss", 0.05)
    assert promotion.decide(Measured("2", 0.3, "d"), Measured("1", 0.4, "d"), rule).promoted
    assert not promotion.decide(Measured("2", 0.5, "d"), Measured("1", 0.4, "d"), rule).promoted
