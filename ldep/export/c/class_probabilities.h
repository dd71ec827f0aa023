
/* What the link is the softmax of, for the class k. */
static inline double ldep_argument(const double *values, int k)
{
    const double lead = values[k] - values[ldep_best(values, k)];
    switch (LDEP_LINK) {
    case 1: return log(values[k] / ldep_factor[k]);
    case 2: return asinh(lead);
    default: return values[k];
    }
}

static inline void ldep_probabilities(const double *row, double *probabilities)
{
    double values[LDEP_CLASSES], largest, sum = 0.0;
    int k;
    ldep_decisions(row, values);
    for (k = 0; k < LDEP_CLASSES; k++) values[k] += ldep_link_shift[k];
    for (k = 0; k < LDEP_CLASSES; k++)
        probabilities[k] = LDEP_LINK_SLOPE * ldep_argument(values, k) + ldep_link_intercept[k];
    for (k = 1, largest = probabilities[0]; k < LDEP_CLASSES; k++)
        if (probabilities[k] > largest) largest = probabilities[k];
    for (k = 0; k < LDEP_CLASSES; k++) sum += probabilities[k] = exp(probabilities[k] - largest);
    for (k = 0; k < LDEP_CLASSES; k++) probabilities[k] /= sum;
}
