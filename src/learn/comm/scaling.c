#include "comm/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/rng.h"

/* ---- Exponents ---- */

/* ceil(log2 x) of a positive finite x, exact.
 *
 * frexp gives a fraction in [1/2, 1): a power of two is its own ceiling. A logarithm in floating
 * point would be one too small near powers of two. */
static int32_t ceil_log2(double x) {
    int exponent;
    double fraction = frexp(x, &exponent);
    return fraction == 0.5 ? exponent - 1 : exponent;
}

/* The paper's exponent: ceil(log2(top workers)). */
static int32_t paper_exponent(const hu_format *format, int32_t workers, double top) {
    (void)format;
    return ceil_log2(top * (double)workers);
}

/* ---- Scalings of other papers ---- */

/* Flexpoint: whole numbers of 16 bits, to the nearest, whose exponent of 5 bits a whole layer
 * shares. The paper has it on one machine and foretells the exponent from earlier steps; here
 * workers agree upon it as those of APS do, from the largest magnitude of all with room for the sum
 * of all, so that sums of codes are codes and may travel. A unit is 2^-e, e = 0 .. 31, which the
 * byte of an agreement carries. Source: Koester et al., "Flexpoint: an adaptive numerical format
 * for efficient training of deep neural networks", NeurIPS 2017, section 3.1; APS paper, Table 2.
 */

enum { MANTISSA_BITS = 16, MOST_EXPONENT = 31 };

static uint32_t flex_bits(const hu_comm_options *options, bool is_sum) {
    (void)options, (void)is_sum;
    return MANTISSA_BITS;
}

static float flex_unit(int32_t exponent, uint32_t top_bits) {
    (void)top_bits;
    if (exponent == HU_COMM_NOTHING) return 1.0f;
    if (exponent == HU_COMM_NONFINITE) return hu_f32_of_bits(HU_F32_NAN);
    int32_t e = MANTISSA_BITS - 1 - exponent;
    return ldexpf(1.0f, -(e < 0 ? 0 : e > MOST_EXPONENT ? MOST_EXPONENT : e));
}

/* A unit is a power of two: quotients are exact, but for those beyond all codes. */
static void flex_encode(const hu_comm_options *options, float flex_unit, int64_t n, const float *x,
                        float *flex_code, const hu_random_key *key, uint64_t first) {
    (void)options, (void)key, (void)first;
    for (int64_t i = 0; i < n; i++) {
        double whole = rint((double)x[i] / (double)flex_unit);
        flex_code[i] = (float)fmin(fmax(whole, HU_COMM_WHOLE_LEAST), HU_COMM_WHOLE_MOST);
    }
}

static const hu_comm_code flex_code = {.agreed_bytes = 1,
                                       .adds_on_way = true,
                                       .bits = flex_bits,
                                       .unit = flex_unit,
                                       .encode = flex_encode};

const hu_comm_scaling hu_comm_scaling_flex = {
    .name = "flex16+5",
    .help = "whole numbers of 16 bits and an exponent of 5 bits for a layer, with room for the sum",
    .exponent = paper_exponent,
    .code = &flex_code};

/* ---- scaling qsgd ---- */

/* Levels of a norm: of B bits one is the sign, and a number v of a block x becomes a whole multiple
 * of |x| / s, s = 2^(B-1) - 1, of which it is the expectation. Blocks of D numbers have the norm of
 * their own, |x| = sqrt(sum of squares). Codes of different norms have no sum: owners of pieces add
 * what they stand for in float32, and the sums travel in float32. That is what every worker gets
 * where, as in the paper, all send their codes to all and add them in the order of the workers; the
 * paper's Elias codes of varying length are left out.
 * Source: Alistarh et al., "QSGD: communication-efficient SGD via gradient quantization and
 * encoding", NeurIPS 2017, section 3.1, and 4 for blocks ("buckets"). */

/* The constant holds both: bits in its lowest places, numbers of a block above them. */
enum { BITS_PLACES = 4, LEAST_BITS = 2, MOST_BITS = 8, MOST_BLOCK = 1 << 24 };
#define OF(qsgd_bits, block) ((block) << BITS_PLACES | (qsgd_bits))
enum { QSGD_USUAL = OF(4, 512) };

static int32_t bits_of(int32_t constant) {
    return constant & ((1 << BITS_PLACES) - 1);
}

static uint32_t qsgd_bits(const hu_comm_options *options, bool is_sum) {
    return is_sum ? 32 : (uint32_t)bits_of(options->constant);
}

static int64_t block(const hu_comm_options *options) {
    return options->constant >> BITS_PLACES;
}

static int32_t levels_of(const hu_comm_options *options) {
    return (1 << (bits_of(options->constant) - 1)) - 1;
}

/* Squares of float32 have room in double precision; a norm beyond float32 makes NaNs. */
static float unit_of(const hu_comm_options *options, int64_t n, const float *x) {
    double squares = 0.0;
    for (int64_t i = 0; i < n; i++) squares += (double)x[i] * (double)x[i];
    float unit = (float)(sqrt(squares) / (double)levels_of(options));
    return isfinite(unit) ? unit : hu_f32_of_bits(HU_F32_NAN);
}

/* The unit is rounded: what exceeds the norm by that has its level. */
static void qsgd_encode(const hu_comm_options *options, float unit, int64_t n, const float *x,
                        float *qsgd_code, const hu_random_key *key, uint64_t first) {
    double levels = (double)levels_of(options);
    for (int64_t i = 0; i < n; i++) {
        uint32_t word = hu_random_word(key, first + (uint64_t)i);
        double size = fmin(fabs((double)x[i]) / (double)unit, levels);
        float drawn = hu_comm_draw_whole(size, word);
        qsgd_code[i] = x[i] < 0.0f ? 0.0f - drawn : drawn;
    }
}

/* "4", "4/512". */
static bool qsgd_read(const char *text, int32_t *constant) {
    char *end;
    long b = strtol(text, &end, 10), d = QSGD_USUAL >> BITS_PLACES;
    if (end == text || b < LEAST_BITS || b > MOST_BITS) return false;
    if (*end == '/') {
        text = end + 1;
        d = strtol(text, &end, 10);
        if (end == text || d < 1 || d > MOST_BLOCK) return false;
    }
    if (*end) return false;
    *constant = OF((int32_t)b, (int32_t)d);
    return true;
}

static void qsgd_print(int32_t constant, char *text, size_t capacity) {
    snprintf(text, capacity, ":%d/%d", bits_of(constant), constant >> BITS_PLACES);
}

static const hu_comm_code qsgd_code = {
    .bits = qsgd_bits, .block = block, .unit_of = unit_of, .encode = qsgd_encode};

const hu_comm_scaling hu_comm_scaling_qsgd = {
    .name = "qsgd",
    .help = "levels of the norm of D numbers in B bits, 2 to 8, drawn (4/512); sums in float32",
    .wide = true,
    .code = &qsgd_code,
    .form = "[:B[/D]]",
    .usual = QSGD_USUAL,
    .read = qsgd_read,
    .print = qsgd_print};

/* ---- scaling terngrad ---- */

/* Ternary gradients: every number becomes -s, 0 or s, of which it is the expectation. s is the
 * largest magnitude of a layer at all workers (the paper's shared scaler), so that sums are whole
 * multiples of it and travel in as few bits as workers can add up to. Before that numbers beyond C
 * standard deviations of their layer are cut there (the paper's C: 2.5), which is no longer
 * unbiased. Source: Wen et al., "TernGrad: ternary gradients to reduce communication in distributed
 * deep learning", NeurIPS 2017, Algorithm 1, sections 3.2 and 4. */

enum { HUNDRED = 100, MOST = 100 * HUNDRED, TERNGRAD_USUAL = 250 };

static uint32_t terngrad_bits(const hu_comm_options *options, bool is_sum) {
    uint32_t workers = is_sum ? (uint32_t)options->workers : 1, b = 2;
    while ((1u << (b - 1)) - 1u < workers) b++;
    return b;
}

/* A mean and a mean of squares in double precision, one after the other. */
static double deviation_of(int64_t n, const float *x) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
    return variance > 0.0 ? sqrt(variance) : 0.0;
}

/* NaNs and infinities stay: the layer must not lose them. */
static void prepare(const hu_comm_options *options, int64_t n, float *x) {
    if (options->constant == 0 || n == 0) return;
    float most = (float)(deviation_of(n, x) * ((double)options->constant / HUNDRED));
    if (!(most > 0.0f) || isinf(most)) return;
    for (int64_t i = 0; i < n; i++)
        if (fabsf(x[i]) > most && !isinf(x[i])) x[i] = copysignf(most, x[i]);
}

static float terngrad_unit(int32_t exponent, uint32_t top_bits) {
    (void)exponent;
    return hu_f32_of_bits(top_bits >= HU_F32_INFINITY ? HU_F32_NAN : top_bits);
}

static void terngrad_encode(const hu_comm_options *options, float s, int64_t n, const float *x,
                            float *terngrad_code, const hu_random_key *key, uint64_t first) {
    (void)options;
    for (int64_t i = 0; i < n; i++) {
        uint32_t word = hu_random_word(key, first + (uint64_t)i);
        float drawn = hu_comm_draw_whole(fabs((double)x[i]) / (double)s, word);
        terngrad_code[i] = x[i] < 0.0f ? 0.0f - drawn : drawn;
    }
}

static bool terngrad_read(const char *text, int32_t *constant) {
    char *end;
    double value = strtod(text, &end) * HUNDRED;
    if (end == text || *end || !(value >= 0.0 && value <= MOST) || value != rint(value))
        return false;
    *constant = (int32_t)value;
    return true;
}

static void terngrad_print(int32_t constant, char *text, size_t capacity) {
    snprintf(text, capacity, ":%g", (double)constant / HUNDRED);
}

static const hu_comm_code terngrad_code = {.agreed_bytes = 4,
                                           .bits = terngrad_bits,
                                           .prepare = prepare,
                                           .unit = terngrad_unit,
                                           .encode = terngrad_encode};

const hu_comm_scaling hu_comm_scaling_terngrad = {
    .name = "terngrad",
    .help = "-s, 0 or s in 2 bits, drawn; s: the largest of all, after cuts at C standard "
            "deviations (2.5; 0: none; two decimals at most)",
    .wide = true,
    .code = &terngrad_code,
    .form = "[:C]",
    .usual = TERNGRAD_USUAL,
    .read = terngrad_read,
    .print = terngrad_print};

/* ---- Scalings by name ---- */

#define ADDRESS(identifier) &hu_comm_scaling_##identifier,
static const hu_comm_scaling *const scalings[] = {HU_COMM_SCALING_LIST(ADDRESS)};
#undef ADDRESS
enum { SCALINGS = sizeof scalings / sizeof *scalings, CONSTANT_MOST = 126 };

const hu_comm_scaling *hu_comm_scaling_at(size_t i) {
    return i < SCALINGS ? scalings[i] : NULL;
}

/* What stands after a name, or may. */
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

/* What stands after the colon of "constant:10". */
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

/* A constant whose form the scaling has for itself, after the colon if there is one. */
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
    .exponent = paper_exponent};

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
    int32_t f = limits.emax - ceil_log2(sum);
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
    .exponent = paper_exponent};

/* ---- scaling constant ---- */

/* One factor for all tensors and all steps, as loss scaling has it, but for the wire alone. */

const hu_comm_scaling hu_comm_scaling_constant = {
    .name = "constant", .help = "gradients times 2^K", .takes_constant = true};

/* ---- scaling none ---- */

/* No scale: numbers travel as they are, and overflow or vanish as the format says. */

const hu_comm_scaling hu_comm_scaling_none = {.name = "none", .help = "gradients as they are"};
