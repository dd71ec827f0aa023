/* A part of a moment, which is a number of seconds since the beginning of 2000. */
static inline double ldep_part(double moment, int part)
{
    const double days = floor(moment / 86400.0), shifted = days + 730425.0, era = floor(shifted / 146097.0);
    const double day = shifted - era * 146097.0;
    const double leaps = floor(day / 1460.0) - floor(day / 36524.0) + floor(day / 146096.0);
    const double year = floor((day - leaps) / 365.0);
    const double day_of_year = day - (365.0 * year + floor(year / 4.0) - floor(year / 100.0));
    const double month = floor((5.0 * day_of_year + 2.0) / 153.0), next = floor(month / 10.0);
    switch (part) {
    case 0: return era * 400.0 + year + next;
    case 1: return month + 3.0 - 12.0 * next;
    case 2: return days + 5.0 - 7.0 * floor((days + 5.0) / 7.0);
    case 3: return days;
    default: return (moment - days * 86400.0) / 3600.0;
    }
}

/* Feature f of a row before scaling; NAN if its cell is missing. */
static inline double ldep_feature(const double *row, int f)
{
    const double cell = row[ldep_source[f]];
    switch (ldep_kind[f]) {
    case 0: return cell;
    case 1: return isnan(cell) ? NAN : cell == ldep_equals[f] ? 1.0 : 0.0;
    case 2: return isnan(cell) ? 1.0 : 0.0;
    default: return isnan(cell) ? NAN : ldep_part(cell, ldep_kind[f] - 3);
    }
}

/* The features of a row; 0 if a number is out of range. */
static inline int ldep_features(const double *row, double *z)
{
    int f;
    for (f = 0; f < LDEP_FEATURES; f++) {
        double cell = ldep_feature(row, f);
        if (isnan(cell)) cell = ldep_fill[f];
        if (fabs(cell) > LDEP_LARGEST) return 0;
        z[f] = (cell - ldep_mean[f]) / ldep_scale[f] - ldep_center[f];
    }
    return 1;
}
