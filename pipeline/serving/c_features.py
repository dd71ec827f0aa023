"""The encoder in C: from the numbers of a row to features, and from text to the moment of a date."""

from __future__ import annotations

from ldep.export.c_model import array
from pipeline.encoding.dates import FORMS, PARTS
from pipeline.serving.portable import Column, Portable

KINDS = ("value", "equals", "missing", *PARTS)
EXPANSION = """\
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
    case 1: return isnan(cell) ? NAN : cell == ldep_code_of[f] ? 1.0 : 0.0;
    case 2: return isnan(cell) ? 1.0 : 0.0;
    default: return isnan(cell) ? NAN : ldep_part(cell, ldep_kind[f] - 3);
    }
}
"""
DATES = """\
static inline int ldep_take(const char **text, const char *end, int least, int most, int *value)
{
    int count = 0;
    *value = 0;
    while (count < most && *text < end && **text >= '0' && **text <= '9') {
        *value = 10 * *value + (*(*text)++ - '0');
        count++;
    }
    return count >= least;
}

/* Read the time after a date; 0 if the text is not one. Adds its seconds. */
static inline int ldep_take_time(const char *text, const char *end, double *seconds)
{
    int hour, minute, second = 0, hours, minutes, sign, blanks = 0;
    if (text == end) return 1;
    while (text < end && (*text == 'T' || *text == ' ')) {
        text++;
        blanks++;
    }
    if (!blanks || !ldep_take(&text, end, 1, 2, &hour) || text == end || *text++ != ':') return 0;
    if (!ldep_take(&text, end, 2, 2, &minute)) return 0;
    if (text < end && *text == ':') {
        text++;
        if (!ldep_take(&text, end, 2, 2, &second)) return 0;
        if (text < end && (*text == '.' || *text == ',')) {
            const char *first = ++text;
            while (text < end && *text >= '0' && *text <= '9') text++;
            if (text == first) return 0;
        }
    }
    if (hour > 23 || minute > 59 || second > 59) return 0;
    *seconds += 3600.0 * hour + 60.0 * minute + second;
    while (text < end && (*text == ' ' || (*text >= 9 && *text <= 13))) text++;
    if (text == end) return 1;
    if (*text == 'Z') return text + 1 == end;
    if (*text != '+' && *text != '-') return 0;
    sign = *text++ == '-' ? -1 : 1;
    if (!ldep_take(&text, end, 2, 2, &hours)) return 0;
    if (text < end && *text == ':') text++;
    if (!ldep_take(&text, end, 2, 2, &minutes) || text != end) return 0;
    *seconds -= sign * (3600.0 * hours + 60.0 * minutes);
    return 1;
}

/* The month that a word of three letters names, or 0. */
static inline int ldep_month(const char *word)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    int month, k;
    for (month = 0; month < 12; month++) {
        for (k = 0; k < 3 && (word[k] | 32) == names[3 * month + k]; k++) {}
        if (k == 3) return month + 1;
    }
    return 0;
}

/* Read a date of one form (0 to 4: YYYY-MM-DD, DD.MM.YYYY, MM/DD/YYYY, DD Mon YYYY, YYYYMMDD).
   -1: the text has another form; 0: there is no such day; 1: *moment is set. */
static inline int ldep_take_date(const char *text, const char *end, int form, double *moment)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int parts[3], year, month, day, k, leap;
    double y, days;
    if (form == 4) {
        if (end - text != 8) return -1;
        for (k = 0; k < 3; k++)
            if (!ldep_take(&text, end, k ? 2 : 4, k ? 2 : 4, parts + k)) return -1;
    } else {
        char separator = 0;
        for (k = 0; k < 3; k++) {
            const int is_year = form == 0 ? k == 0 : k == 2;
            if (form == 3 && k == 1) {
                int letter;
                if (end - text < 3) return -1;
                for (letter = 0; letter < 3; letter++)
                    if ((text[letter] | 32) < 'a' || (text[letter] | 32) > 'z') return -1;
                parts[1] = ldep_month(text);
                text += 3;
            } else if (!ldep_take(&text, end, is_year ? 4 : 1, is_year ? 4 : 2, parts + k)) {
                return -1;
            }
            if (k == 2) break;
            if (text == end) return -1;
            if (k == 0) separator = *text;
            if (*text++ != separator) return -1;
            if (form == 3 ? separator != '-' && separator != ' '
                          : separator != '-' && separator != '/' && separator != '.') return -1;
        }
    }
    year = form == 0 || form == 4 ? parts[0] : parts[2];
    month = form == 2 ? parts[0] : parts[1];
    day = form == 0 || form == 4 ? parts[2] : form == 2 ? parts[1] : parts[0];
    *moment = 0.0;
    if (!ldep_take_time(text, end, moment)) return -1;
    leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (year < 1 || month < 1 || month > 12 || day < 1) return 0;
    if (day > lengths[month - 1] + (month == 2 && leap)) return 0;
    y = month <= 2 ? year - 1 : year;
    days = 365.0 * y + floor(y / 4.0) - floor(y / 100.0) + floor(y / 400.0);
    days += floor((153.0 * (month + (month > 2 ? -3 : 9)) + 2.0) / 5.0) + day - 1;
    *moment += 86400.0 * (days - 730425.0);
    return 1;
}

/* The seconds since the beginning of 2000 of a date in a form of the file, or in ISO form; NAN if it is none. */
static inline double ldep_moment(const char *cell, int form)
{
    const char *text;
    size_t length;
    double value, moment;
    int found;
    if (ldep_read(cell, &value, &text, &length) == LDEP_MISSING) return NAN;
    found = ldep_take_date(text, text + length, form, &moment);
    if (found < 0 && form != 0) found = ldep_take_date(text, text + length, 0, &moment);
    return found > 0 ? moment : NAN;
}
"""


def expansion(portable: Portable) -> str:
    """Return the function that computes a feature of a row."""
    features = portable.features
    return "".join(
        [
            f"static const int ldep_source[] = {{{', '.join(str(feature.column) for feature in features)}}};\n",
            "static const unsigned char ldep_kind[] = "
            f"{{{', '.join(str(KINDS.index(feature.kind)) for feature in features)}}};\n",
            array("static const double ldep_code_of[]", [feature.code for feature in features]),
            "\n" + EXPANSION,
        ]
    )


def date_reader(identifier: str, column: Column) -> str:
    """Return the function that reads the cells of a column of dates."""
    form = list(FORMS).index(column.fitted.form)  # type: ignore[union-attr]
    return f"""\
static inline double ldep_encode_{identifier}(const char *cell)
{{
    return ldep_moment(cell, {form});
}}
"""
