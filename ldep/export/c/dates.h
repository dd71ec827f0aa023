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
