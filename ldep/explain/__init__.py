"""Exact answers about trained models: why a decision is as it is, what would change it, and how far that is.

Decision values are piecewise affine with few pieces. Their regions are polyhedra, so that questions which other
classifiers answer by sampling are small convex programs here. Every fitted estimator has these answers as methods.
"""

from ldep._utils import belong_to
from ldep.explain._attribution import GlobalExplanation
from ldep.explain._box import box_of_answer
from ldep.explain._constraints import Linear, LinearRows, parse
from ldep.explain._counterfactual import (
    Change,
    Counterfactuals,
    Question,
    best_of,
    counterfactuals,
    is_proven,
    shown,
    wanted_of,
)
from ldep.explain._domain import NORMS, Domain, make_domain
from ldep.explain._explanation import Explanation
from ldep.explain._least_distance import Deadline
from ldep.explain._methods import ExactAnswers
from ldep.explain._projection import Outcome
from ldep.explain._regions import Regions, simplified
from ldep.explain._rules import RuleSheet, ScoreSheet, Sheet, rule_sheet
from ldep.explain._sets import PredictionSets, sets_in_ball
from ldep.explain._several import Levers, Menu, Option, menu, several

__all__ = [
    "NORMS",
    "Change",
    "Counterfactuals",
    "Deadline",
    "Domain",
    "ExactAnswers",
    "Explanation",
    "GlobalExplanation",
    "Levers",
    "Linear",
    "LinearRows",
    "Menu",
    "Option",
    "Outcome",
    "PredictionSets",
    "Question",
    "Regions",
    "RuleSheet",
    "ScoreSheet",
    "Sheet",
    "best_of",
    "box_of_answer",
    "counterfactuals",
    "is_proven",
    "make_domain",
    "menu",
    "parse",
    "rule_sheet",
    "sets_in_ball",
    "several",
    "shown",
    "simplified",
    "wanted_of",
]

belong_to(
    __name__,
    Change,
    Counterfactuals,
    Explanation,
    GlobalExplanation,
    Menu,
    Option,
    PredictionSets,
    RuleSheet,
    ScoreSheet,
    Sheet,
)
