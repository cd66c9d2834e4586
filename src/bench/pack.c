/* halfulp bench kernel=pack: packing and unpacking beside memcpy of the float32 numbers. */
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

static hu_status add_row(hu_rate_set *set, const hu_format *format, int code_bits,
                         hu_rate_pass *pass) {
    hu_status st = HU_OK;
    if (set->count == HU_RATE_ROWS) return hu_fail(HU_ERR_INTERNAL, "more rows than places");
    hu_rate_row *row = &set->rows[set->count++];
    HU_TRY(hu_format_print(format, row->format, sizeof row->format));
    HU_TRY(hu_packer_init(&row->packer, format, code_bits));
    const char *verb = pass == pack_pass ? "pack" : "unpack";
    if (code_bits)
        snprintf(row->mode, sizeof row->mode, "%s%d", verb, code_bits);
    else
        snprintf(row->mode, sizeof row->mode, "%s dense", verb);
    row->pass = pass;
    row->data = pass == pack_pass ? HU_RATE_GAUSSIAN : HU_RATE_BITS;
done:
    return st;
}

static hu_status add_format(hu_rate_set *set, const char *name) {
    hu_status st = HU_OK;
    hu_format format;
    HU_TRY(hu_plain_format_parse(name, &format));
    int bits = (int)hu_format_bits(&format), unit = bits <= 8 ? 8 : bits <= 16 ? 16 : 0;
    HU_TRY(add_row(set, &format, unit, pack_pass));
    HU_TRY(add_row(set, &format, unit, unpack_pass));
done:
    return st;
}

hu_status hu_bench_pack(hu_config *config) {
    hu_status st = HU_OK;
    hu_rate_set *sets = NULL;
    const char *only;
    int count = 0;
    HU_TRY(hu_alloc_array(2, sizeof *sets, (void **)&sets));
    HU_TRY(hu_rate_request(config, sets, &count, &only));
    for (int s = 0; s < count; s++) {
        if (only) HU_TRY(add_format(&sets[s], only));
        for (int f = 0; f < USUAL_FORMATS && !only; f++)
            HU_TRY(add_format(&sets[s], usual_formats[f]));
        HU_TRY(hu_rate_measure(&sets[s]));
    }
    HU_TRY(hu_rate_print("pack", sets, count, hu_config_flag(config, "json", NULL)));
done:
    hu_free(sets);
    return st;
}
