"""From decision values to probabilities: Platt's sigmoid, and the softmax of more than two classes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import softmax

from ldep_pipeline.serving import calibration


def test_a_probability_is_what_happens():
    rng = np.random.default_rng(0)
    decision = rng.normal(size=20_000) * 7
    truth = rng.random(20_000) < 1 / (1 + np.exp(-(0.4 * decision - 1)))
    fitted = calibration.fit_sigmoid(decision, truth)
    # Standard errors at 20,000 rows: 0.007 and 0.025; three of them.
    assert fitted.slope == pytest.approx(0.4, abs=0.02)
    assert fitted.offsets[0] == pytest.approx(-1, abs=0.08)


def test_a_probability_stays_finite_when_the_classes_are_apart():
    fitted = calibration.fit_sigmoid(np.array([-1.0, -1.0, 1.0, 1.0]), np.array([False, False, True, True]))
    assert np.isfinite([fitted.slope, *fitted.offsets]).all()
    assert 0 < fitted(np.array([-1.0]))[0, 1] < 0.5


def test_the_probabilities_of_three_classes_are_what_happens():
    rng = np.random.default_rng(0)
    decision = rng.normal(size=(20_000, 3)) * 5
    shares = softmax(0.4 * decision + np.array([0.5, 0.0, -0.5]), axis=1)
    numbers = (rng.random((20_000, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    fitted = calibration.fit(decision, np.array(["a", "b", "c"])[numbers], np.array(["a", "b", "c"]))
    assert fitted.slope == pytest.approx(0.4, abs=0.02)
    np.testing.assert_allclose(fitted.offsets, [0.5, 0.0, -0.5], atol=0.08)
    assert calibration.from_json(json.loads(json.dumps(fitted._asdict()))) == fitted


def test_a_shift_of_the_decision_values_keeps_the_probabilities():
    sigmoid, values = calibration.Calibration(2.0, (-0.5,)), np.linspace(-1, 1, 5)
    np.testing.assert_allclose(sigmoid.shifted(0.3)(values - 0.3), sigmoid(values))
