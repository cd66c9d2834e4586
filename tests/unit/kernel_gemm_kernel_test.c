/* Every micro-kernel of every instruction set of this machine equals the integer definition of its
 * step bit for bit, in every class that its data allow, in one call and in several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kernel/gemm/exact.h"
#include "kernel/gemm/kernel.h"
#include "kernel/gemm/reference.h"

enum { TERMS = 40, ROWS = 16, COLUMNS = 32, LENGTHS = 8, DATA = 8 };

static const char *const formats[] = {
    "fp16", "1/6/9/d", "1/6/9/n", "e5m2", "e4m3", "bf16", "e7m12", "e8m21", "e5m2:ovf=sat",
    /* ties at the top that stay, no fraction bits, NaN for overflow, no subnormals */
    "e4m3fn", "e3m0", "e5m7:ovf=nan", "e8m7:sub=n", "fp(4,3,4)", "e5m10:sub=n:ovf=sat",
    "e6m9:sub=nearest", "e4m3:sub=nearest", "e8m7:sub=nearest:ovf=sat", "e3m0:sub=nearest",
    /* beyond float32 arithmetic: 22 and 23 bits, normal numbers below 2^-126, a shifted range */
    "e7m22", "e5m23", "fp32", "e4m3:bias=140", "e5m10:bias=139", "e6m9:bias=-65"};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static const hu_random_key key = {0x243f6a8885a308d3u, 0x13198a2e03707344u, 5};
static const int lengths[LENGTHS] = {0, 1, 7, 8, 9, 16, 23, TERMS};

/* How R's argument is computed, and what R had to do in a trial. */
typedef struct trial {
    hu_accumulator accumulator;
    hu_gemm_arithmetic arithmetic; /* F32, F64, or F64_ODD for one exact rounding */
    hu_format_limits limits;
    bool has_small; /* an argument of R lay below the smallest normal number */
    bool has_large; /* in 2^(105+m) .. threshold, where float32 has no C */
    bool needs_full;
    int terms;
} trial;

/* Operands and the definition's answers. */
static float x[TERMS][ROWS], y[TERMS][COLUMNS];
static hu_gemm_state expected[ROWS][COLUMNS];
static hu_gemm_counts counted[ROWS][COLUMNS];

/* ---- the model: R by integers, its argument in float32, float64 or exact ---- */

static hu_exact exact_of_f64(double v) {
    uint64_t bits = hu_f64_bits(v), field = bits >> 52 & 0x7ff, fraction = bits << 12 >> 12;
    return (hu_exact){.significand = field ? fraction | (uint64_t)1 << 52 : fraction,
                      .exponent = field ? (int)field - 1075 : -1074,
                      .is_negative = bits >> 63 != 0};
}

static float overflowed(const trial *t, bool is_negative) {
    float big =
        t->accumulator.format.overflow == HU_OVERFLOW_SAT ? (float)t->limits.max_finite : INFINITY;
    if (t->accumulator.format.overflow == HU_OVERFLOW_NAN) return NAN;
    return is_negative ? -big : big;
}

static float round_code(trial *t, uint64_t code, bool is_negative, bool is_nonzero,
                        hu_gemm_counts *counts) {
    const hu_format *format = &t->accumulator.format;
    if (code > t->limits.code_max) {
        counts->overflow++;
        t->needs_full = true;
        return overflowed(t, is_negative);
    }
    bool is_gone = format->underflow == HU_UNDERFLOW_NEAREST && code == 0 && is_nonzero;
    if (is_gone || (code != 0 && code < (uint64_t)1 << format->man_bits)) {
        counts->subnormal++;
        if (!format->subnormals) t->needs_full = true;
        if (!format->subnormals) code = 0;
    }
    float r = hu_f32_of_bits(hu_format_magnitude_bits(format, (uint32_t)code));
    return is_negative && code != 0 ? -r : r;
}

/* Numbers below the smallest normal one that go to it or to zero. */
static bool is_coarse(const trial *t, double v) {
    return t->accumulator.format.underflow == HU_UNDERFLOW_NEAREST && v != 0 &&
           fabs(v) < t->limits.min_normal;
}

/* R of a b + c: exact is that value where it is finite, v the same rounded to the arithmetic. */
static float round_sum(trial *t, hu_exact exact, double v, hu_gemm_counts *counts) {
    const double top = ldexp(1, 105 + t->accumulator.format.man_bits);
    if (isnan(v)) t->needs_full = true;
    if (isnan(v)) return NAN;
    if (v != 0 && fabs(v) < t->limits.min_normal) t->has_small = true;
    if (fabs(v) >= top && fabs(v) < t->limits.overflow_threshold) t->has_large = true;
    if (isinf(v)) return round_code(t, UINT64_MAX, v < 0, true, counts);
    if (t->arithmetic != HU_GEMM_F64_ODD) exact = exact_of_f64(v);
    if (is_coarse(t, v)) t->needs_full = true;
    return round_code(t, hu_exact_code(&t->accumulator.format, exact), v < 0,
                      exact.significand != 0, counts);
}

static float round_fused(trial *t, float a, float b, float c, hu_gemm_counts *counts) {
    double v = t->arithmetic == HU_GEMM_F32 ? (double)fmaf(a, b, c) : (double)a * b + c;
    hu_exact exact = {0};
    if (isfinite(a) && isfinite(b) && isfinite(c))
        exact = hu_exact_sum(hu_exact_product(hu_exact_of(a), hu_exact_of(b)), hu_exact_of(c));
    return round_sum(t, exact, v, counts);
}

static void kahan_step(trial *t, float addend, hu_gemm_state *state, hu_gemm_counts *counts) {
    hu_gemm_counts ignored;
    float total = round_fused(t, state->sum, 1, addend, counts);
    float taken = round_fused(t, total, 1, -state->sum, &ignored);
    state->extra = round_fused(t, taken, 1, -addend, &ignored);
    if (isinf(total)) state->extra = 0;
    state->sum = total;
}

static void model_sum(trial *t, float a, float b, hu_gemm_state *state, hu_gemm_counts *counts) {
    hu_gemm_counts ignored;
    switch (t->accumulator.mac) {
    case HU_MAC_FMACS:
        state->sum = fmaf(a, b, state->sum);
        return;
    case HU_MAC_MACS:
        state->sum += round_fused(t, a, b, 0, &ignored);
        return;
    case HU_MAC_MAC:
        state->sum = round_fused(t, state->sum, 1, round_fused(t, a, b, 0, &ignored), counts);
        return;
    case HU_MAC_FMAC:
    case HU_MAC_FMAC_K:
        if (state->phase == t->accumulator.block) {
            state->sum += state->extra;
            state->extra = 0;
            state->phase = 0;
        }
        state->extra = round_fused(t, a, b, state->extra, counts);
        state->phase++;
        return;
    case HU_MAC_KAHAN_CPD:
        b = round_fused(t, a, b, 0, &ignored);
        kahan_step(t, round_fused(t, b, 1, -state->extra, &ignored), state, counts);
        return;
    default:
        kahan_step(t, round_fused(t, a, b, -state->extra, &ignored), state, counts);
    }
}

static void model_step(trial *t, float a, float b, hu_gemm_state *state, hu_gemm_counts *counts) {
    hu_gemm_state before = *state;
    hu_mac mac = t->accumulator.mac;
    bool is_block = mac == HU_MAC_FMAC || mac == HU_MAC_FMAC_K;
    /* a block that is full is closed before the term */
    if (is_block && before.phase == t->accumulator.block) before.extra = 0;
    model_sum(t, a, b, state, counts);
    bool is_same = (is_block || state->sum == before.sum) &&
                   (mac == HU_MAC_MAC || state->extra == before.extra);
    bool is_counted = mac != HU_MAC_FMACS && mac != HU_MAC_MACS;
    bool is_term = is_counted && fabsf(a) > 0 && fabsf(b) > 0;
    counts->terms += is_term;
    counts->stalled += is_term && is_same;
}

static void run_model(trial *t) {
    memset(expected, 0, sizeof expected);
    memset(counted, 0, sizeof counted);
    t->has_small = t->has_large = t->needs_full = false;
    for (int k = 0; k < t->terms; k++)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                model_step(t, x[k][i], y[k][j], &expected[i][j], &counted[i][j]);
}

/* The model is the library's own definition, where that has these semantics. */
static void check_model(const trial *t) {
    hu_accumulator accumulator = t->accumulator;
    if (t->arithmetic == HU_GEMM_F64) return;
    accumulator.semantics = t->arithmetic == HU_GEMM_F32 ? HU_SEMANTICS_F32FMA : HU_SEMANTICS_EXACT;
    for (int i = 0; i < ROWS; i += 5)
        for (int j = 0; j < COLUMNS; j += 3) {
            hu_gemm_state state = {0}, own = expected[i][j];
            hu_gemm_counts counts = {0};
            for (int k = 0; k < t->terms; k++)
                hu_gemm_step(&accumulator, x[k][i], y[k][j], &state, &counts);
            float is = hu_gemm_state_value(&accumulator, &state, NULL), was = own.sum;
            if (accumulator.mac == HU_MAC_FMAC_K || accumulator.mac == HU_MAC_FMAC)
                was += own.extra;
            if (!(isnan(is) && isnan(was))) assert_int_equal(hu_f32_bits(is), hu_f32_bits(was));
            if (accumulator.mac == HU_MAC_FMACS || accumulator.mac == HU_MAC_MACS) continue;
            assert_int_equal(counts.subnormal, counted[i][j].subnormal);
            assert_int_equal(counts.overflow, counted[i][j].overflow);
            assert_int_equal(counts.terms, counted[i][j].terms);
            assert_int_equal(counts.stalled, counted[i][j].stalled);
        }
}

/* ---- data ---- */

static uint64_t drawn;

static uint32_t below(uint32_t bound) {
    return (uint32_t)hu_random_below(&key, drawn++, bound);
}

/* A random number of the format with exponent in [low, high], or below the smallest normal. */
static float number(const trial *t, int low, int high) {
    int m = t->accumulator.format.man_bits, exponent = low + (int)below((uint32_t)(high - low + 1));
    double significand = 1 + ldexp((double)below(1u << m), -m);
    if (below(8) == 0) significand = 1;
    if (m > 0 && below(8) == 0) significand = 1 + ldexp((double)below(2), -m);
    if (exponent < t->limits.emin - m) exponent = t->limits.emin - m;
    double v = ldexp(significand, exponent);
    double quantum = t->limits.min_normal * ldexp(1, -m);
    v = fmin(nearbyint(v / quantum) * quantum, t->limits.max_finite);
    return (float)(below(2) ? -v : v);
}

/* Around 1.5: whole quanta of the format, and half quanta less one part in 2^40, which only an
 * exact sum tells from a tie. */
static void make_near_ties(const trial *t) {
    const float quantum = ldexpf(1, -t->accumulator.format.man_bits), tail = ldexpf(1, -20);
    for (int k = 0; k < TERMS; k++) {
        bool is_whole = below(2) == 0;
        for (int i = 0; i < ROWS; i++) {
            x[k][i] = is_whole ? quantum : quantum / 2 * (1 + tail);
            if (below(2)) x[k][i] = -x[k][i];
            if (k == 0) x[k][i] = 1.5f;
        }
        for (int j = 0; j < COLUMNS; j++) y[k][j] = is_whole || k == 0 ? 1 : 1 - tail;
    }
}

/* Eight kinds of operands: ordinary, of one binade (ties), wide, products around the smallest
 * numbers, around the largest ones, cancelling pairs, numbers that are not finite, and near ties.
 */
static void make_data(const trial *t, int kind) {
    int emin = t->limits.emin, emax = t->limits.emax, middle = (emin + emax) / 2;
    int low = middle > -2 && emin < -2 ? -2 : middle, high = low + 2 < emax ? low + 2 : emax;
    if (kind == 2) low = emin, high = emax;
    if (kind == 1) high = low;
    if (kind == 3) low = emin / 2 - 2, high = emin / 2 + 1;
    if (kind == 4) low = emax / 2 - 2, high = emax / 2;
    if (low < emin - t->accumulator.format.man_bits) low = emin - t->accumulator.format.man_bits;
    if (high < low) high = low;
    if (kind == 7) {
        make_near_ties(t);
        return;
    }
    for (int k = 0; k < TERMS; k++) {
        for (int i = 0; i < ROWS; i++) x[k][i] = number(t, low, high);
        for (int j = 0; j < COLUMNS; j++) y[k][j] = number(t, low, high);
        for (int i = 0; kind == 5 && k % 3 == 1 && i < ROWS; i++) x[k][i] = -x[k - 1][i];
        for (int j = 0; kind == 5 && k % 3 == 1 && j < COLUMNS; j++) y[k][j] = y[k - 1][j];
        if (kind == 6 && k > 5) x[k][below(ROWS)] = below(2) ? INFINITY : NAN;
    }
}

/* ---- kernels ---- */

/* Panels, state and answers of one kernel. */
typedef struct bench {
    _Alignas(64) double a64[TERMS * ROWS], b64[TERMS * COLUMNS];
    _Alignas(64) float a32[TERMS * ROWS], b32[TERMS * COLUMNS];
    float sum[ROWS * COLUMNS], extra[ROWS * COLUMNS];
} bench;
static bench run;

static void pack(const hu_gemm_kernel *kernel) {
    for (int k = 0; k < TERMS; k++) {
        for (int i = 0; i < kernel->rows; i++)
            run.a64[k * kernel->rows + i] = (double)(run.a32[k * kernel->rows + i] = x[k][i]);
        for (int j = 0; j < kernel->columns; j++)
            run.b64[k * kernel->columns + j] = (double)(run.b32[k * kernel->columns + j] = y[k][j]);
    }
}

/* All terms in calls of `part` terms. */
static hu_gemm_counts call(const trial *t, const hu_gemm_kernel *kernel, bool is_f32, int part) {
    hu_gemm_constants constants;
    hu_gemm_counts counts = {0};
    hu_gemm_constants_init(&t->accumulator, &constants);
    memset(run.sum, 0, sizeof run.sum);
    memset(run.extra, 0, sizeof run.extra);
    for (int k = 0; k < t->terms; k += part) {
        const void *a = is_f32 ? (const void *)(run.a32 + k * kernel->rows)
                               : (const void *)(run.a64 + k * kernel->rows);
        const void *b = is_f32 ? (const void *)(run.b32 + k * kernel->columns)
                               : (const void *)(run.b64 + k * kernel->columns);
        hu_gemm_tile tile = {.k = t->terms - k < part ? t->terms - k : part,
                             .phase = k % constants.block,
                             .a = a,
                             .b = b,
                             .sum = run.sum,
                             .extra = run.extra,
                             .ld = COLUMNS,
                             .constants = &constants,
                             .counts = &counts};
        kernel->run(&tile);
    }
    return counts;
}

static uint64_t stalled_terms; /* that were seen: the counts must not agree by being zero */

static bool is_same(float got, float is) {
    uint32_t bits = isnan(is) ? HU_F32_NAN : hu_f32_bits(is);
    return hu_f32_bits(got) == bits;
}

static void fail_element(const trial *t, const char *what, int i, int j) {
    char text[96];
    hu_accumulator_print(&t->accumulator, text, sizeof text);
    fail_msg("%s, %s, %d terms, row %d column %d: %a (extra %a), expected %a (%a)", text, what,
             t->terms, i, j, (double)run.sum[i * COLUMNS + j], (double)run.extra[i * COLUMNS + j],
             (double)expected[i][j].sum, (double)expected[i][j].extra);
}

static void compare(const trial *t, const hu_gemm_kernel *kernel, bool is_counting, bool is_f32,
                    int part, const char *what) {
    hu_gemm_counts counts = call(t, kernel, is_f32, part), total = {0};
    for (int i = 0; i < kernel->rows; i++)
        for (int j = 0; j < kernel->columns; j++) {
            int at = i * COLUMNS + j;
            /* where the sum is NaN, what Kahan's step lost says nothing */
            bool is_idle = isnan(expected[i][j].sum);
            if (!is_same(run.sum[at], expected[i][j].sum) ||
                (!is_idle && !is_same(run.extra[at], expected[i][j].extra)))
                fail_element(t, what, i, j);
            total.subnormal += counted[i][j].subnormal;
            total.overflow += counted[i][j].overflow;
            total.terms += counted[i][j].terms;
            total.stalled += counted[i][j].stalled;
        }
    if (!is_counting || t->accumulator.mac == HU_MAC_FMACS || t->accumulator.mac == HU_MAC_MACS)
        return;
    if (counts.subnormal != total.subnormal || counts.overflow != total.overflow ||
        counts.terms != total.terms || counts.stalled != total.stalled)
        fail_msg("%s: %llu subnormal, %llu overflow, %llu stalled, expected %llu, %llu, %llu", what,
                 (unsigned long long)counts.subnormal, (unsigned long long)counts.overflow,
                 (unsigned long long)counts.stalled, (unsigned long long)total.subnormal,
                 (unsigned long long)total.overflow, (unsigned long long)total.stalled);
    stalled_terms += total.stalled;
}

static bool allows(const trial *t, hu_gemm_class class) {
    bool is_short = class == HU_GEMM_SHORT_LEAN || class == HU_GEMM_SHORT_FAST;
    if (t->accumulator.mac == HU_MAC_FMACS) return true;
    if (is_short && t->accumulator.format.man_bits > HU_GEMM_SHORT_BITS) return false;
    if (class == HU_GEMM_LEAN || class == HU_GEMM_SHORT_LEAN)
        return !t->needs_full && !t->has_small;
    return (class != HU_GEMM_FAST && class != HU_GEMM_SHORT_FAST) || !t->needs_full;
}

static uint64_t compared[HU_ISA_COUNT + 1][HU_GEMM_ARITHMETIC_COUNT][HU_GEMM_CLASS_COUNT];

static void compare_kernel(const trial *t, const hu_gemm_kernel *kernel, hu_gemm_class class,
                           bool is_f32, const char *what) {
    if (!kernel->run) return;
    pack(kernel);
    compare(t, kernel, class == HU_GEMM_COUNT_ALL, is_f32, TERMS, what);
    compare(t, kernel, class == HU_GEMM_COUNT_ALL, is_f32, 1 + (int)below(12), what);
}

static void compare_all(const trial *t, hu_gemm_arithmetic arithmetic) {
    static const char *const kinds[] = {"f32", "f64", "f64 to odd", "f32 to odd"};
    static const char *const classes[] = {"short lean", "short fast", "lean",
                                          "fast",       "full",       "counting"};
    bool is_f32 = arithmetic == HU_GEMM_F32 || arithmetic == HU_GEMM_F32_ODD;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
        for (int class = 0; class < HU_GEMM_CLASS_COUNT; class ++)
            for (int shape = 0; shape < HU_GEMM_SHAPE_COUNT; shape++) {
                char what[96];
                if (!allows(t, (hu_gemm_class) class)) continue;
                snprintf(what, sizeof what, "%s %s %s shape %d", hu_isa_name((hu_isa)isa),
                         kinds[arithmetic], classes[class], shape);
                hu_gemm_kernel kernel =
                    hu_gemm_kernel_of((hu_isa)isa, t->accumulator.mac, arithmetic,
                                      (hu_gemm_class) class, (hu_gemm_shape)shape);
                compare_kernel(t, &kernel, (hu_gemm_class) class, is_f32, what);
                if (kernel.run) compared[isa][arithmetic][class]++;
            }
}

/* The portable bodies with the compiler's AVX2, which nothing dispatches to. */
static void compare_portable(const trial *t, hu_gemm_arithmetic arithmetic) {
#if defined(__x86_64__)
    if (hu_cpu_isa_native() < HU_ISA_AVX2) return;
    const hu_gemm_table *table =
        arithmetic == HU_GEMM_F32 ? &hu_gemm_f32_portable_avx2 : &hu_gemm_f64_portable_avx2;
    hu_mac mac = t->accumulator.mac == HU_MAC_FMAC ? HU_MAC_FMAC_K : t->accumulator.mac;
    for (int class = 0; class < HU_GEMM_CLASS_COUNT; class ++)
        for (int shape = 0; shape < HU_GEMM_SHAPE_COUNT; shape++) {
            const hu_gemm_kernel *kernel =
                &(*table)[mac][arithmetic == HU_GEMM_F64_ODD][class][shape];
            if (!allows(t, (hu_gemm_class) class)) continue;
            compare_kernel(t, kernel, (hu_gemm_class) class, arithmetic == HU_GEMM_F32,
                           "portable avx2");
            if (kernel->run) compared[HU_ISA_COUNT][arithmetic][class]++;
        }
#else
    (void)t, (void)arithmetic;
#endif
}

static bool serves_f32(const trial *t) {
    if (t->accumulator.mac == HU_MAC_FMACS) return true;
    return t->accumulator.format.man_bits <= 21 && t->limits.emin >= -126 && !t->has_large;
}

static void try_data(trial *t) {
    run_model(t);
    check_model(t);
    if (t->arithmetic != HU_GEMM_F32 || serves_f32(t)) {
        compare_all(t, t->arithmetic);
        compare_portable(t, t->arithmetic);
    }
    if (t->arithmetic == HU_GEMM_F64_ODD && t->accumulator.format.man_bits <= 21 && serves_f32(t))
        compare_all(t, HU_GEMM_F32_ODD);
}

static void try_format(const char *name, hu_mac mac, int64_t block) {
    trial t = {.accumulator = {.mac = mac, .block = mac == HU_MAC_FMAC_K ? block : INT64_MAX}};
    assert_int_equal(hu_format_parse(name, &t.accumulator.format), HU_OK);
    t.limits = hu_format_limits_of(&t.accumulator.format);
    for (int arithmetic = HU_GEMM_F32; arithmetic <= HU_GEMM_F64_ODD; arithmetic++)
        for (int kind = 0; kind < DATA; kind++) {
            t.arithmetic = (hu_gemm_arithmetic)arithmetic;
            t.terms = kind < 2 || kind == 7 ? TERMS : lengths[below(LENGTHS)];
            make_data(&t, kind);
            try_data(&t);
        }
}

static void try_mode(hu_mac mac) {
    static const int64_t blocks[] = {8, 1, 3, 16, 64};
    for (size_t f = 0; f < FORMATS; f++) try_format(formats[f], mac, blocks[f % 5]);
    if (mac == HU_MAC_FMAC_K)
        for (size_t f = 0; f < FORMATS; f++) try_format(formats[f], mac, 8);
}

static void fmacs_equals_its_definition(void **state) {
    (void)state;
    try_mode(HU_MAC_FMACS);
}

static void macs_equals_its_definition(void **state) {
    (void)state;
    try_mode(HU_MAC_MACS);
}

static void fmac_equals_its_definition(void **state) {
    (void)state;
    try_mode(HU_MAC_FMAC);
}

static void mac_equals_its_definition(void **state) {
    (void)state;
    try_mode(HU_MAC_MAC);
}

static void fmac_k_equals_its_definition(void **state) {
    (void)state;
    try_mode(HU_MAC_FMAC_K);
}

static void kahan_equals_its_definition(void **state) {
    (void)state;
    try_mode(HU_MAC_KAHAN);
}

static void kahan_cpd_equals_its_definition(void **state) {
    (void)state;
    try_mode(HU_MAC_KAHAN_CPD);
}

/* Every class of every arithmetic met data that allow it. */
static void nothing_was_left_out(void **state) {
    (void)state;
    for (int isa = 0; isa <= HU_ISA_COUNT; isa++) {
        if (isa > (int)hu_cpu_isa_native() && isa < HU_ISA_COUNT) continue;
        if (isa == HU_ISA_COUNT && hu_cpu_isa_native() < HU_ISA_AVX2) continue;
        for (int arithmetic = HU_GEMM_F32; arithmetic <= HU_GEMM_F64_ODD; arithmetic++)
            for (int class = 0; class < HU_GEMM_CLASS_COUNT; class ++)
                if (isa < HU_ISA_COUNT || class == HU_GEMM_FAST)
                    assert_in_range(compared[isa][arithmetic][class], 40, UINT32_MAX);
    }
    assert_in_range(stalled_terms, 1000, UINT32_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fmacs_equals_its_definition),
        cmocka_unit_test(macs_equals_its_definition),
        cmocka_unit_test(fmac_equals_its_definition),
        cmocka_unit_test(mac_equals_its_definition),
        cmocka_unit_test(fmac_k_equals_its_definition),
        cmocka_unit_test(kahan_equals_its_definition),
        cmocka_unit_test(kahan_cpd_equals_its_definition),
        cmocka_unit_test(nothing_was_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
