#include "bench/uniform.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "tensor/quantizer.h"

static const hu_random_key key = {1, 2, 3};

/* Parts of an array are rows of their own length. */
static hu_uniformer of_part(const hu_rate_row *row, size_t n) {
    hu_uniformer part = row->uniformer;
    part.row_elements = (int64_t)n;
    return part;
}

static size_t byte_of(const hu_rate_row *row, size_t first) {
    return first / 8 * row->uniformer.bits;
}

static void range_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    float *ends = (float *)y + first, low = INFINITY, high = -INFINITY;
    (void)row;
    hu_uniform_range(n, (const float *)x + first, &low, &high);
    ends[0] = low;
    ends[n - 1] = high;
}

static void round_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_uniformer part = of_part(row, n);
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_uniform_round(&part, &row->uniform_scale, 1, (const float *)x + first, (float *)y + first,
                     &key, first, row->has_counters ? &counts : NULL);
}

static void pack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_uniformer part = of_part(row, n);
    hu_uniform_pack(&part, &row->uniform_scale, 1, (const float *)x + first,
                    (char *)y + byte_of(row, first), &key, first, NULL);
}

static void unpack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_uniformer part = of_part(row, n);
    hu_uniform_unpack(&part, &row->uniform_scale, x, (int64_t)first, n, (float *)y + first);
}

/* The range is that of the numbers of HU_RATE_GAUSSIAN, but for the farthest. */
static hu_status add_row(hu_rate_set *set, const char *name, hu_rounding rounding, const char *mode,
                         hu_rate_pass *pass, bool has_counters) {
    const float end = 0.25f;
    hu_status st = HU_OK;
    hu_quantizer quantizer;
    hu_rate_row *row;
    HU_TRY(hu_rate_add_row(set, &row));
    HU_TRY(hu_quantizer_parse(name, rounding, &quantizer));
    HU_TRY(hu_uniformer_init(&row->uniformer, quantizer.bits, rounding, 1, 0));
    row->uniform_scale = hu_uniform_scale_of(-end, end, quantizer.bits);
    hu_quantizer_print(&quantizer, row->format, sizeof row->format);
    snprintf(row->mode, sizeof row->mode, "%s", mode);
    row->pass = pass;
    row->data = pass == unpack_pass ? HU_RATE_BITS : HU_RATE_GAUSSIAN;
    row->has_counters = has_counters;
done:
    return st;
}

bool hu_bench_is_uniform(const char *name) {
    hu_quantizer quantizer;
    return hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &quantizer) == HU_OK &&
           quantizer.kind == HU_QUANTIZER_UNIFORM;
}

hu_status hu_bench_round_uniform(hu_rate_set *set, const char *name) {
    static const hu_rounding modes[] = {HU_ROUND_NEAREST_EVEN, HU_ROUND_STOCHASTIC};
    hu_status st = HU_OK;
    HU_TRY(add_row(set, name, HU_ROUND_NEAREST_EVEN, "range", range_pass, false));
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (int counted = 0; counted < 2; counted++)
            HU_TRY(
                add_row(set, name, modes[m], hu_rounding_name(modes[m]), round_pass, counted != 0));
done:
    return st;
}

hu_status hu_bench_pack_uniform(hu_rate_set *set, const char *name) {
    hu_status st = HU_OK;
    HU_TRY(add_row(set, name, HU_ROUND_NEAREST_EVEN, "round+pack", pack_pass, false));
    HU_TRY(add_row(set, name, HU_ROUND_NEAREST_EVEN, "unpack", unpack_pass, false));
done:
    return st;
}
