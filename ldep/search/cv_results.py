"""The scores of a cross-validation, as scikit-learn's searches report them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from ldep.search.cross_validation import CrossValidation
from ldep.search.out_of_fold import Scoring
from ldep.search.votes import right_votes


def cv_results(search: CrossValidation, scoring: Scoring) -> dict[str, Any]:
    """Settings, scores and times.

    Parameters
    ----------
    search : CrossValidation
        The candidates.
    scoring : Scoring
        The score.

    Returns
    -------
    results : dict
        "params" is a list, all else are arrays, with one entry per candidate: "param_NAME", "splitK_test_score",
        "mean_test_score", "std_test_score", "rank_test_score", "mean_fit_time" and "std_fit_time".
    """
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
    errors = np.square(search.out_of_fold_votes()[:, tested] - right_votes(search.rows.y[tested], search.n_classes))
    return (errors if errors.ndim == 2 else errors.sum(axis=2)) @ weight / weight.sum()
