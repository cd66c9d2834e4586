/* format/table/make.c - from codes and their values to a table: sorted, checked, with boundaries.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "format/table/draft.h"

/* ---- draft ---- */

hu_status hu_code_draft_open(hu_code_draft *draft, uint32_t count) {
    hu_status st = HU_OK;
    *draft = (hu_code_draft){
        .count = count, .low_boundary = NAN, .next = {NAN, NAN}, .overflow = HU_OVERFLOW_SAT};
    HU_TRY(HU_NEW_ARRAY(&draft->value, count));
    HU_TRY(HU_NEW_ARRAY(&draft->boundary, count));
    for (uint32_t i = 0; i < count; i++) draft->boundary[i] = NAN;
    return HU_OK;
done:
    hu_code_draft_close(draft);
    return st;
}

void hu_code_draft_close(hu_code_draft *draft) {
    hu_free(draft->value);
    hu_free(draft->boundary);
    hu_free(draft->line);
    *draft = (hu_code_draft){0};
}

double hu_code_value(double value) {
    return fabs(value) >= 0x1p-126 && fabs(value) <= FLT_MAX ? (double)(float)value : value;
}

hu_status hu_code_fill_ring(const hu_code_recipe *recipe, int bits, hu_code_value_fn *value,
                            hu_code_draft *draft) {
    const int64_t *argument = recipe->argument;
    uint32_t half = 1u << (bits - 1), codes = 2 * half;
    hu_status st = hu_code_draft_open(draft, codes);
    if (st != HU_OK) return st;
    draft->value[half] = NAN;
    for (uint32_t c = 1; c < half; c++) {
        draft->value[c] = hu_code_value(value(argument, bits, c));
        draft->value[codes - c] = -draft->value[c];
        draft->boundary[c] = value(argument, bits + 1, 2 * c + 1);
        /* Below -c is -(c + 1). */
        if (c + 1 < half) draft->boundary[codes - c - 1] = -draft->boundary[c];
    }
    draft->boundary[0] = draft->boundary[codes - 1] = 0;
    draft->next[1] = draft->boundary[half - 1];
    draft->next[0] = draft->low_boundary = -draft->next[1];
    draft->infinity_is_nan = true;
    return HU_OK;
}

/* ---- sorting ---- */

/* A code with a number. */
typedef struct coded {
    double value;
    uint32_t code;
} coded;

static int by_value(const void *a, const void *b) {
    const coded *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return x->code < y->code ? -1 : x->code > y->code;
}

/* Where a code was said: "line 12", or "code 0x1f". */
static const char *place(const hu_code_draft *draft, uint32_t code, char *text, size_t capacity) {
    if (draft->line)
        snprintf(text, capacity, "line %u", (unsigned)draft->line[code]);
    else
        snprintf(text, capacity, "code 0x%02x", (unsigned)code);
    return text;
}

/* Finite numbers of the draft in order; -0 beside a 0 is left out. */
static hu_status sort_numbers(const hu_code_draft *draft, coded *sorted, uint32_t *count) {
    char first[32], second[32];
    bool has_plus = false;
    *count = 0;
    for (uint32_t i = 0; i < draft->count; i++)
        has_plus |= draft->value[i] == 0 && !signbit(draft->value[i]);
    for (uint32_t i = 0; i < draft->count; i++) {
        double value = draft->value[i];
        if (!isfinite(value) || (has_plus && value == 0 && signbit(value))) continue;
        sorted[(*count)++] = (coded){value, i};
    }
    if (*count == 0)
        return hu_fail(HU_ERR_FORMAT,
                       "found %u codes without a finite number, expected one or more",
                       (unsigned)draft->count);
    qsort(sorted, *count, sizeof *sorted, by_value);
    for (uint32_t i = 1; i < *count; i++)
        if (sorted[i].value == sorted[i - 1].value && fabs(sorted[i].value) <= FLT_MAX &&
            (float)sorted[i].value == sorted[i].value)
            return hu_fail(HU_ERR_FORMAT,
                           "%s: found %.9g again, the number of %s, expected each once",
                           place(draft, sorted[i].code, first, sizeof first), sorted[i].value,
                           place(draft, sorted[i - 1].code, second, sizeof second));
    return HU_OK;
}

/* ---- boundaries ---- */

/* (a + b) / 2: the rounded sum and what rounding lost. Knuth, TAOCP 2, 4.2.2, theorem B. */
static hu_code_boundary mean(double a, double b) {
    double sum = a + b, part = sum - a;
    double lost = (a - (sum - part)) + (b - part);
    return (hu_code_boundary){sum / 2, lost / 2};
}

static hu_code_boundary boundary_after(const hu_code_draft *draft, const coded *sorted,
                                       uint32_t i) {
    double given = draft->boundary[sorted[i].code];
    if (!isnan(given)) return (hu_code_boundary){given, 0};
    return mean(sorted[i].value, sorted[i + 1].value);
}

/* Boundaries that a file gives lie between their neighbours. */
static hu_status check_boundaries(const hu_code_draft *draft, const coded *sorted, uint32_t count) {
    char text[32];
    for (uint32_t i = 0; i < count; i++) {
        double given = draft->boundary[sorted[i].code];
        bool is_last = i + 1 == count;
        if (isnan(given)) continue;
        if (given < sorted[i].value || (!is_last && given > sorted[i + 1].value))
            return hu_fail(HU_ERR_FORMAT,
                           "%s: found the boundary %.9g of %.9g, expected one from there to %s%.9g",
                           place(draft, sorted[i].code, text, sizeof text), given, sorted[i].value,
                           is_last ? "infinity, not below " : "the next number, ",
                           sorted[is_last ? i : i + 1].value);
    }
    return HU_OK;
}

static bool is_float32(double value) {
    return fabs(value) <= FLT_MAX && (float)value == value;
}

/* The boundary between the numbers left and right of those places, of which all between are no
 * float32: what would become one of these becomes the next one toward 1. */
static hu_code_boundary boundary_between(const hu_code_draft *draft, const coded *sorted,
                                         uint32_t left, uint32_t right) {
    double inner = sorted[left].value;
    bool is_tiny = fabs(sorted[right].value) < 1 || fabs(inner) < 1;
    bool goes_right = (inner >= 0) == is_tiny;
    if (right == left + 1) return boundary_after(draft, sorted, left);
    return goes_right ? boundary_after(draft, sorted, left)
                      : boundary_after(draft, sorted, right - 1);
}

/* ---- the table ---- */

/* Where the number after the last would be: as far away as the one before it, in float32. */
static double next_after(const double *given, double last, double before) {
    if (!isnan(*given)) return *given;
    double next = last + (last - before);
    return fabs(next) <= FLT_MAX ? (float)next : next;
}

/* Ends of the range. There is another number beyond, which float32 lacks, or none. */
static void set_ends(hu_code_table *t, const hu_code_draft *draft, const coded *sorted,
                     uint32_t count, uint32_t least, uint32_t most) {
    double before = most > 0 ? sorted[most - 1].value : 0;
    double after = least + 1 < count ? sorted[least + 1].value : 0;
    double given[2] = {draft->next[0], draft->next[1]};
    if (least > 0) given[0] = sorted[least - 1].value;
    if (most + 1 < count) given[1] = sorted[most + 1].value;
    t->next[0] = next_after(&given[0], sorted[least].value, after);
    t->next[1] = next_after(&given[1], sorted[most].value, before);
    t->boundary[0] = least > 0                    ? boundary_after(draft, sorted, least - 1)
                     : isnan(draft->low_boundary) ? mean(t->next[0], sorted[least].value)
                                                  : (hu_code_boundary){draft->low_boundary, 0};
    double own = draft->boundary[sorted[most].code];
    t->boundary[t->count] =
        isnan(own) ? mean(sorted[most].value, t->next[1]) : (hu_code_boundary){own, 0};
}

/* Numbers that are float32, and the boundaries between them. */
static void set_numbers(hu_code_table *t, const hu_code_draft *draft, const coded *sorted,
                        uint32_t count) {
    uint32_t least = 0, before = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_float32(sorted[i].value)) continue;
        if (t->count == 0)
            least = i;
        else
            t->boundary[t->count] = boundary_between(draft, sorted, before, i);
        t->number[t->count] = (float)sorted[i].value + 0.0f; /* -0 becomes 0 */
        t->code[t->count++] = sorted[i].code;
        before = i;
    }
    if (t->count > 0) set_ends(t, draft, sorted, count, least, before);
    while (t->first_positive < t->count && t->number[t->first_positive] <= 0) t->first_positive++;
    t->has_zero = t->first_positive > 0 && t->number[t->first_positive - 1] == 0;
}

/* Codes of infinities and NaN: the first that is said. Values of all codes. */
static void set_codes(hu_code_table *t, const hu_code_draft *draft) {
    t->nan_code = t->infinity_code[0] = t->infinity_code[1] = -1;
    for (uint32_t i = draft->count; i-- > 0;) {
        double value = draft->value[i];
        if (isnan(value)) t->nan_code = (int32_t)i;
        if (isinf(value)) t->infinity_code[value < 0] = (int32_t)i;
        t->decoded[i] = (float)value;
    }
}

/* Least and largest exponent of magnitudes that decide. */
static void take_exponent(double value, int *least, int *most) {
    if (value == 0) return;
    int exponent = ilogb(value);
    if (exponent < *least) *least = exponent;
    if (exponent > *most) *most = exponent;
}

/* Biases with which every number and boundary is a normal number of float32, so that a scale moves
 * exponents alone; 0 is always one, and the only one where there are numbers that float32 lacks. */
static void set_biases(hu_code_table *t, bool has_others) {
    int least = INT32_MAX, most = -1000;
    for (uint32_t i = 0; i < t->count; i++) take_exponent(t->number[i], &least, &most);
    for (uint32_t i = 0; i <= t->count; i++) take_exponent(t->boundary[i].at, &least, &most);
    for (int i = 0; i < 2; i++) take_exponent(t->next[i], &least, &most);
    t->least_bias = t->most_bias = 0;
    if (has_others || least == INT32_MAX || least < -125 || most > 126) return;
    t->least_bias = most - 126;
    t->most_bias = least + 125;
}

/* Distance between number place - 1 and number place; beyond the last as far as before it. */
static double gap_at(const hu_code_table *t, uint32_t place) {
    if (place == 0) return (double)t->number[0] - t->next[0];
    if (place == t->count) return t->next[1] - (double)t->number[place - 1];
    return (double)t->number[place] - (double)t->number[place - 1];
}

/* In one walk: what asks for a gap may do so for every block of an update. */
static void set_gaps(hu_code_table *t) {
    uint32_t place = 0; /* numbers at most x */
    for (int e = HU_BINADE_LEAST; e <= HU_BINADE_MOST; e++) {
        double low = ldexp(1.0, e), high = 2 * low, squares = 0;
        for (double x = low; x < high;) {
            while (place < t->count && t->number[place] <= x) place++;
            double end = place < t->count ? t->number[place] : high, gap = gap_at(t, place);
            if (end > high) end = high;
            squares += (end - x) * gap * gap;
            x = end;
        }
        t->gap[e - HU_BINADE_LEAST] = sqrt(squares / low);
    }
}

static hu_status allocate(hu_code_table *t, uint32_t numbers) {
    hu_status st = HU_OK;
    HU_TRY(HU_NEW_ARRAY(&t->decoded, (size_t)1 << t->bits));
    HU_TRY(HU_NEW_ARRAY(&t->number, numbers));
    HU_TRY(HU_NEW_ARRAY(&t->code, numbers));
    HU_TRY(HU_NEW_ARRAY(&t->boundary, (size_t)numbers + 1));
done:
    return st;
}

static hu_status make_sorted(const hu_code_draft *draft, const coded *sorted, uint32_t count,
                             hu_code_table *t) {
    hu_status st = HU_OK;
    HU_TRY(check_boundaries(draft, sorted, count));
    t->codes = draft->count;
    while (t->bits == 0 || (t->codes - 1) >> t->bits) t->bits++;
    HU_TRY(allocate(t, count));
    t->ties = draft->ties;
    t->overflow = draft->overflow;
    t->is_p3109 = draft->is_p3109;
    t->min_normal = draft->min_normal;
    t->infinity_is_nan = draft->infinity_is_nan;
    set_codes(t, draft);
    set_numbers(t, draft, sorted, count);
    if (t->count == 0) HU_TRY(hu_fail(HU_ERR_FORMAT, "no code has a number that float32 has"));
    if (t->count == 1 && t->has_zero)
        HU_TRY(hu_fail(HU_ERR_FORMAT, "found 0 alone, expected another number beside it"));
    set_gaps(t);
    set_biases(t, t->count < count);
done:
    return st;
}

hu_status hu_code_table_make(const hu_code_draft *draft, hu_code_table **table) {
    hu_status st = HU_OK;
    coded *sorted = NULL;
    uint32_t count;
    *table = NULL;
    HU_TRY(HU_NEW_ARRAY(&sorted, draft->count));
    HU_TRY(sort_numbers(draft, sorted, &count));
    HU_TRY(HU_NEW(table));
    HU_TRY(make_sorted(draft, sorted, count, *table));
    hu_free(sorted);
    return HU_OK;
done:
    hu_free(sorted);
    hu_code_table_free(*table);
    *table = NULL;
    return st;
}

void hu_code_table_free(hu_code_table *table) {
    if (!table) return;
    hu_free(table->name);
    hu_free(table->source);
    hu_free(table->decoded);
    hu_free(table->number);
    hu_free(table->code);
    hu_free(table->boundary);
    hu_free(table);
}
