"""Everything that the report shows, as plain values. Its tables, figures and texts are functions of this alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ldep_pipeline.metrics.metric import ACCURACY, METRICS, TIMES, Metric
from ldep_pipeline.report import comparison
from ldep_pipeline.report import scores as score_tables
from ldep_pipeline.report.groups import GroupedColumn
from ldep_pipeline.report.scores import FoldScores, Scores

COMPARED = METRICS | TIMES  # by what the models can be compared
SET_COVERAGES = (0.8, 0.9, 0.95)
MOST_PEERS = 3  # models that are drawn beside the winner


@dataclass(frozen=True)
class DatasetInfo:
    """What the report says about one data set. A number is None if it was not recorded."""

    origin: str
    rows: int | None = None
    features: int | None = None
    nominal: int | None = None
    missing: int | None = None
    classes: Mapping[str, int] = field(default_factory=dict)
    md5: str = ""
    repeats: int = 1
    """How often the whole cross-validation was done."""


@dataclass(frozen=True)
class PlanarData:
    """The rows of a data set with two features, and the decision values of each model on a grid over them."""

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, str]
    grids: Mapping[str, Mapping[str, list[float]]]
    """{model: {"x": ..., "y": ..., "value": ...}}, the values row by row."""


@dataclass(frozen=True)
class ReportData:
    results: pd.DataFrame
    """The tidy table: one row per data set, model, fold and metric."""
    curves: pd.DataFrame
    """Columns dataset, model, fold, iteration, objective."""
    datasets: Mapping[str, DatasetInfo]
    metric: Metric = ACCURACY
    """By which the models are compared: `metric` in params.yaml, or another one of COMPARED."""
    planar: Mapping[str, PlanarData] = field(default_factory=dict)
    decisions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """{data set: what the stage register decided about its model}."""
    own: Sequence[DatasetReport] = ()
    """The own data sets of the same report, which have pages of their own."""

    @property
    def prefix(self) -> str:
        """Of the names of the files of figures."""
        return ""

    def by(self, metric: Metric) -> ReportData:
        """The same results, compared by another metric."""
        return self if metric is self.metric else self._by_metric.setdefault(metric.name, replace(self, metric=metric))

    @cached_property
    def _by_metric(self) -> dict[str, ReportData]:
        """What `by` has returned: its ranks and claims take seconds, and are computed once."""
        return {}

    @cached_property
    def accuracies(self) -> Scores:
        """For the comparison with the paper, which has accuracies only."""
        return score_tables.from_results(self.results)

    @cached_property
    def scores(self) -> Scores:
        return score_tables.from_results(self.results, self.metric)

    @cached_property
    def costs(self) -> pd.DataFrame:
        return score_tables.costs(self.results)

    @cached_property
    def ranks(self) -> comparison.Ranks | None:
        return comparison.ranks(self.scores)

    @cached_property
    def claims(self) -> list[comparison.Claim]:
        return comparison.claims(self.scores)

    @property
    def repeats(self) -> int:
        """How often the cross-validation of every data set was done; 1 if they differ in that."""
        numbers = {info.repeats for info in self.datasets.values()}
        return numbers.pop() if len(numbers) == 1 else 1

    @cached_property
    def means_of_repeats(self) -> pd.DataFrame | None:
        """The mean over the data sets in each repeat; None if there is only one."""
        return score_tables.means_of_repeats(self.results, self.metric, self.repeats) if self.repeats > 1 else None

    @cached_property
    def other_metrics(self) -> list[Metric]:
        """What the page compares by beside its own metric: all that at least two models have on every data set."""
        others = [metric for metric in COMPARED.values() if metric.compared and metric is not self.metric]
        return [metric for metric in others if len(self.by(metric).scores.complete) > 1]


@dataclass(frozen=True)
class DatasetReport:
    """Everything that the page of one data set of the user shows."""

    name: str
    origin: str
    target: str
    metric: Metric
    results: pd.DataFrame
    """The tidy table of this data set: one row per model, fold and metric."""
    split: str
    """How the rows were divided, in words."""
    test_share: float
    """Rows of a test part divided by rows of a training part, the mean over the folds."""
    n_features: int
    classes: Mapping[str, int]
    """Rows of each class, in sorted order."""
    y: np.ndarray
    """The class of each row."""
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    """{model: one column per class}: decision values by the fit that had not seen the row; NaN if no fold tests it."""
    probabilities: Mapping[str, np.ndarray] = field(default_factory=dict)
    """The same as probabilities, for models that can be calibrated."""
    thresholds: Mapping[str, np.ndarray] = field(default_factory=dict)
    """{model: the threshold of each row's decision value, chosen without the row's fold}; 0 for a model without any."""
    record: Mapping[str, Any] | None = None
    """What the stage register decided; None if it has not run."""
    profile: Mapping[str, Any] | None = None
    example: Mapping[str, Any] = field(default_factory=dict)
    """A raw row, to try the served model with."""
    sets: Mapping[str, Mapping[float, np.ndarray]] = field(default_factory=dict)
    """{model: {coverage: one column per class}}: whether the set of each row has the class, with limits from the other
    folds."""
    grouped: Sequence[GroupedColumn] = ()
    """The groups of the columns that own_data.NAME.groups names, and what the winner does to them."""

    @property
    def prefix(self) -> str:
        """Of the names of the files of figures."""
        return f"{self.name}-"

    @cached_property
    def leaderboard(self) -> list[FoldScores]:
        return score_tables.of_folds(self.results, self.metric, self.test_share)

    @cached_property
    def ranked(self) -> list[FoldScores]:
        """The models that have a value of the metric on every fold, the best first."""
        return [scores for scores in self.leaderboard if scores.problem is None]

    @cached_property
    def winner(self) -> str | None:
        """The model that was registered or, before that, the first of the leaderboard; None if every model failed."""
        if self.record is not None:
            return str(self.record["model"])
        return self.ranked[0].model if self.ranked else None

    @property
    def has_skill(self) -> bool:
        """Whether the winner beats guessing, as far as that was examined."""
        return self.record is None or bool(self.record.get("beats_guessing", True))

    @property
    def is_champion(self) -> bool:
        """Whether the version of this run serves; another one may, or none at all."""
        return (self.record or {}).get("decision") == "champion"

    @property
    def guessing(self) -> float | None:
        """What the best rule without features reaches: measured on the folds, or from the shares of the classes."""
        measured = ((self.record or {}).get("guessing") or {}).get("guess")
        if measured is not None and self.metric.name != "calibration_error":  # that is judged by another metric
            return float(measured)
        return None if self.metric.guessing is None else self.metric.guessing(list(self.classes.values()))

    @cached_property
    def winning_scores(self) -> FoldScores | None:
        return next((scores for scores in self.ranked if scores.model == self.winner), None)

    @property
    def file_name(self) -> str:
        return f"{self.name}.html"

    def interval_text(self, scores: FoldScores) -> str:
        """The interval of a mean; empty if it has none."""
        return "" if scores.interval is None else " to ".join(map(self.metric.text, scores.interval))

    @property
    def others(self) -> list[FoldScores]:
        return [scores for scores in self.ranked if scores.model != self.winner]

    @cached_property
    def peers(self) -> list[str]:
        """The best other models that have scores."""
        return [scores.model for scores in self.others if scores.model in self.scores][:MOST_PEERS]

    @cached_property
    def comparisons(self) -> list[comparison.Lead]:
        """The winner against every other model."""
        if self.winning_scores is None:
            return []
        return comparison.leads(self.winning_scores, self.others, self.metric, self.test_share)

    @cached_property
    def positive(self) -> str | None:
        """Of two classes, the one that curves and errors are about: the rarer one. None with more classes."""
        if len(self.classes) > 2:
            return None
        first, last = self.classes
        return first if self.classes[first] < self.classes[last] else last

    @property
    def n_rows(self) -> int:
        return sum(self.classes.values())

    @property
    def rarest(self) -> str:
        return min(self.classes, key=lambda name: self.classes[name])

    @property
    def threshold(self) -> float:
        """The decision value of the second class from which the final model predicts it."""
        value = (self.record or {}).get("threshold")
        return 0.0 if value is None else float(value)

    @property
    def examination(self) -> Mapping[str, Any]:
        return (self.record or {}).get("examination") or {}

    @property
    def learning_curve(self) -> list[Mapping[str, Any]]:
        """The points {rows, scores} of the winner's learning curve that every fold has; empty unless there are two."""
        points = [point for point in self.examination.get("learning_curve") or [] if None not in point["scores"]]
        return points if len(points) > 1 else []

    @property
    def last_gain(self) -> tuple[float, tuple[float, float] | None]:
        """What the last step of the learning curve gained in the mean of the folds, with its 95 % interval."""
        before, last = (np.array(point["scores"]) for point in self.learning_curve[-2:])
        gains = last - before if self.metric.higher_is_better else before - last
        if np.ptp(gains) <= 1e-12:
            return float(np.mean(gains)), (float(gains[0]), float(gains[0]))
        return float(np.mean(gains)), score_tables.interval_of_mean(gains, self.test_share)

    @cached_property
    def tested(self) -> np.ndarray:
        """A mask of the rows for which the winner has scores."""
        return np.isfinite(self.scores[str(self.winner)]).all(axis=1)

    @cached_property
    def predicted(self) -> np.ndarray:
        """The class that the winner predicts for each row, at the threshold of its fold; it needs scores."""
        scores, names = self.scores[str(self.winner)], np.array(list(self.classes))
        if self.positive is None:
            return names[np.where(self.tested[:, None], scores, 0.0).argmax(axis=1)]
        thresholds = self.thresholds.get(str(self.winner), np.zeros(len(scores)))
        return names[(scores[:, 1] - scores[:, 0] >= thresholds).astype(int)]

    @property
    def recourse_rows(self) -> int:
        return len((self.examination.get("recourse") or {}).get("rows", ()))

    @cached_property
    def confusion(self) -> np.ndarray | None:
        """Rows by true and predicted class, each at its threshold; None if the winner has no scores."""
        if self.winner not in self.scores:
            return None
        names, tested = list(self.classes), self.tested
        counts = np.zeros((len(names), len(names)), dtype=int)
        places = [np.searchsorted(names, labels[tested]) for labels in (self.y, self.predicted)]
        np.add.at(counts, (places[0], places[1]), 1)
        return counts
