"""The metrics, in one table: what each one measures, what it needs of a model, and how it is shown.

The parameter check, tuning, the choice of the winner, the results, their bounds, the columns in MLflow, the report and
the documentation take the metrics from here: to add one, add an entry to METRICS. Of two classes the rarer one is the
positive class of a metric.

scikit-learn is imported when a metric is computed. Every command checks params.yaml and with it the name of the metric,
and the import takes longer than the work of most of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

Needs = Literal["classes", "scores", "probabilities", "tuning"]
REQUIREMENTS = {
    "scores": "it needs a model with scores",
    "probabilities": "it needs a model with probabilities",
    "tuning": "a model that is not tuned has none",
}
BINS = 10  # of the confidence, for the calibration error
SMALLEST = 1e-15  # a probability of 0 would have an infinite log-loss
COST = "cost"


@dataclass(frozen=True)
class Metric:
    """A function of the true classes and of what a model says about the rows; or a time, which has no function.

    With two classes the function receives whether each row is of the positive class, and one value per row: whether it
    is predicted to be (`needs` is "classes"), its score, or its probability. With more classes it receives the number
    of each row's class, and the number of the predicted class, or one column of scores or probabilities per class.
    Every value lies between `low` and `high`. Values between 0 and 1 are shown in per cent.
    """

    name: str
    title: str
    meaning: str
    function: Callable[..., float] | None = None
    needs: Needs = "classes"
    higher_is_better: bool = True
    low: float = 0.0
    high: float = 1.0
    compared: bool = False
    """Whether every report on the data sets of the catalogue compares the models by it."""
    guessing: Callable[[Sequence[int]], float] | None = None
    """What a model reaches that ignores the features, from the number of rows of each class."""
    column: str = ""
    """The column of the results that has a time in seconds; empty for a metric."""

    @property
    def is_accuracy(self) -> bool:
        """Whether the figures of the paper can be compared with the values."""
        return self.name == "accuracy"

    @property
    def is_time(self) -> bool:
        return bool(self.column)

    @property
    def is_share(self) -> bool:
        """Whether values are shown in per cent."""
        return self.low >= 0 and self.high <= 1

    @property
    def requirement(self) -> str:
        """Which models have no value of it."""
        return REQUIREMENTS.get(self.needs, "")

    def gain(self, new: float, old: float) -> float:
        """How much better the first value is; negative if it is worse."""
        return new - old if self.higher_is_better else old - new

    def better(self, new: float, old: float) -> bool:
        return self.gain(new, old) > 0

    def ranked(self, values: dict[str, float]) -> list[str]:
        """The names of some values, the best first; equal ones stay in their order."""
        return sorted(values, key=values.__getitem__, reverse=self.higher_is_better)

    def best_first(self, values: pd.Series) -> pd.Series:
        """The same for a series."""
        return values.sort_values(ascending=not self.higher_is_better, kind="stable")

    def goodness(self, values: pd.DataFrame) -> pd.DataFrame:
        """The values turned so that more is better. Times are compared by their ratio: by their logarithm."""
        if self.is_time:
            return -np.log(values)
        return values if self.higher_is_better else -values

    def value(self, y: np.ndarray, said: np.ndarray, *costs: float) -> float | None:
        """The value for these classes and what a model says about them; None if it is not finite."""
        assert self.function is not None, f"{self.name} is not computed from predictions"
        number = finite(self.function(y, said, *costs))
        return None if number is None else self.clipped(number)

    def clipped(self, value: float) -> float:
        """A value within the bounds: a sum of shares can exceed 1 in its last bit."""
        return min(max(value, self.low), self.high)

    # How it is shown. `text` takes a value as the results have it; `shown` one in per cent, if it is a share.

    @property
    def noun(self) -> str:
        """The title inside a sentence."""
        return self.title if self.title[1:2].isupper() or self.title == "F1" else self.title[0].lower() + self.title[1:]

    @property
    def factor(self) -> int:
        """From a value to what is shown."""
        return 100 if self.is_share else 1

    @property
    def unit(self) -> str:
        return "s" if self.is_time else " %" if self.is_share else ""

    @property
    def axis(self) -> str:
        """The label of an axis."""
        return f"{self.noun}, {self.unit.strip()}" if self.unit else self.noun

    @property
    def _digits(self) -> int:
        return 1 if self.is_share else 3

    def text(self, value: float, spread: float | None = None) -> str:
        return self.shown(self.factor * value, None if spread is None else self.factor * spread)

    def shown(self, value: float, spread: float | None = None) -> str:
        """`76.0 ± 1.4`, `0.312`, `0.35 s`; without a spread (None or NaN) the first number alone."""
        if self.is_time:
            return duration(value)
        text = f"{value:.{self._digits}f}"
        return text if spread is None or math.isnan(spread) else f"{text} ± {spread:.{self._digits}f}"

    def printed(self, value: float) -> float:
        """A shown value as precisely as it is shown."""
        return float(f"{value:.2g}") if self.is_time else round(value, self._digits)

    def gain_text(self, gain: float) -> str:
        """A difference of shown values, with its sign; for times the factor by which the first model is faster."""
        return f"× {math.exp(gain):.2g}" if self.is_time else signed_text(gain, self._digits)

    @property
    def equal_gain(self) -> float:
        """The region of practical equivalence: gains of at most this size count as equal."""
        return math.log(1.1) if self.is_time else 0.5 if self.is_share else 0.01

    @property
    def equal_gain_text(self) -> str:
        return "a factor of 1.1" if self.is_time else "0.5 percentage points" if self.is_share else "0.01"


def signed_text(value: float, digits: int = 1) -> str:
    """So many digits after the point, with a sign unless it is zero."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def duration(seconds: float) -> str:
    """Seconds in a convenient unit."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    if seconds < 0.1:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def finite(value: Any) -> float | None:
    """A number that can be averaged and drawn, or None: an attribute of this name may be anything, as LightGBM's is."""
    return float(value) if isinstance(value, Real) and math.isfinite(value) else None


def _accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean(predicted == y))


def _balanced_accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    if y.dtype == bool:  # counted here: the choice of a threshold computes it thousands of times
        return float(
            np.mean([np.mean(predicted[y == label] == label) for label in (False, True) if (y == label).any()])
        )
    from sklearn.metrics import balanced_accuracy_score

    return float(balanced_accuracy_score(y, predicted))


def _f1(y: np.ndarray, predicted: np.ndarray) -> float:
    return _f1_of_positive(y, predicted) if y.dtype == bool else _f1_macro(y, predicted)


def _f1_of_positive(y: np.ndarray, predicted: np.ndarray) -> float:
    either = int(np.count_nonzero(y)) + int(np.count_nonzero(predicted))
    return 2.0 * int(np.count_nonzero(y & predicted)) / either if either else 0.0


def _f1_macro(y: np.ndarray, predicted: np.ndarray) -> float:
    if y.dtype == bool:
        scores = [_f1_of_positive(y == label, predicted == label) for label in _present(y, predicted)]
        return float(np.mean(scores))
    from sklearn.metrics import f1_score

    return float(f1_score(y, predicted, average="macro", zero_division=0.0))


def _present(y: np.ndarray, predicted: np.ndarray) -> list[bool]:
    """The classes that are true or predicted somewhere."""
    return [label for label in (False, True) if (y == label).any() or (predicted == label).any()]


def _roc_auc(y: np.ndarray, scores: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return _one_versus_rest(roc_auc_score, y, scores)


def _average_precision(y: np.ndarray, scores: np.ndarray) -> float:
    from sklearn.metrics import average_precision_score

    return _one_versus_rest(average_precision_score, y, scores)


def _one_versus_rest(function: Callable[..., float], y: np.ndarray, scores: np.ndarray) -> float:
    """The value of the positive class; with more than two classes the mean over those that the rows have."""
    if y.dtype == bool:
        return function(y, scores)
    return float(np.mean([function(y == number, scores[:, number]) for number in np.unique(y)]))


def _log_loss(y: np.ndarray, probability: np.ndarray) -> float:
    columns = np.column_stack([1 - probability, probability]) if y.dtype == bool else probability
    of_class = columns[np.arange(len(y)), y.astype(int)]
    return float(-np.mean(np.log(np.maximum(of_class, SMALLEST))))


def _calibration_error(y: np.ndarray, probability: np.ndarray) -> float:
    if y.dtype == bool:
        confidence, correct = np.maximum(probability, 1 - probability), (probability >= 0.5) == y
    else:
        confidence, correct = probability.max(axis=1), probability.argmax(axis=1) == y
    bins = np.minimum((confidence * 2 * BINS).astype(int), 2 * BINS - 1)
    gaps = np.bincount(bins, confidence - correct)
    return float(np.abs(gaps).sum() / len(y))


def _mean_cost(y: np.ndarray, predicted: np.ndarray, false_positive: float, false_negative: float) -> float:
    return float(np.mean(false_positive * (predicted & ~y) + false_negative * (y & ~predicted)))


def by_name(*metrics: Metric) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


METRICS = by_name(
    Metric(
        "accuracy",
        "Accuracy",
        "share of rows whose class is predicted correctly; equals micro-averaged F1",
        _accuracy,
        compared=True,
        guessing=lambda rows: max(rows) / sum(rows),
    ),
    Metric(
        "balanced_accuracy",
        "Balanced accuracy",
        "mean of the recalls of the classes",
        _balanced_accuracy,
        compared=True,
        guessing=lambda rows: 1 / len(rows),
    ),
    Metric("f1", "F1", "F1 score of the rarer class; with more than two classes the same as `f1_macro`", _f1),
    Metric("f1_macro", "Macro F1", "unweighted mean of the F1 scores of the classes", _f1_macro, compared=True),
    Metric(
        "roc_auc",
        "ROC AUC",
        "area under the ROC curve; needs a model with scores",
        _roc_auc,
        needs="scores",
        compared=True,
        guessing=lambda rows: 0.5,
    ),
    Metric(
        "average_precision",
        "Average precision",
        "area under the precision-recall curve of the rarer class; needs a model with scores",
        _average_precision,
        needs="scores",
        guessing=lambda rows: min(rows) / sum(rows) if len(rows) == 2 else 1 / len(rows),
    ),
    Metric(
        "log_loss",
        "Log-loss",
        "mean negative log-probability of the true class; needs a model with probabilities",
        _log_loss,
        needs="probabilities",
        higher_is_better=False,
        high=math.inf,
        compared=True,
    ),
    Metric(
        "calibration_error",
        "Calibration error",
        "mean distance between confidence and accuracy over bins of the confidence; needs a model with probabilities",
        _calibration_error,
        needs="probabilities",
        higher_is_better=False,
        compared=True,
    ),
    Metric(
        COST,
        "Cost",
        "mean cost per row by `costs`; two classes only",
        _mean_cost,
        higher_is_better=False,
        high=math.inf,
    ),
)


def _time(name: str, title: str, meaning: str, column: str, needs: Needs = "classes") -> Metric:
    return Metric(name, title, meaning, None, needs, False, high=math.inf, compared=True, column=column)


# By what the models can be compared, too.
TIMES = by_name(
    _time("fit_time", "Fit time", "CPU seconds of a fit, without tuning", "fit_cpu_seconds"),
    _time("tuning_time", "Tuning time", "CPU seconds of the tuning of a fold", "tune_cpu_seconds", "tuning"),
    _time("predict_time", "Predict time", "seconds to predict the test rows of a fold", "predict_seconds"),
)
ACCURACY = METRICS["accuracy"]
