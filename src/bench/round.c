/* halfulp bench kernel=round: rounding beside memcpy. */
#include <stdio.h>

#include "base/error.h"
#include "bench/bench.h"
#include "bench/rate.h"
#include "bench/uniform.h"
#include "tensor/quantizer.h"

/* The sequence of stochastic rounding is addressed by element, as in a training. */
static void round_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    static const hu_random_key key = {1, 2, 3};
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_rounder_run(&row->rounder, n, (const float *)x + first, (float *)y + first, &key, first,
                   row->has_counters ? &counts : NULL);
}

/* One format, mode and kind of numbers, with or without counters. */
static hu_status add_row(hu_rate_set *set, const char *name, hu_rounding rounding,
                         hu_rate_data data, bool has_counters) {
    hu_status st = HU_OK;
    hu_format format;
    hu_rate_row *row;
    HU_TRY(hu_rate_add_row(set, &row));
    HU_TRY(hu_plain_format_parse(name, &format));
    HU_TRY(hu_format_print(&format, row->format, sizeof row->format));
    HU_TRY(hu_rounder_init(&row->rounder, &format, rounding));
    snprintf(row->mode, sizeof row->mode, "%s", hu_rounding_name(rounding));
    row->pass = round_pass;
    row->data = data;
    row->has_counters = has_counters;
done:
    return st;
}

/* Bare, and with the counters that a training keeps. */
static hu_status add_both(hu_rate_set *set, const char *name, hu_rounding rounding,
                          hu_rate_data data) {
    hu_status st = add_row(set, name, rounding, data, false);
    if (st == HU_OK) st = add_row(set, name, rounding, data, true);
    return st;
}

/* Of the first format every mode, bare and counted, nearest-even and stochastic also with numbers
 * of all exponents; of the others nearest-even. */
static hu_status add_modes(hu_rate_set *set, const char *name, bool is_first) {
    hu_status st = HU_OK;
    if (hu_bench_is_uniform(name)) return hu_bench_round_uniform(set, name);
    if (!is_first) return add_both(set, name, HU_ROUND_NEAREST_EVEN, HU_RATE_GAUSSIAN);
    for (int mode = 0; mode < HU_ROUND_COUNT; mode++)
        HU_TRY(add_both(set, name, (hu_rounding)mode, HU_RATE_GAUSSIAN));
    HU_TRY(add_both(set, name, HU_ROUND_NEAREST_EVEN, HU_RATE_BITS));
    HU_TRY(add_both(set, name, HU_ROUND_STOCHASTIC, HU_RATE_BITS));
done:
    return st;
}

hu_status hu_bench_round(hu_bench *bench) {
    const hu_rate_request request = {"round", hu_rate_formats, HU_RATE_MEMORY_ELEMENTS, add_modes};
    return hu_rate_bench(bench, &request);
}
