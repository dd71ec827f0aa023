"""Scores of out-of-fold decision values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from ldep.model import Link, class_numbers, fit_decisions, folded
from ldep.search._cross_validation import CrossValidation
from ldep.training import Samples, own_class


class RecordedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values for certain rows are known: what a scorer sees of them.

    `link` returns the link from decision values to probabilities when it is called.
    """

    def __init__(self, decision, classes, link):
        self.decision = decision
        self.classes = classes
        self.link = link
        self.classes_ = classes

    def decision_function(self, X):
        return self.decision

    def predict(self, X):
        return self.classes[class_numbers(self.decision)]

    def predict_proba(self, X):
        return self.link().probabilities(self.decision)


class Scoring:
    """Scores decision values for some of the training rows, by a scorer of scikit-learn or the weighted accuracy."""

    def __init__(self, scoring: str | Callable | None, rows: Samples, classes: np.ndarray):
        self.rows, self.classes = rows, classes
        self.codes = own_class(rows.y, len(classes))
        self.labels = classes[self.codes]
        # Scorers of one's own may not take weights, so that they get them only where these say something.
        self.weighted = len(np.unique(rows.weight[rows.weight > 0])) > 1
        self.scorer = None
        if scoring is not None:
            self.scorer = check_scoring(RecordedClassifier(np.zeros(0), classes, None), scoring=scoring)
            # A score that is not defined for these classes fails here, and not after all fits.
            everything = np.flatnonzero(rows.weight > 0)
            self(right_votes(self.codes[everything], len(classes)), everything)

    def __call__(self, decision: np.ndarray, numbers: np.ndarray, everywhere: np.ndarray | None = None) -> float:
        """The score of decision values for the rows with these numbers; higher is better.

        The link to probabilities is fitted to the decision values of all rows, NaN where there is none, if `everywhere`
        has them, else to `decision`.
        """
        X, _, weight = self.rows
        if self.scorer is None:
            return float(np.average(class_numbers(decision) == self.codes[numbers], weights=weight[numbers]))

        def link() -> Link:
            if everywhere is None:
                return fit_decisions(decision, self.codes[numbers], weight[numbers], "identity")[0]
            known = ~np.isnan(everywhere.reshape(len(weight), -1)[:, 0])
            return fit_decisions(everywhere[known], self.codes[known], weight[known], "identity")[0]

        recorded = RecordedClassifier(decision, self.classes, link)
        options = {"sample_weight": weight[numbers]} if self.weighted else {}
        try:
            return float(self.scorer(recorded, X[numbers], self.labels[numbers], **options))
        except ValueError as error:
            raise ValueError(f"scoring failed on {self._describe(numbers)}: {error}") from error

    def _describe(self, numbers: np.ndarray) -> str:
        """The rows of a score that failed, and what may be the reason."""
        n_classes, absent = len(self.classes), np.setdiff1d(self.labels, self.labels[numbers])
        if len(absent):
            return (
                f"a test part that has no sample of class {absent.tolist()[0]!r}; use fewer folds, or a score that "
                "does not need all classes"
            )
        return f"{n_classes} classes; use a score that is defined for them, such as roc_auc_ovr or f1_macro"

    def losses(self, numbers: np.ndarray) -> Losses:
        """Losses of votes for the rows with these numbers: the score, and between equal ones the squared error."""
        right = right_votes(self.codes[numbers], len(self.classes))
        errors = squared_error(right, self.rows.weight[numbers])

        def losses(averages: np.ndarray) -> np.ndarray:
            scores = [self(average, numbers) for average in averages]
            return np.column_stack([np.negative(scores), errors(averages)])

        return losses


def cv_results(search: CrossValidation, scoring: Scoring) -> dict[str, Any]:
    """Settings, scores and times, one entry per candidate, under the names of `GridSearchCV.cv_results_`."""
    decisions = search.out_of_fold_decisions()
    scores = np.empty((len(search.candidates), len(search.splits)))
    for number, candidate in enumerate(search.candidates):
        for split_number, (fit, split) in enumerate(zip(candidate.fits, search.splits)):
            scores[number, split_number] = scoring(fit.decision, split.test, decisions[number])
    seconds = np.array([[fit.seconds for fit in candidate.fits] for candidate in search.candidates])
    params = [candidate.params for candidate in search.candidates]
    mean = scores.mean(axis=1)
    results: dict[str, Any] = {"params": params}
    results |= {f"param_{name}": np.array([setting[name] for setting in params]) for name in params[0]}
    results |= {f"split{number}_test_score": column for number, column in enumerate(scores.T)}
    results |= {
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min").astype(np.int32),
        "mean_fit_time": seconds.mean(axis=1),
        "std_fit_time": seconds.std(axis=1),
    }
    return results


def squared_errors(search: CrossValidation) -> np.ndarray:
    """Mean squared error of the out-of-fold votes of each candidate."""
    tested, weight = search.tested, search.rows.weight[search.tested]
    errors = np.square(search.out_of_fold_votes()[:, tested] - right_votes(search.own[tested], search.n_classes))
    return errors.sum(axis=tuple(range(2, errors.ndim))) @ weight / weight.sum()


Losses = Callable[[np.ndarray], np.ndarray]


def greedy_weights(values: np.ndarray, losses: Losses, n_rounds: int, most: int | None = None) -> np.ndarray:
    """Weight each candidate by the number of rounds that it wins.

    `values` has one entry per candidate; at most `most` of them get a weight. `losses` returns the loss of each of
    several averages, of shape (n_averages,) or (n_averages, n_losses); of several losses, each decides between averages
    that are equal in those before. The weights are those after the round with the lowest loss, the first of equal ones,
    and sum to 1.
    """
    counts = np.zeros(len(values), dtype=int)
    total = np.zeros(values.shape[1:])
    best_loss: tuple[float, ...] | None = None
    best_counts = counts
    for size in range(1, n_rounds + 1):
        used = np.flatnonzero(counts)
        allowed = np.arange(len(values)) if most is None or len(used) < most else used
        table = losses((total + values[allowed]) / size).reshape(len(allowed), -1)
        place = int(np.lexsort(table.T[::-1])[0])
        counts[allowed[place]] += 1
        total += values[allowed[place]]
        loss = tuple(table[place].tolist())
        if best_loss is None or loss < best_loss:
            best_loss, best_counts = loss, counts.copy()
    return best_counts / best_counts.sum()


def squared_error(targets: np.ndarray, weight: np.ndarray) -> Losses:
    """Mean squared difference from the targets.

    With targets -1 and +1 and values in between it is four times the Brier score of the share of votes (1 + value) / 2.
    With one target per class, of which one is 1 and the others are 0, the errors of the classes are added up. It counts
    every sample, where the accuracy counts only those near the boundary that change sides.
    """
    share = weight / weight.sum()

    def losses(averages: np.ndarray) -> np.ndarray:
        errors = np.square(averages - targets)
        return errors.sum(axis=tuple(range(errors.ndim - targets.ndim + 1, errors.ndim))) @ share

    return losses


def right_votes(own: np.ndarray, n_classes: int) -> np.ndarray:
    """The votes that are right: -1 and +1 with two classes, else one row of zeros and a one per sample."""
    return folded(np.eye(n_classes)[own])
