"""A fitted ℓ-DEP as C99: constants and the functions that compute it from its features."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ldep.export.piecewise import Link, Piecewise
from ldep.probability import OPEN_VOTES

# The slopes are stored feature by feature, so that a compiler can compute several pieces at a time.
FUNCTIONS = """\
/* Values of the maxima of all members: `tau` gets one difference per member, `active` the piece of each maximum. */
static inline void ldep_members(const double *z, double *tau, int *active)
{
    double score[LDEP_PIECES];
    int p, f, m, side;
    for (p = 0; p < LDEP_PIECES; p++) score[p] = 0.0;
    for (f = 0; f < LDEP_FEATURES; f++)
        for (p = 0; p < LDEP_PIECES; p++) score[p] += ldep_slope[f][p] * z[f];
    for (p = 0; p < LDEP_PIECES; p++) score[p] += ldep_offset[p];
    for (m = 0; m < LDEP_MEMBERS; m++) {
        for (side = 0; side < 2; side++) {
            int best = ldep_start[2 * m + side];
            for (p = best + 1; p < ldep_start[2 * m + side + 1]; p++)
                if (score[p] > score[best]) best = p;
            active[2 * m + side] = best;
        }
        tau[m] = score[active[2 * m]] - score[active[2 * m + 1]];
    }
}

static inline double ldep_decision_of(const double *z)
{
    double tau[LDEP_MEMBERS], decision = -LDEP_THRESHOLD;
    int active[2 * LDEP_MEMBERS], m;
    ldep_members(z, tau, active);
    for (m = 0; m < LDEP_MEMBERS; m++) {
        if (LDEP_CLIPPED) tau[m] = tau[m] > 1.0 ? 1.0 : tau[m] < -1.0 ? -1.0 : tau[m];
        decision += ldep_weight[m] * tau[m];
    }
    return decision;
}

static inline double ldep_contributions_of(const double *z, double *contributions)
{
    double tau[LDEP_MEMBERS], bias = -LDEP_THRESHOLD;
    int active[2 * LDEP_MEMBERS], m, f;
    ldep_members(z, tau, active);
    for (f = 0; f < LDEP_FEATURES; f++) contributions[f] = 0.0;
    for (m = 0; m < LDEP_MEMBERS; m++) {
        const int i = active[2 * m], j = active[2 * m + 1];
        const double size = fabs(tau[m]), factor = ldep_weight[m] / (LDEP_CLIPPED && size > 1.0 ? size : 1.0);
        for (f = 0; f < LDEP_FEATURES; f++)
            contributions[f] += (ldep_slope[f][i] - ldep_slope[f][j]) * (z[f] + ldep_shift[m][f]) * factor;
        bias += (ldep_own_offset[i] - ldep_own_offset[j]) * factor;
    }
    return bias;
}
"""


def c_model(model: Piecewise) -> str:
    """Return the C code of a model.

    It defines LDEP_FEATURES, ldep_center, and functions of z, the features minus ldep_center: ldep_decision_of(z),
    ldep_contributions_of(z, contributions), which returns the bias, and, if the model has probabilities,
    ldep_probability_of(decision), that of the second class.
    """
    sizes = {
        "LDEP_FEATURES": model.n_features,
        "LDEP_PIECES": len(model.offsets),
        "LDEP_MEMBERS": len(model.weights),
        "LDEP_CLIPPED": int(model.clipped),
        "LDEP_THRESHOLD": number(model.threshold),
    }
    parts = [
        "\n".join(f"#define {name} {value}" for name, value in sizes.items()) + "\n",
        array("static const double ldep_slope[LDEP_FEATURES][LDEP_PIECES]", model.slopes.T),
        array("static const double ldep_offset[LDEP_PIECES]", model.offsets),
        array("static const double ldep_own_offset[LDEP_PIECES]", model.own_offsets),
        array("static const double ldep_center[LDEP_FEATURES]", model.center),
        array("static const double ldep_shift[LDEP_MEMBERS][LDEP_FEATURES]", model.shifts),
        array("static const double ldep_weight[LDEP_MEMBERS]", model.weights),
        array("static const int ldep_start[2 * LDEP_MEMBERS + 1]", model.starts),
        "\n" + FUNCTIONS,
    ]
    if model.link is not None:
        parts.append("\n" + _probability(model.link, model.threshold))
    return "".join(parts)


def array(declaration: str, values: Any) -> str:
    """Return the definition of an array of numbers, with one line per row."""
    table = np.asarray(values)
    if table.ndim == 1:
        return f"{declaration} = {{{_joined(table)}}};\n"
    rows = ",\n".join(f"    {{{_joined(row)}}}" for row in table)
    return f"{declaration} = {{\n{rows}\n}};\n"


def number(value: float) -> str:
    """Return a number as C reads it, to the last bit."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return repr(float(value)) if value >= 0 else f"({float(value)!r})"


def _joined(values: Iterable[Any]) -> str:
    return ", ".join(str(int(v)) if isinstance(v, np.integer) else number(float(v)).strip("()") for v in values)


def _probability(link: Link, threshold: float) -> str:
    shifted = f"(decision + {number(threshold)})"
    value = {
        "identity": "decision",
        "asinh": f"asinh{shifted}",
        "log_odds": f"2.0 * atanh({number(1.0 - OPEN_VOTES)} * {shifted})",
    }[link.kind]
    return f"""\
static inline double ldep_probability_of(double decision)
{{
    const double score = {number(link.slope)} * ({value}) + {number(link.intercept)};
    return 1.0 / (1.0 + exp(-score));
}}
"""
