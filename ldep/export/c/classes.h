/* Scores of all members, one row per member; `active` gets the piece of each maximum. */
static inline void ldep_scores(const double *z, double scores[LDEP_MEMBERS][LDEP_CLASSES], int *active)
{
    double piece[LDEP_PIECES];
    int p, f, g, m, k;
    for (p = 0; p < LDEP_PIECES; p++) piece[p] = 0.0;
    for (f = 0; f < LDEP_FEATURES; f++)
        for (p = 0; p < LDEP_PIECES; p++) piece[p] += ldep_slope[f][p] * z[f];
    for (p = 0; p < LDEP_PIECES; p++) piece[p] += ldep_offset[p];
    for (m = 0; m < LDEP_MEMBERS; m++)
        for (k = 0; k < LDEP_CLASSES; k++) scores[m][k] = 0.0;
    for (g = 0; g < LDEP_MEMBERS * LDEP_MAXIMA; g++) {
        int best = ldep_start[g];
        for (p = best + 1; p < ldep_start[g + 1]; p++)
            if (piece[p] > piece[best]) best = p;
        active[g] = best;
        for (k = 0; k < LDEP_CLASSES; k++)
            scores[g / LDEP_MAXIMA][k] += ldep_sign[k][g % LDEP_MAXIMA] * piece[best];
    }
}

/* The vote of a member: the shares of the classes nearest to its scores (sparsemax), or the scores themselves. */
static inline void ldep_vote(const double *scores, double *votes)
{
    double sorted[LDEP_CLASSES], sum = 0.0, limit = 0.0;
    int k, i;
    for (k = 0; k < LDEP_CLASSES; k++) votes[k] = scores[k];
    if (!LDEP_SHARED) return;
    for (k = 0; k < LDEP_CLASSES; k++) {
        for (i = k; i > 0 && sorted[i - 1] < scores[k]; i--) sorted[i] = sorted[i - 1];
        sorted[i] = scores[k];
    }
    for (k = 0; k < LDEP_CLASSES; k++) {
        sum += sorted[k] - sorted[0];
        if ((sorted[k] - sorted[0]) * (k + 1) > sum - 1.0) limit = sorted[0] + (sum - 1.0) / (k + 1);
    }
    for (k = 0; k < LDEP_CLASSES; k++) votes[k] = scores[k] > limit ? scores[k] - limit : 0.0;
}

/* What the votes of all members sum to; with shared votes, after a part of them was left open. */
static inline void ldep_total(double scores[LDEP_MEMBERS][LDEP_CLASSES], double *total)
{
    double votes[LDEP_CLASSES];
    int m, k;
    for (k = 0; k < LDEP_CLASSES; k++) total[k] = 0.0;
    for (m = 0; m < LDEP_MEMBERS; m++) {
        ldep_vote(scores[m], votes);
        for (k = 0; k < LDEP_CLASSES; k++) total[k] += ldep_weight[m] * votes[k];
    }
    for (k = 0; k < LDEP_CLASSES; k++) total[k] = (1.0 - LDEP_OPEN) * total[k] + LDEP_OPEN / LDEP_CLASSES;
}

static inline void ldep_decisions_of(const double *z, double *decisions)
{
    double scores[LDEP_MEMBERS][LDEP_CLASSES];
    int active[LDEP_MEMBERS * LDEP_MAXIMA], k;
    ldep_scores(z, scores, active);
    ldep_total(scores, decisions);
    for (k = 0; k < LDEP_CLASSES; k++) decisions[k] = ldep_factor[k] * decisions[k] - ldep_threshold[k];
}

/* The class with the largest decision value but the class `without`; of equal ones the first. */
static inline int ldep_best(const double *decisions, int without)
{
    int k, best = -1;
    for (k = 0; k < LDEP_CLASSES; k++)
        if (k != without && (best < 0 || decisions[k] > decisions[best])) best = k;
    return best;
}

static inline void ldep_decisions(const double *row, double *decisions)
{
    double z[LDEP_FEATURES];
    int k;
    if (ldep_features(row, z)) ldep_decisions_of(z, decisions);
    else for (k = 0; k < LDEP_CLASSES; k++) decisions[k] = NAN;
}

static inline int ldep_predict(const double *row)
{
    double decisions[LDEP_CLASSES];
    ldep_decisions(row, decisions);
    return isnan(decisions[0]) ? -1 : ldep_best(decisions, -1);
}

static inline double ldep_contributions(const double *row, double *shares, int *pair)
{
    double z[LDEP_FEATURES], decisions[LDEP_CLASSES], total[LDEP_CLASSES], votes[LDEP_CLASSES], bias = 0.0;
    double scores[LDEP_MEMBERS][LDEP_CLASSES], slope, advantage;
    int active[LDEP_MEMBERS * LDEP_MAXIMA], label, rival, g, f;
    const int usable = ldep_features(row, z);
    pair[0] = pair[1] = -1;
    for (f = 0; f < LDEP_COLUMNS; f++) shares[f] = usable ? 0.0 : NAN;
    if (!usable) return NAN;
    ldep_decisions_of(z, decisions);
    pair[0] = label = ldep_best(decisions, -1);
    pair[1] = rival = ldep_best(decisions, label);
    ldep_scores(z, scores, active);
    ldep_total(scores, total);
    slope = 0.5 * (ldep_factor[label] + ldep_factor[rival]) * (1.0 - LDEP_OPEN);
    advantage = 0.5 * (ldep_factor[label] - ldep_factor[rival]) * (LDEP_SHARED ? total[label] + total[rival] : 0.0);
    for (g = 0; g < LDEP_MEMBERS * LDEP_MAXIMA; g++) {
        const int m = g / LDEP_MAXIMA, p = active[g];
        const double sign = ldep_sign[label][g % LDEP_MAXIMA] - ldep_sign[rival][g % LDEP_MAXIMA];
        const double lead = scores[m][label] - scores[m][rival];
        double part, factor;
        ldep_vote(scores[m], votes);
        part = lead != 0.0 ? (votes[label] - votes[rival]) / lead : 1.0;
        factor = slope * ldep_weight[m] * sign * (part < 0.0 ? 0.0 : part > 1.0 ? 1.0 : part);
        for (f = 0; f < LDEP_FEATURES; f++)
            shares[ldep_source[f]] += ldep_slope[f][p] * (z[f] + ldep_shift[m][f]) * factor;
        bias += ldep_own_offset[p] * factor;
    }
    return bias + advantage - (ldep_threshold[label] - ldep_threshold[rival]);
}
