/* halfulp bench kernel=round: rounding beside memcpy. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "bench/rate.h"
#include "tensor/quantizer.h"

static const char *const usual_formats[] = {"1/6/9/d", "fp16",   "bf16",
                                            "e5m2",    "e4m3fn", "fp(4,3,4)"};
enum { USUAL_FORMATS = sizeof usual_formats / sizeof usual_formats[0] };

static void round_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    static const hu_random_key key = {1, 2, 3};
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_rounder_run(&row->rounder, n, (const float *)x + first, (float *)y + first, &key, first,
                   row->has_counters ? &counts : NULL);
}

static hu_status add_row(hu_rate_set *set, const char *name, hu_rounding rounding,
                         hu_rate_data data, bool has_counters) {
    hu_status st = HU_OK;
    hu_format format;
    if (set->count == HU_RATE_ROWS) return hu_fail(HU_ERR_INTERNAL, "more rows than places");
    hu_rate_row *row = &set->rows[set->count++];
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

static hu_status add_both(hu_rate_set *set, const char *name, hu_rounding rounding,
                          hu_rate_data data) {
    hu_status st = add_row(set, name, rounding, data, false);
    if (st == HU_OK) st = add_row(set, name, rounding, data, true);
    return st;
}

/* Every mode, bare and counted, nearest-even and stochastic also with numbers of all exponents. */
static hu_status add_all_modes(hu_rate_set *set, const char *name) {
    hu_status st = HU_OK;
    for (int mode = 0; mode < HU_ROUND_COUNT; mode++)
        HU_TRY(add_both(set, name, (hu_rounding)mode, HU_RATE_GAUSSIAN));
    HU_TRY(add_both(set, name, HU_ROUND_NEAREST_EVEN, HU_RATE_BITS));
    HU_TRY(add_both(set, name, HU_ROUND_STOCHASTIC, HU_RATE_BITS));
done:
    return st;
}

hu_status hu_bench_round(hu_config *config) {
    hu_status st = HU_OK;
    hu_rate_set *sets = NULL;
    const char *only;
    int count = 0;
    HU_TRY(hu_alloc_array(2, sizeof *sets, (void **)&sets));
    HU_TRY(hu_rate_request(config, sets, &count, &only));
    for (int s = 0; s < count; s++) {
        HU_TRY(add_all_modes(&sets[s], only ? only : usual_formats[0]));
        for (int f = 1; f < USUAL_FORMATS && !only; f++)
            HU_TRY(add_both(&sets[s], usual_formats[f], HU_ROUND_NEAREST_EVEN, HU_RATE_GAUSSIAN));
        HU_TRY(hu_rate_measure(&sets[s]));
    }
    HU_TRY(hu_rate_print("round", sets, count, hu_config_flag(config, "json", NULL)));
done:
    hu_free(sets);
    return st;
}
