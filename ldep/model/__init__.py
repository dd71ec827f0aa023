"""What a fitted ℓ-DEP is, whoever trained it: maxima of affine pieces, votes, and the link to probabilities."""

from ldep._utils import belong_to
from ldep.model._decisions import (
    OPEN_VOTES,
    cast_votes,
    class_numbers,
    folded,
    form_in,
    form_of,
    lead,
    open_votes,
    sparsemax,
    sparsemax_limit,
    unfolded,
)
from ldep.model._fitted import FittedModel, Maxima, Missing, active_pieces
from ldep.model._link import ARGUMENTS, Link, fit_decisions, fit_slope, fit_votes, leads, own_link
from ldep.model._sets import LARGEST_COVERAGE, SetLimits, check_coverage, class_scores

__all__ = [
    "ARGUMENTS",
    "LARGEST_COVERAGE",
    "OPEN_VOTES",
    "FittedModel",
    "Link",
    "Maxima",
    "Missing",
    "SetLimits",
    "active_pieces",
    "cast_votes",
    "check_coverage",
    "class_numbers",
    "class_scores",
    "fit_decisions",
    "fit_slope",
    "fit_votes",
    "folded",
    "form_in",
    "form_of",
    "lead",
    "leads",
    "open_votes",
    "own_link",
    "sparsemax",
    "sparsemax_limit",
    "unfolded",
]

belong_to(__name__, FittedModel, Link, Maxima, Missing, SetLimits)
