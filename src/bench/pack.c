/* halfulp bench kernel=pack: packing, unpacking, and rounding with packing in one pass (encode)
 * beside memcpy of the float32 numbers. */
#include <stdio.h>

#include "base/error.h"
#include "bench/bench.h"
#include "bench/rate.h"
#include "bench/uniform.h"
#include "kernel/encode/encode.h"
#include "tensor/quantizer.h"

/* Byte at which code number first starts; first is a multiple of 8. */
static size_t byte_of(const hu_rate_row *row, size_t first) {
    return hu_packer_bytes(&row->packer, first);
}

/* The rate of packing does not depend on whether the numbers are members of the format. */
static void pack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_packer_pack(&row->packer, n, (const float *)x + first, (char *)y + byte_of(row, first),
                   NULL);
}

static void unpack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_packer_unpack(&row->packer, n, (const char *)x + byte_of(row, first), (float *)y + first);
}

/* What a training does with the rows that it stores: nearest-even, with all counters. */
static void encode_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_encode(&row->rounder, &row->packer, n, (const float *)x + first, NULL,
              (char *)y + byte_of(row, first), NULL, first, &counts);
}

/* One pass of one format. */
static hu_status add_row(hu_rate_set *set, const hu_format *format, int code_bits,
                         hu_rate_pass *pass, hu_rate_data data) {
    hu_status st = HU_OK;
    hu_rate_row *row;
    HU_TRY(hu_rate_add_row(set, &row));
    HU_TRY(hu_format_print(format, row->format, sizeof row->format));
    HU_TRY(hu_packer_init(&row->packer, format, code_bits));
    HU_TRY(hu_rounder_init(&row->rounder, format, HU_ROUND_NEAREST_EVEN));
    row->has_counters = pass == encode_pass;
    const char *verb = pass == pack_pass ? "pack" : row->has_counters ? "encode" : "unpack";
    if (code_bits)
        snprintf(row->mode, sizeof row->mode, "%s%d", verb, code_bits);
    else
        snprintf(row->mode, sizeof row->mode, "%s dense", verb);
    row->pass = pass;
    row->data = data;
done:
    return st;
}

/* Both directions, and rounding with packing, in the unit that a tensor of this format is stored
 * in. Codes are read as a tensor has them, and every code as often. */
static hu_status add_format(hu_rate_set *set, const char *name, bool is_first) {
    hu_status st = HU_OK;
    hu_format format;
    (void)is_first;
    if (hu_bench_is_uniform(name)) return hu_bench_pack_uniform(set, name);
    HU_TRY(hu_plain_format_parse(name, &format));
    int bits = (int)hu_format_bits(&format), unit = bits <= 8 ? 8 : bits <= 16 ? 16 : 0;
    HU_TRY(add_row(set, &format, unit, pack_pass, HU_RATE_GAUSSIAN));
    HU_TRY(add_row(set, &format, unit, unpack_pass, HU_RATE_PACKED));
    HU_TRY(add_row(set, &format, unit, unpack_pass, HU_RATE_BITS));
    HU_TRY(add_row(set, &format, unit, encode_pass, HU_RATE_GAUSSIAN));
done:
    return st;
}

hu_status hu_bench_pack(hu_bench *bench) {
    const hu_rate_request request = {"pack", hu_rate_formats, HU_RATE_MEMORY_ELEMENTS, add_format};
    return hu_rate_bench(bench, &request);
}
