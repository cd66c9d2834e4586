#include "comm/scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"

#define ADDRESS(identifier) &hu_comm_scaling_##identifier,
static const hu_comm_scaling *const scalings[] = {HU_COMM_SCALING_LIST(ADDRESS)};
#undef ADDRESS
enum { SCALINGS = sizeof scalings / sizeof *scalings, CONSTANT_MOST = 126 };

const hu_comm_scaling *hu_comm_scaling_at(size_t i) {
    return i < SCALINGS ? scalings[i] : NULL;
}

/* What stands behind a name, or may. */
static const char *form_of(const hu_comm_scaling *scaling) {
    if (scaling->form) return scaling->form;
    return scaling->takes_constant ? ":K" : "";
}

/* They are few: all are told, as they are written. */
static hu_status unknown(const char *text) {
    char list[256] = "";
    for (size_t i = 0; i < SCALINGS; i++) {
        size_t used = strlen(list);
        const char *before = i == 0 ? "" : i + 1 < SCALINGS ? ", " : " or ";
        snprintf(list + used, sizeof list - used, "%s%s%s", before, scalings[i]->name,
                 form_of(scalings[i]));
    }
    return hu_fail(HU_ERR_UNKNOWN, "scaling '%s': expected %s", text, list);
}

/* What stands behind the colon of "constant:10". */
static hu_status parse_constant(const char *text, const char *number, int32_t *constant) {
    char *end;
    /* What does not fit a long becomes the nearest one, which is too far out as well. */
    long value = strtol(number, &end, 10);
    if (end == number || *end != '\0' || value < -CONSTANT_MOST || value > CONSTANT_MOST)
        return hu_fail(HU_ERR_PARSE,
                       "scaling '%s': found '%s', expected the K of a factor 2^K, -126..126", text,
                       number);
    *constant = (int32_t)value;
    return HU_OK;
}

/* A constant whose form the scaling has for itself, behind the colon if there is one. */
static hu_status parse_form(const char *text, const hu_comm_scaling *scaling, const char *behind,
                            int32_t *constant) {
    *constant = scaling->usual;
    if (!behind || scaling->read(behind, constant)) return HU_OK;
    return hu_fail(HU_ERR_PARSE, "scaling '%s': found '%s', expected %s%s: %s", text, behind,
                   scaling->name, scaling->form, scaling->help);
}

hu_status hu_comm_scaling_parse(const char *text, const hu_comm_scaling **scaling,
                                int32_t *constant) {
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    *scaling = NULL;
    *constant = 0;
    for (size_t i = 0; i < SCALINGS; i++)
        if (strlen(scalings[i]->name) == length && !memcmp(scalings[i]->name, text, length))
            *scaling = scalings[i];
    if (!*scaling) return unknown(text);
    if ((*scaling)->form) return parse_form(text, *scaling, colon ? colon + 1 : NULL, constant);
    if (colon && (*scaling)->takes_constant) return parse_constant(text, colon + 1, constant);
    if (!colon && !(*scaling)->takes_constant) return HU_OK;
    return hu_fail(HU_ERR_PARSE, "scaling '%s': expected %s%s", text, (*scaling)->name,
                   (*scaling)->takes_constant ? ":K, a factor of 2^K" : " alone");
}

void hu_comm_scaling_print(const hu_comm_scaling *scaling, int32_t constant, char *text,
                           size_t capacity) {
    int used = snprintf(text, capacity, "%s", scaling->name);
    if (used < 0 || (size_t)used >= capacity) return;
    if (scaling->takes_constant) snprintf(text + used, capacity - (size_t)used, ":%d", constant);
    if (scaling->form && constant != scaling->usual)
        scaling->print(constant, text + used, capacity - (size_t)used);
}

/* ceil(log2 x) of a positive finite x, exact.
 *
 * frexp gives a fraction in [1/2, 1): a power of two is its own ceiling. A logarithm in floating
 * point would be one too small near powers of two. */
static int32_t hu_comm_ceil_log2(double x) {
    int exponent;
    double fraction = frexp(x, &exponent);
    return fraction == 0.5 ? exponent - 1 : exponent;
}

int32_t hu_comm_paper_exponent(const hu_format *format, int32_t workers, double top) {
    (void)format;
    return hu_comm_ceil_log2(top * (double)workers);
}

int32_t hu_comm_clamp(int32_t exponent) {
    if (exponent < HU_COMM_EXPONENT_LEAST) return HU_COMM_EXPONENT_LEAST;
    return exponent > HU_COMM_EXPONENT_MOST ? HU_COMM_EXPONENT_MOST : exponent;
}

int32_t hu_comm_exponent(const hu_comm_scaling *scaling, const hu_format *format, int32_t workers,
                         uint32_t top_bits, bool has_nonfinite) {
    if (has_nonfinite) return HU_COMM_NONFINITE;
    if (top_bits == 0 || !scaling->exponent) return HU_COMM_NOTHING;
    return hu_comm_clamp(scaling->exponent(format, workers, (double)hu_f32_of_bits(top_bits)));
}

int32_t hu_comm_scale_of(const hu_format *format, int32_t exponent) {
    if (exponent == HU_COMM_NOTHING || exponent == HU_COMM_NONFINITE) return 0;
    return exponent - hu_format_limits_of(format).emax;
}

/* ---- scaling aps ---- */

/* Auto-precision scaling: a power of two per tensor, from the largest magnitude of all workers,
 * with room for a sum of all. Source: APS paper, Algorithm 1. */

const hu_comm_scaling hu_comm_scaling_aps = {
    .name = "aps",
    .help = "a power of two per tensor, with room for the sum (the paper's)",
    .exponent = hu_comm_paper_exponent};

/* ---- scaling aps2 ---- */

/* Two scales: sums are made in float32, so that the way up needs no room for them, and the sum has
 * a scale of its own on the way down. Every piece of every level has its own, sent with it. */

const hu_comm_scaling hu_comm_scaling_aps2 = {
    .name = "aps2",
    .help = "own scales for gradients and for sums, which are made in float32",
    .wide = true,
    .fresh = true};

/* ---- scaling aps tight ---- */

/* The largest factor 2^f for which a sum of exact numbers cannot overflow:
 * f = floor(log2(largest finite number / (workers top))). Sums of rounded numbers can. */

/* Decided by multiplication, which is exact: a quotient could be rounded to a power of two. */
static int32_t exponent(const hu_format *format, int32_t workers, double top) {
    hu_format_limits limits = hu_format_limits_of(format);
    double sum = top * (double)workers;
    int32_t f = limits.emax - hu_comm_ceil_log2(sum);
    while (ldexp(sum, f + 1) <= limits.max_finite) f++;
    return limits.emax - f;
}

const hu_comm_scaling hu_comm_scaling_aps_tight = {
    .name = "aps-tight",
    .help = "as aps, with the largest factor for which an exact sum fits",
    .exponent = exponent};

/* ---- scaling aps wide ---- */

/* The paper's scale; the owner of a piece adds its summands in float32 and rounds once. */

const hu_comm_scaling hu_comm_scaling_aps_wide = {
    .name = "aps-wide",
    .help = "the paper's scale; sums are made in float32 and rounded once",
    .wide = true,
    .exponent = hu_comm_paper_exponent};

/* ---- scaling constant ---- */

/* One factor for all tensors and all steps, as loss scaling has it, but for the wire alone. */

const hu_comm_scaling hu_comm_scaling_constant = {
    .name = "constant", .help = "gradients times 2^K", .takes_constant = true};

/* ---- scaling none ---- */

/* No scale: numbers travel as they are, and overflow or vanish as the format says. */

const hu_comm_scaling hu_comm_scaling_none = {.name = "none", .help = "gradients as they are"};
