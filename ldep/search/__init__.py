"""The search of `LDEPClassifierCV`, and the selection of the models that vote.

`_plan` decides which settings are tried, `_splits` on which rows, `_cross_validation` fits them along an `_alpha_path`,
and `_scores` scores their out-of-fold decision values and weighs the models. `_penalty` chooses the penalty of a single
model, an `LDEPClassifier` with `alpha="auto"`.
"""

from ldep.search._cross_validation import CrossValidation, Fit, Path
from ldep.search._penalty import PENALTY_TOL, PenaltyPath, choose_penalty
from ldep.search._plan import Plan, check_grid, within_budget
from ldep.search._scores import Scoring, cv_results, greedy_weights, right_votes, squared_error, squared_errors
from ldep.search._splits import MANY_ROWS, Split, apportioned, make_splits, sample_of_rows
