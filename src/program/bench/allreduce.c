/* halfulp bench kernel=allreduce: what a worker does with numbers that travel, on one array, beside
 * memcpy. No network takes part. */
#include <stdio.h>

#include "base/error.h"
#include "bench/array_kernels.h"
#include "bench/bench.h"
#include "tensor/quantizer.h"

/* The gradient of a ResNet-18: too large for the caches of one core. */
enum { MODEL_ELEMENTS = 11173962 };

/* From the first code of a share on. */
static char *codes_at(const hu_rate_row *row, void *codes, size_t first) {
    return (char *)codes + first * row->wire.code_bytes;
}

static const char *const_codes_at(const hu_rate_row *row, const void *codes, size_t first) {
    return (const char *)codes + first * row->wire.code_bytes;
}

static hu_round_counts *counts_of(const hu_rate_row *row, hu_round_counts *room) {
    hu_round_counts_clear(room);
    return row->has_counters ? room : NULL;
}

static void quantise_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_round_counts room;
    hu_wire_quantise(&row->wire, n, (const float *)x + first, row->scale, codes_at(row, y, first),
                     NULL, first, counts_of(row, &room));
}

static void add_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_round_counts room;
    hu_wire_add(&row->wire, n, const_codes_at(row, x, first), codes_at(row, y, first), NULL, first,
                counts_of(row, &room));
}

static void decode_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_wire_decode(&row->wire, n, const_codes_at(row, x, first), row->scale, (float *)y + first);
}

/* Shares begin at multiples of 8 elements, and so at whole bytes of the stream. */
static void pack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_wire_pack_bits(&row->wire, n, const_codes_at(row, x, first),
                      (char *)y + hu_wire_bytes(&row->wire, first));
}

static void unpack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_wire_unpack_bits(&row->wire, n, (const char *)x + hu_wire_bytes(&row->wire, first),
                        codes_at(row, y, first));
}

/* What is measured of every format. */
static const struct {
    const char *mode;
    hu_rate_pass *pass;
    hu_rate_data data;
    bool has_counters, has_floats;
} cases[] = {
    {"quantise", quantise_pass, HU_RATE_GAUSSIAN, false, true},
    {"quantise", quantise_pass, HU_RATE_GAUSSIAN, true, true},
    {"add", add_pass, HU_RATE_CODES, false, false},
    {"add", add_pass, HU_RATE_CODES, true, false},
    {"decode", decode_pass, HU_RATE_CODES, false, true},
    {"pack", pack_pass, HU_RATE_CODES, false, false},
    {"unpack", unpack_pass, HU_RATE_CODES, false, false},
};

/* A scale under which the largest of the numbers, below 2^-1, is at most 2^(emax-m-4): the same
 * number added again and again stops to count before its sum overflows, from 2^(m+2) times itself
 * on, so that every turn adds numbers. */
static int32_t scale_of(const hu_wire *wire) {
    hu_format_limits limits = hu_format_limits_of(&wire->format);
    return hu_wire_clamp(wire, -1 - (limits.emax - wire->format.man_bits - 4));
}

static hu_status add_format(hu_rate_set *set, const char *name, bool is_first) {
    hu_status st = HU_OK;
    hu_format format;
    hu_rate_row *row;
    (void)is_first;
    HU_TRY(hu_plain_format_parse(name, &format));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        HU_TRY(hu_rate_add_row(set, &row));
        HU_TRY(hu_format_print(&format, row->format, sizeof row->format));
        HU_TRY(hu_wire_init(&row->wire, &format, HU_ROUND_NEAREST_EVEN));
        snprintf(row->mode, sizeof row->mode, "%s", cases[c].mode);
        row->pass = cases[c].pass;
        row->data = cases[c].data;
        row->has_counters = cases[c].has_counters;
        row->scale = scale_of(&row->wire);
        row->copied_bytes = cases[c].has_floats ? sizeof(float) : row->wire.code_bytes;
    }
done:
    return st;
}

hu_status hu_bench_allreduce(hu_bench *bench) {
    static const char *const formats[] = {"e5m2", "e4m3", "e3m0", "1/6/9/d", "bf16", "fp32", NULL};
    const hu_rate_request request = {"allreduce", formats, MODEL_ELEMENTS, add_format};
    return hu_rate_bench(bench, &request);
}
