#include "base/text.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"

/* ---- Foreign text made harmless for a terminal ---- */

/* Characters of three bytes that reorder text: marks (U+200E, U+200F), embeddings and overrides
 * (U+202A..U+202E), isolates (U+2066..U+2069). Source: Unicode Standard Annex 9, 2. */
static bool reorders(unsigned char second, unsigned char third) {
    if (second == 0x80) return third == 0x8e || third == 0x8f || (third >= 0xaa && third <= 0xae);
    return second == 0x81 && third >= 0xa6 && third <= 0xa9;
}

size_t hu_control_bytes(const char *text) {
    unsigned char first = (unsigned char)text[0], second = first ? (unsigned char)text[1] : 0;
    if (first == 0xc2 && second >= 0x80 && second < 0xa0) return 2;
    if (first == 0xd8 && second == 0x9c) return 2; /* U+061C, the Arabic mark */
    if (first == 0xe2 && second && reorders(second, (unsigned char)text[2])) return 3;
    return first < 0x20 || first == 0x7f;
}

/* Bytes of the UTF-8 character at the beginning of a text; 1 of what is none. */
static size_t character_bytes(const char *text) {
    size_t bytes = 1;
    while (((unsigned char)text[0] & 0xc0) == 0xc0 && ((unsigned char)text[bytes] & 0xc0) == 0x80 &&
           bytes < 4)
        bytes++;
    return bytes;
}

void hu_escape(const char *text, char *to, size_t capacity) {
    size_t used = 0;
    while (*text) {
        char piece[4 * 3 + 1];
        size_t controls = hu_control_bytes(text),
               taken = controls ? controls : character_bytes(text);
        size_t length = controls ? 4 * controls : taken;
        for (size_t i = 0; i < controls; i++)
            snprintf(piece + 4 * i, sizeof piece - 4 * i, "\\x%02x", (unsigned char)text[i]);
        if (used + length >= capacity) break;
        memcpy(to + used, controls ? piece : text, length);
        used += length;
        text += taken;
    }
    if (capacity > 0) to[used] = '\0';
}

bool hu_has_controls(const char *text) {
    for (; *text; text++)
        if (hu_control_bytes(text) > 0) return true;
    return false;
}

/* ---- quote ---- */

/* Names of files in commands that a message proposes: who copies them runs no other
 * command. */

/* Appends, if there is room for that and for a final zero. */
static bool add(const char *text, size_t length, char *to, size_t capacity, size_t *used) {
    if (length >= capacity - *used) return false;
    memcpy(to + *used, text, length);
    *used += length;
    to[*used] = '\0';
    return true;
}

/* Between single quotes, with what stands for a quote and for a backslash inside. */
static bool quote(const char *text, const char *of_quote, const char *of_backslash, char *to,
                  size_t capacity) {
    size_t used = 0;
    bool fits = capacity > 0 && add("'", 1, to, capacity, &used);
    for (; *text && fits; text++) {
        const char *put = *text == '\'' ? of_quote : *text == '\\' ? of_backslash : NULL;
        fits = put ? add(put, strlen(put), to, capacity, &used) : add(text, 1, to, capacity, &used);
    }
    fits = fits && add("'", 1, to, capacity, &used);
    if (!fits && capacity > 0) to[0] = '\0';
    return fits;
}

bool hu_quote_shell(const char *text, char *to, size_t capacity) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./+-@%:,=";
    size_t length = strlen(text);
    if (length == 0 || text[0] == '-' || strspn(text, plain) != length)
        return quote(text, "'\\''", "\\", to, capacity);
    if (length >= capacity) {
        if (capacity > 0) to[0] = '\0';
        return false;
    }
    memcpy(to, text, length + 1);
    return true;
}

bool hu_quote_python(const char *text, char *to, size_t capacity) {
    return quote(text, "\\'", "\\\\", to, capacity);
}

/* ---- nearest ---- */

/* The known names that a mistyped word most resembles, for error messages. */

/* Characters of a word that count, and names that a message shows. */
enum { WORD_MAX = 63, SHOWN = 3 };

/* A copy in lower case, cut at WORD_MAX characters; its length. */
static size_t lowered(const char *word, char out[WORD_MAX + 1]) {
    size_t n = 0;
    for (; n < WORD_MAX && word[n] != '\0'; n++) out[n] = (char)tolower((unsigned char)word[n]);
    out[n] = '\0';
    return n;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Optimal string alignment distance (Damerau, CACM 7(3), 1964; each part edited once) of s [rows]
 * and t [columns]. Rows i-2, i-1 and i of the table are kept: row[i % 3]. */
static size_t distance(const char *s, size_t rows, const char *t, size_t columns) {
    size_t row[3][WORD_MAX + 1];
    for (size_t j = 0; j <= columns; j++) row[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t *now = row[i % 3];
        const size_t *before = row[(i + 2) % 3], *two_before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t replaced = before[j - 1] + (s[i - 1] != t[j - 1]);
            now[j] = smaller(replaced, smaller(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && s[i - 1] == t[j - 2] && s[i - 2] == t[j - 1])
                now[j] = smaller(now[j], two_before[j - 2] + 1);
        }
    }
    return row[rows % 3][columns];
}

/* Keeps best[0..*found-1] sorted by distance; equals stay in the order of arrival. */
static void offer(const char *name, size_t apart, const char *best[SHOWN], size_t nearness[SHOWN],
                  size_t *found) {
    size_t at = *found;
    while (at > 0 && nearness[at - 1] > apart) at--;
    if (at == SHOWN) return;
    if (*found < SHOWN) ++*found;
    for (size_t i = *found - 1; i > at; i--) {
        best[i] = best[i - 1];
        nearness[i] = nearness[i - 1];
    }
    best[at] = name;
    nearness[at] = apart;
}

void hu_nearest(const char *word, const char *const *names, size_t count, char *text,
                size_t capacity) {
    const char *best[SHOWN] = {"", "", ""};
    size_t nearness[SHOWN] = {0}, found = 0;
    char s[WORD_MAX + 1], t[WORD_MAX + 1];
    size_t rows = lowered(word, s);
    for (size_t i = 0; i < count; i++) {
        if (names[i] == NULL) continue;
        size_t columns = lowered(names[i], t),
               least = rows > columns ? rows - columns : columns - rows;
        /* No distance is less than that of the lengths, and equals do not displace. */
        if (found == SHOWN && least >= nearness[SHOWN - 1]) continue;
        offer(names[i], distance(s, rows, t, columns), best, nearness, &found);
    }
    if (capacity == 0) return;
    text[0] = '\0';
    if (found == 1) snprintf(text, capacity, "'%s'", best[0]);
    if (found == 2) snprintf(text, capacity, "'%s' or '%s'", best[0], best[1]);
    if (found == 3) snprintf(text, capacity, "'%s', '%s' or '%s'", best[0], best[1], best[2]);
}

/* ---- note ---- */

/* Short texts to which one thing after the other is added: warnings that a caller
 * shows later. */

void hu_note_add(char *note, size_t capacity, const char *separator, const char *format, ...) {
    va_list args;
    size_t used = strlen(note);
    if (used > 0 && used + 1 < capacity)
        used += (size_t)snprintf(note + used, capacity - used, "%s", separator);
    if (used + 1 >= capacity) return;
    va_start(args, format);
    vsnprintf(note + used, capacity - used, format, args);
    va_end(args);
}

/* ---- decimal ---- */

/* Numbers as text: doubles as decimals that are no longer than they need to be,
 * and texts as numbers of which nothing is lost. */

/* "1e+22" becomes "1e22", "1e-07" becomes "1e-7". */
static void trim_exponent(char *text) {
    char *from = strchr(text, 'e'), *to = from;
    if (!from) return;
    *to++ = *from++;
    if (*from == '-') *to++ = '-';
    from += strspn(from, "+-0");
    memmove(to, from, strlen(from) + 1);
}

const char *hu_decimal_text(double value, char *text) {
    enum { ALWAYS = 15, MOST = 17 };
    int digits = fabs(value) < DBL_MIN ? 1 : ALWAYS;
    do snprintf(text, HU_DECIMAL_BYTES, "%.*g", digits, value);
    while (hu_f64_bits(strtod(text, NULL)) != hu_f64_bits(value) && ++digits <= MOST);
    trim_exponent(text);
    return text;
}

const char *hu_scale_text(double value, char *text) {
    int exponent;
    snprintf(text, HU_DECIMAL_BYTES, "%g", value);
    bool is_power = isfinite(value) && frexp(value, &exponent) == 0.5;
    if (is_power && strtod(text, NULL) != value)
        snprintf(text, HU_DECIMAL_BYTES, "2^%d", exponent - 1);
    return text;
}

/* ---- texts as numbers ---- */

/* Digits that count one by one; whether others after them are zero is all that matters of those.
 * Numbers of 2^+-HU_WIDE_EXPONENT have at most 1,234 decimal places before or after the point. */
enum { DIGITS_MOST = 800, PLACES_MOST = 1234, LIMB_BITS = 32 };

/* DIGITS_MOST hexadecimal digits, or decimal ones shifted up for a division by 10^(PLACES_MOST +
 * DIGITS_MOST), whose logarithm is below 6,757. */
enum { LIMBS = (DIGITS_MOST * 4 + 6757 + 3 * 64) / LIMB_BITS };

/* A natural number, least significant limb first, and whether less than 1 was cut off it. */
typedef struct whole {
    uint32_t limb[LIMBS];
    int count;
    bool is_cut;
} whole;

static void multiply_add(whole *w, uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (int i = 0; i < w->count; i++) {
        carry += (uint64_t)w->limb[i] * factor;
        w->limb[i] = (uint32_t)carry;
        carry >>= LIMB_BITS;
    }
    if (carry != 0) w->limb[w->count++] = (uint32_t)carry;
}

/* The floor of a floor is the floor of the whole quotient, so divisors may come one by one. */
static void divide(whole *w, uint32_t divisor) {
    uint64_t rest = 0;
    for (int i = w->count; i-- > 0;) {
        rest = rest << LIMB_BITS | w->limb[i];
        w->limb[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    while (w->count > 0 && w->limb[w->count - 1] == 0) w->count--;
    w->is_cut |= rest != 0;
}

static void shift_limbs(whole *w, int limbs) {
    memmove(w->limb + limbs, w->limb, (size_t)w->count * sizeof *w->limb);
    memset(w->limb, 0, (size_t)limbs * sizeof *w->limb);
    w->count += limbs;
}

/* Times 10^power, in steps that fit a limb. */
static void scale_up(whole *w, int power) {
    for (; power >= 9; power -= 9) multiply_add(w, 1000000000u, 0);
    for (; power > 0; power--) multiply_add(w, 10, 0);
}

/* Divided by 10^power; gives the limbs that it was shifted up before, so that 64 bits and more are
 * left: 10^power is below 2^(3.33 power). */
static int scale_down(whole *w, int power) {
    int limbs = (power * 333 / 100 + 1 + 64) / LIMB_BITS + 1;
    shift_limbs(w, limbs);
    for (; power >= 9; power -= 9) divide(w, 1000000000u);
    for (; power > 0; power--) divide(w, 10);
    return limbs;
}

/* The 64 bits below the top one, the last of them 1 if anything is below: w 2^exponent. w > 0. */
static hu_wide wide_of(const whole *w, int exponent) {
    int top = w->count * LIMB_BITS - 1 - __builtin_clz(w->limb[w->count - 1]);
    hu_wide number = {.exponent = top + exponent};
    bool is_cut = w->is_cut;
    for (int i = w->count; i-- > 0;) {
        int place = i * LIMB_BITS + 63 - top; /* of the limb's last bit in the significand */
        if (place >= 0)
            number.significand |= (uint64_t)w->limb[i] << place;
        else if (place > -LIMB_BITS) {
            number.significand |= w->limb[i] >> -place;
            is_cut |= w->limb[i] << (LIMB_BITS + place) != 0;
        } else
            is_cut |= w->limb[i] != 0;
    }
    number.significand |= is_cut;
    return number;
}

/* A text in its parts: digits 0.d1d2d3... base^lead, and a factor 2^power. */
typedef struct spelled {
    whole digits;
    int taken;      /* digits in there, from the first that is not zero */
    int64_t lead;   /* places of digits before the point, from that digit on */
    int64_t factor; /* exponent as written: of 10, or of 2 */
    bool is_hexadecimal;
} spelled;

static int digit_value(char c, bool is_hexadecimal) {
    if (isdigit((unsigned char)c)) return c - '0';
    return is_hexadecimal && isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* Digits and at most one point; NULL without a digit, else what stands after them. */
static const char *read_digits(const char *at, spelled *s) {
    bool has_digit = false, is_behind = false;
    for (int value;; at++) {
        if (*at == '.' && !is_behind) {
            is_behind = true;
            continue;
        }
        if ((value = digit_value(*at, s->is_hexadecimal)) < 0) return has_digit ? at : NULL;
        has_digit = true;
        bool counts = s->taken > 0 || value != 0;
        if (counts != is_behind) s->lead += counts ? 1 : -1;
        if (!counts) continue;
        if (s->taken == DIGITS_MOST) {
            s->digits.is_cut |= value != 0;
            continue;
        }
        multiply_add(&s->digits, s->is_hexadecimal ? 16 : 10, (uint32_t)value);
        s->taken++;
    }
}

/* Numbers beyond this stay there: no text has so many digits that they could bring it back. */
static const char *read_exponent(const char *at, int64_t *exponent) {
    const int64_t most = INT64_MAX / 16;
    bool is_negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if (!isdigit((unsigned char)*at)) return NULL;
    for (; isdigit((unsigned char)*at); at++)
        if (*exponent < most / 10) *exponent = *exponent * 10 + (*at - '0');
    if (is_negative) *exponent = -*exponent;
    return at;
}

/* 2^+-HU_WIDE_EXPONENT and beyond, without the sign. */
static hu_wide at_the_end(bool is_large) {
    return (hu_wide){.exponent = is_large ? HU_WIDE_EXPONENT : -HU_WIDE_EXPONENT,
                     .significand = (uint64_t)1 << 63 | 1};
}

static hu_wide wide_of_spelled(spelled *s) {
    int64_t lead = s->is_hexadecimal ? 4 * s->lead + s->factor : s->lead + s->factor;
    int64_t most = s->is_hexadecimal ? HU_WIDE_EXPONENT : PLACES_MOST;
    if (s->taken == 0) return (hu_wide){0};
    if (lead > most || lead < -most) return at_the_end(lead > 0);
    if (s->is_hexadecimal) return wide_of(&s->digits, (int)lead - 4 * s->taken);
    int power = (int)lead - s->taken, limbs = 0;
    if (power >= 0)
        scale_up(&s->digits, power);
    else
        limbs = scale_down(&s->digits, -power);
    return wide_of(&s->digits, -limbs * LIMB_BITS);
}

bool hu_wide_read(const char *text, hu_wide *number) {
    spelled s = {0};
    bool is_negative = *text == '-';
    const char *at = text + (*text == '-' || *text == '+');
    s.is_hexadecimal = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    at = read_digits(s.is_hexadecimal ? at + 2 : at, &s);
    if (at && tolower((unsigned char)*at) == (s.is_hexadecimal ? 'p' : 'e'))
        at = read_exponent(at + 1, &s.factor);
    if (!at || *at) return false;
    *number = wide_of_spelled(&s);
    number->is_negative = is_negative;
    return true;
}

bool hu_decimal_has_comma(const char *text, char *point) {
    hu_wide number;
    const char *comma = strchr(text, ',');
    if (!comma || strlen(text) >= HU_DECIMAL_BYTES) return false;
    snprintf(point, HU_DECIMAL_BYTES, "%s", text);
    point[comma - text] = '.';
    return hu_wide_read(point, &number);
}

/* ---- tables of names ---- */

enum { MOST_ROWS = 256 };

void hu_nearest_row(const char *word, const void *rows, size_t count, size_t stride, char *text,
                    size_t capacity) {
    const char *names[MOST_ROWS];
    if (count > MOST_ROWS) count = MOST_ROWS;
    for (size_t i = 0; i < count; i++)
        names[i] = *(const char *const *)(const void *)((const char *)rows + i * stride);
    hu_nearest(word, names, count, text, capacity);
}

/* Whole names only, and exactly as the table has them. */
hu_status hu_registry_parse(const char *what, const hu_kind *kinds, size_t count, const char *name,
                            size_t *index) {
    char near[256];
    *index = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(kinds[i].name, name) != 0) continue;
        *index = i;
        return HU_OK;
    }
    hu_nearest_row(name, kinds, count, sizeof *kinds, near, sizeof near);
    return hu_fail(HU_ERR_UNKNOWN, "%s: found '%s', expected %s", what, name, near);
}

/* NaN is in no range. */
hu_status hu_require_range(const char *key, double value, double low, double high,
                           const char *expected) {
    if (value >= low && value < high) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "%s: found %g, expected %s", key, value, expected);
}
