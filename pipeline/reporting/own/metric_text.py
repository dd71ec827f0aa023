"""A metric as a reader meets it: its name, its meaning, and its values in convenient units."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class MetricText:
    name: str
    meaning: str
    higher_is_better: bool = True
    low: float = 0.0
    high: float = 1.0

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").replace("roc auc", "ROC AUC").replace("f1", "F1")

    @property
    def is_share(self) -> bool:
        """Whether values are shown in per cent."""
        return self.low >= 0 and self.high <= 1

    @property
    def unit(self) -> str:
        return " %" if self.is_share else ""

    @property
    def sign(self) -> int:
        """Multiplied with this, higher values are better."""
        return 1 if self.higher_is_better else -1

    def text(self, value: float) -> str:
        return f"{100 * value:.1f}" if self.is_share else f"{value:.3f}"

    def difference(self, value: float) -> str:
        """A difference with its sign, in percentage points for shares."""
        text = f"{100 * value:+.1f}" if self.is_share else f"{value:+.3f}"
        return text.lstrip("+-") if not float(text) else text.replace("-", "−")

    def points(self, value: float) -> str:
        return f"{self.difference(value)} points" if self.is_share else self.difference(value)

    def clipped(self, value: float) -> float:
        """A value within the range of the metric."""
        return min(max(value, self.low), self.high) if math.isfinite(value) else value
