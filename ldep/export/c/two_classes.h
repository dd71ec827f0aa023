/* Values of the maxima of all members: `tau` gets one value per member, `active` the piece of each maximum. */
static inline void ldep_members(const double *z, double *tau, int *active)
{
    double score[LDEP_PIECES];
    int p, f, m, k;
    for (p = 0; p < LDEP_PIECES; p++) score[p] = 0.0;
    for (f = 0; f < LDEP_FEATURES; f++)
        for (p = 0; p < LDEP_PIECES; p++) score[p] += ldep_slope[f][p] * z[f];
    for (p = 0; p < LDEP_PIECES; p++) score[p] += ldep_offset[p];
    for (m = 0; m < LDEP_MEMBERS; m++) tau[m] = 0.0;
    for (k = 0; k < LDEP_MEMBERS * LDEP_MAXIMA; k++) {
        int best = ldep_start[k];
        for (p = best + 1; p < ldep_start[k + 1]; p++)
            if (score[p] > score[best]) best = p;
        active[k] = best;
        tau[k / LDEP_MAXIMA] += ldep_sign[k % LDEP_MAXIMA] * score[best];
    }
}

static inline double ldep_decision_of(const double *z)
{
    double tau[LDEP_MEMBERS], decision = -LDEP_THRESHOLD;
    int active[LDEP_MEMBERS * LDEP_MAXIMA], m;
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
    int active[LDEP_MEMBERS * LDEP_MAXIMA], k, f;
    ldep_members(z, tau, active);
    for (f = 0; f < LDEP_FEATURES; f++) contributions[f] = 0.0;
    for (k = 0; k < LDEP_MEMBERS * LDEP_MAXIMA; k++) {
        const int m = k / LDEP_MAXIMA, p = active[k];
        const double size = fabs(tau[m]), share = ldep_weight[m] / (LDEP_CLIPPED && size > 1.0 ? size : 1.0);
        const double factor = ldep_sign[k % LDEP_MAXIMA] * share;
        for (f = 0; f < LDEP_FEATURES; f++)
            contributions[f] += ldep_slope[f][p] * (z[f] + ldep_shift[m][f]) * factor;
        bias += ldep_own_offset[p] * factor;
    }
    return bias;
}

static inline double ldep_decision(const double *row)
{
    double z[LDEP_FEATURES];
    return ldep_features(row, z) ? ldep_decision_of(z) : NAN;
}

static inline int ldep_predict(const double *row)
{
    const double decision = ldep_decision(row);
    return isnan(decision) ? -1 : decision >= 0.0;
}

static inline double ldep_contributions(const double *row, double *shares)
{
    double z[LDEP_FEATURES], of_features[LDEP_FEATURES], bias = NAN;
    const int usable = ldep_features(row, z);
    int f;
    for (f = 0; f < LDEP_COLUMNS; f++) shares[f] = usable ? 0.0 : NAN;
    if (!usable) return NAN;
    bias = ldep_contributions_of(z, of_features);
    for (f = 0; f < LDEP_FEATURES; f++) shares[ldep_source[f]] += of_features[f];
    return bias;
}
