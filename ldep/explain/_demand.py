"""What an answer must reach: a lead over every other class, by a margin or by a probability.

The probability of two classes is a monotone function of the decision value, so that a probability is a margin, exactly.
With more classes the probability of class k depends on all leads. Let L = log(p / (1 - p)). That class k is exp(L)
times as probable as each other class is necessary for the probability p, and that it is (K - 1) exp(L) times as
probable is enough. Both are margins, or factors between shares of votes. The first gives a bound that is proven, and
answers satisfy the probability itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ldep.model import ARGUMENTS, FittedModel, Link

# Between the necessary and the sufficient demand, in shares of log(K - 1): the first that is enough is used.
PARTS = (0.0, 0.05, 0.2, 0.5, 1.0)
# A larger lead than this is never reached.
FARTHEST = 1e50


@dataclass(frozen=True, eq=False)
class Demand:
    """The target class must lead each rival by its margin, under this model."""

    model: FittedModel
    margins: np.ndarray

    @classmethod
    def of(
        cls, model: FittedModel, target: int, margin: float, probability: float | None, link: Link | None, part: float
    ) -> Demand:
        """The demand of a margin, or of a probability: for the part 0 what is necessary, for 1 what is enough."""
        rivals = np.array([k for k in range(model.n_classes) if k != target])
        if probability is None:
            return cls(model, np.full(len(rivals), margin))
        assert link is not None
        log_odds = np.log(probability) - np.log1p(-probability) + part * np.log(len(rivals))
        own, others = link.intercepts[target], link.intercepts[rivals]
        ahead = model.thresholds[target] - model.thresholds[rivals]
        if link.kind == "log_shares":
            if model.thresholds.any():
                raise ValueError("A probability cannot be asked of shares of votes with thresholds: ask for a margin.")
            assert model.factors is not None
            factors = np.ones(model.n_classes)
            by_link = np.exp((log_odds - (own - others)) / link.slope)
            factors[rivals] = np.maximum(by_link, model.factors[rivals] / model.factors[target])
            return cls(replace(model, factors=factors), np.zeros(len(rivals)))
        if link.kind == "leads":
            margins = np.full(len(rivals), np.sinh(log_odds / (2.0 * link.slope))) - ahead
        elif link.kind == "softmax":
            margins = (log_odds - (own - others)) / link.slope - ahead
        else:
            inverse, sign = ARGUMENTS[link.kind][1], 1.0 if target == 1 else -1.0
            intercept = link.intercepts[1] - link.intercepts[0]
            margins = sign * inverse((sign * log_odds - intercept) / link.slope) - ahead
            margins = np.broadcast_to(margins, (1,))
        return cls(model, np.clip(margins, 0.0, FARTHEST))
