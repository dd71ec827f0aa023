/* Length in bytes of the blank at p, of which `left` bytes are left; 0 if there is none. */
static inline size_t ldep_blank(const unsigned char *p, size_t left)
{
    if (left >= 1 && ((p[0] >= 9 && p[0] <= 13) || (p[0] >= 28 && p[0] <= 32))) return 1;
    if (left >= 2 && p[0] == 0xC2 && (p[1] == 0x85 || p[1] == 0xA0)) return 2;
    if (left < 3) return 0;
    if (p[0] == 0xE1 && p[1] == 0x9A && p[2] == 0x80) return 3;
    if (p[0] == 0xE2 && p[1] == 0x80 && p[2] >= 0x80 && p[2] <= 0x8A) return 3;
    if (p[0] == 0xE2 && p[1] == 0x80 && (p[2] == 0xA8 || p[2] == 0xA9 || p[2] == 0xAF)) return 3;
    if (p[0] == 0xE2 && p[1] == 0x81 && p[2] == 0x9F) return 3;
    return p[0] == 0xE3 && p[1] == 0x80 && p[2] == 0x80 ? 3 : 0;
}

static inline int ldep_is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* Whether the text is a name of infinity (1) or of NaN (2), in any case. */
static inline int ldep_special(const char *text, size_t length)
{
    static const char *const names[] = {"inf", "infinity", "nan"};
    size_t k, i;
    for (k = 0; k < 3; k++) {
        if (strlen(names[k]) != length) continue;
        for (i = 0; i < length && (text[i] == names[k][i] || text[i] == names[k][i] - 32); i++) {}
        if (i == length) return k == 2 ? 2 : 1;
    }
    return 0;
}

static inline size_t ldep_digits(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && text[count] >= '0' && text[count] <= '9') count++;
    return count;
}

/* Whether all of the text is a decimal number. */
static inline int ldep_is_decimal(const char *text, size_t length)
{
    size_t whole = ldep_digits(text, length), place = whole, part = 0;
    if (place < length && text[place] == '.') {
        part = ldep_digits(text + place + 1, length - place - 1);
        place += part + 1;
    }
    if (whole + part == 0) return 0;
    if (place < length && (text[place] == 'e' || text[place] == 'E')) {
        size_t exponent;
        place++;
        if (place < length && (text[place] == '+' || text[place] == '-')) place++;
        exponent = ldep_digits(text + place, length - place);
        if (exponent == 0) return 0;
        place += exponent;
    }
    return place == length;
}

enum { LDEP_MISSING, LDEP_NUMBER, LDEP_TEXT };

/* Read a cell: a number into *value, or a text without the blanks around it into *start and *length.
   Numbers are read by strtod: the locale LC_NUMERIC must have a decimal point, as "C" has. */
static inline int ldep_read(const char *cell, double *value, const char **start, size_t *length)
{
    const char *text = cell;
    size_t left = cell ? strlen(cell) : 0, size, k, sign;
    while (left && (size = ldep_blank((const unsigned char *)text, left)) > 0) {
        text += size;
        left -= size;
    }
    for (size = 1; size <= 3 && size <= left;) {
        if (ldep_blank((const unsigned char *)text + left - size, size) == size) {
            left -= size;
            size = 1;
        } else {
            size++;
        }
    }
    *start = text;
    *length = left;
    if (left == 0) return LDEP_MISSING;
    for (k = 0; k < sizeof ldep_missing / sizeof *ldep_missing; k++)
        if (ldep_is_word(text, left, ldep_missing[k])) return LDEP_MISSING;
    for (k = 0; k < sizeof ldep_words / sizeof *ldep_words; k++)
        if (ldep_is_word(text, left, ldep_words[k])) {
            *value = ldep_word_values[k];
            return LDEP_NUMBER;
        }
    sign = text[0] == '+' || text[0] == '-';
    switch (ldep_special(text + sign, left - sign)) {
    case 1: *value = text[0] == '-' ? -INFINITY : INFINITY; return LDEP_NUMBER;
    case 2: return LDEP_MISSING;
    default: break;
    }
    if (!ldep_is_decimal(text + sign, left - sign)) return LDEP_TEXT;
    *value = strtod(text, NULL);
    return LDEP_NUMBER;
}

/* The number of a cell of a numeric column; NAN if it is missing, INFINITY if the text is not a number. */
static inline double ldep_number(const char *cell)
{
    const char *text;
    size_t length;
    double value = NAN;
    return ldep_read(cell, &value, &text, &length) == LDEP_TEXT ? INFINITY : value;
}

typedef struct { const char *text; int is_number; double number; double code; } ldep_category;

static inline double ldep_code(const char *cell, const ldep_category *categories, size_t count)
{
    const char *text;
    size_t length, k;
    double value = NAN;
    int kind;
    if (!cell) return NAN;
    for (k = 0; k < count; k++) /* most cells are spelled as declared */
        if (strcmp(cell, categories[k].text) == 0) return categories[k].code;
    kind = ldep_read(cell, &value, &text, &length);
    if (kind == LDEP_MISSING) return NAN;
    for (k = 0; k < count; k++) /* the spelling comes first: equal numbers may be declared as different categories */
        if (ldep_is_word(text, length, categories[k].text)) return categories[k].code;
    for (k = 0; k < count && kind == LDEP_NUMBER; k++)
        if (categories[k].is_number && categories[k].number == value) return categories[k].code;
    return NAN;
}
