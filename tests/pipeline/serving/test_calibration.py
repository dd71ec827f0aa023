"""Platt's sigmoid: from decision values to probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.serving import calibration


def test_a_probability_is_what_happens():
    rng = np.random.default_rng(0)
    decision = rng.normal(size=20_000) * 7
    truth = rng.random(20_000) < 1 / (1 + np.exp(-(0.4 * decision - 1)))
    fitted = calibration.fit(decision, truth)
    # Standard errors at 20,000 rows: 0.007 and 0.025; three of them.
    assert fitted.slope == pytest.approx(0.4, abs=0.02)
    assert fitted.offset == pytest.approx(-1, abs=0.08)


def test_a_probability_stays_finite_when_the_classes_are_apart():
    fitted = calibration.fit(np.array([-1.0, -1.0, 1.0, 1.0]), np.array([False, False, True, True]))
    assert np.isfinite([*fitted]).all()
    assert 0 < fitted(np.array([-1.0]))[0] < 0.5
